import { pace } from '../../domain/pace.ts'
import { KeyProviderError } from '../../keys/key-provider.ts'
import { StoreUnavailableError } from '../../store/port.ts'
import type { Vault } from './vault.ts'

/** C36: checks that storage and the key service answer. Fails before the probe gives up. */
export const checkReady = async ({ store, keyProvider }: Vault): Promise<void> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(noAnswer()), pace.readyAnswerMs)
  try {
    await Promise.race([Promise.all([store.health(), keyProvider.health()]), late])
  } catch (cause) {
    throw cause instanceof KeyProviderError
      ? cause
      : new StoreUnavailableError('the vault is not ready', { cause })
  } finally {
    clearTimeout(timer)
  }
}

const noAnswer = (): StoreUnavailableError =>
  new StoreUnavailableError('the vault is not ready', { outage: 'no answer in time' })
