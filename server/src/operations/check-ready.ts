import { VaultError } from '../domain/errors.ts'
import type { Vault } from './vault.ts'

/** C36: storage and the key service answer. */
export const checkReady = async ({ store, keyProvider }: Vault): Promise<void> => {
  try {
    await Promise.all([store.health(), keyProvider.health()])
  } catch {
    throw new VaultError('unavailable', { headers: { 'retry-after': '1' } })
  }
}
