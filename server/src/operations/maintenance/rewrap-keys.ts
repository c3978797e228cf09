import { KeyProviderError } from '../../keys/key-provider.ts'
import { isWrappedAsNew, needsOlderMasterKey, rewrap } from '../../keys/rewrap-key.ts'
import { vaultOwner } from '../../keys/wrapped-key.ts'
import type { KeyOwner } from '../../store/port.ts'
import type { KeyRow } from '../../store/rows.ts'
import type { Vault } from '../vault/vault.ts'

export type Rewrapped = {
  /** Keys that were under an older master key. */
  readonly rewrapped: number
  /** Keys that were already under the master key that wraps new keys. */
  readonly current: number
  /** Whether no trace is left of the earlier wrapping, in storage that has files of its own. */
  readonly isShredded: boolean
}

/**
 * Wraps every key in storage with the master key that wraps new ones. The keys themselves do not change. Servers may run
 * meanwhile, because they use unwrapped keys. A key that does not open holds up no other, and its error is thrown at the end.
 */
export const rewrapKeys = async (vault: Vault): Promise<Rewrapped> => {
  const { keyProvider, store } = vault
  let rewrapped = 0
  let current = 0
  let fault: KeyProviderError | undefined
  for await (const { owner, ownerId, row } of storedKeys(vault))
    try {
      if (await isWrappedAsNew(keyProvider, ownerId, row)) current++
      // If the key is gone, the tenant was deleted, or another run was faster.
      else if (await store.replaceKey(owner, row, await rewrap(keyProvider, ownerId, row))) rewrapped++
    } catch (error) {
      if (!(error instanceof KeyProviderError)) throw error
      fault ??= error
    }
  // Also if there was nothing to do, because an earlier run may have ended here. A long read, such as a backup, can prevent it.
  const isShredded = await store.shred().then(
    () => true,
    () => false,
  )
  if (fault !== undefined) throw fault
  return { rewrapped, current, isShredded }
}

/** How many keys in storage need an older master key than the one that wraps new keys. */
export const countOlderWraps = async (vault: Vault): Promise<number> => {
  let older = 0
  for await (const { ownerId, row } of storedKeys(vault))
    if (await needsOlderMasterKey(vault.keyProvider, ownerId, row)) older++
  return older
}

type StoredKey = { readonly owner: KeyOwner; readonly ownerId: string; readonly row: KeyRow }

async function* storedKeys({ store }: Vault): AsyncGenerator<StoredKey> {
  for (const row of await store.listVaultKeys()) yield { owner: 'vault', ownerId: vaultOwner, row }
  for (const { tenant, id } of await store.listTenants())
    for (const row of await store.listTenantKeys(tenant)) yield { owner: tenant, ownerId: id, row }
}
