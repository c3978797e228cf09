import { KeyProviderError } from '../../keys/key-provider.ts'
import { isWrappedAsNew, needsOlderMasterKey, rewrap } from '../../keys/rewrap-key.ts'
import { vaultOwner } from '../../keys/wrapped-key.ts'
import type { KeyOwner } from '../../store/port.ts'
import type { KeyRow } from '../../store/rows.ts'
import type { Vault } from '../vault/vault.ts'

export type Rewrapped = {
  /** Keys that were under an older master key. */
  readonly rewrapped: number
  /** Keys that were already under the one that wraps new keys. */
  readonly current: number
  /** Whether nothing is left of how they were wrapped before, as far as storage has files of its own. */
  readonly isShredded: boolean
}

/**
 * Brings every key in storage under the master key that wraps new ones; none of the keys itself changes. Servers may run
 * meanwhile: what they use is unwrapped. A key that does not open holds up no other, and is the error in the end.
 */
export const rewrapKeys = async (vault: Vault): Promise<Rewrapped> => {
  const { keyProvider, store } = vault
  let rewrapped = 0
  let current = 0
  let fault: KeyProviderError | undefined
  for await (const { owner, ownerId, row } of storedKeys(vault))
    try {
      if (await isWrappedAsNew(keyProvider, ownerId, row)) current++
      // If it is no longer there, the tenant is gone, or another such run was faster.
      else if (await store.replaceKey(owner, row, await rewrap(keyProvider, ownerId, row))) rewrapped++
    } catch (error) {
      if (!(error instanceof KeyProviderError)) throw error
      fault ??= error
    }
  // Also when there was nothing to do: a run before this one may have ended here. A long read, such as a backup, stands in its way.
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
