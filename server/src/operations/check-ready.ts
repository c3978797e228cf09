import { VaultError } from '../domain/errors.ts'
import { pace } from '../domain/pace.ts'
import type { Vault } from './vault.ts'

/** C36: storage and the key service answer. */
export const checkReady = async ({ store, keyProvider }: Vault): Promise<void> => {
  try {
    await Promise.all([store.health(), keyProvider.health()])
  } catch {
    throw new VaultError('unavailable', { headers: { 'retry-after': String(pace.retryAfterSeconds) } })
  }
}
