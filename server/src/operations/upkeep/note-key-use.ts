import type { Vault } from '../vault/vault.ts'

/** Writes down when keys were last used, many at once: a write per request would double the cost of a read. */
export const noteKeyUse = async ({ store, keyUses }: Vault): Promise<number> => {
  const uses = keyUses.take()
  if (uses.length > 0) await store.noteKeyUse(uses)
  return uses.length
}
