import { unwrapVaultKeys } from '../../keys/unwrap-keys.ts'
import type { Vault } from '../vault/vault.ts'

/** Learns of a rotation of the master key, and of a lost one before the restart that would need it. Throws if it is lost. */
export const checkMasterKey = async ({ keyProvider, store }: Vault): Promise<void> => {
  await keyProvider.health()
  await unwrapVaultKeys(keyProvider, await store.listVaultKeys())
}
