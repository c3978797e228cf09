import { VaultError } from '../domain/errors.ts'
import { pace } from '../domain/pace.ts'
import type { Vault } from './vault/vault.ts'

/** C36: storage and the key service answer, before whoever asks for it gives up. */
export const checkReady = async ({ store, keyProvider }: Vault): Promise<void> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('no answer in time')), pace.readyAnswerMs)
  try {
    await Promise.race([Promise.all([store.health(), keyProvider.health()]), late])
  } catch {
    throw new VaultError('unavailable')
  } finally {
    clearTimeout(timer)
  }
}
