import type { Vault } from '../vault/vault.ts'

/** Stores the last use of many keys at once. A write per request would double the cost of a read. */
export const noteKeyUse = async ({ store, keyUses }: Vault): Promise<number> => {
  const uses = keyUses.take()
  if (uses.length === 0) return 0
  try {
    await store.noteKeyUse(uses)
  } catch (error) {
    // Kept for the next run.
    for (const { hash, at } of uses) keyUses.note(hash, at)
    throw error
  }
  return uses.length
}
