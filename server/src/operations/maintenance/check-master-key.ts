import { unwrapVaultKeys } from '../../keys/unwrap-keys.ts'
import type { Vault } from '../vault/vault.ts'

/** Notices a rotation of the master key. Notices a lost master key before a restart would need it: throws if it is lost. */
export const checkMasterKey = async ({ keyProvider, store }: Vault): Promise<void> => {
  await keyProvider.health()
  await unwrapVaultKeys(keyProvider, await store.listVaultKeys())
}
