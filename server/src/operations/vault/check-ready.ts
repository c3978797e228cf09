import { pace } from '../../domain/pace.ts'
import { KeyProviderError } from '../../keys/key-provider.ts'
import { StoreUnavailableError } from '../../store/port.ts'
import type { Vault } from './vault.ts'

/** C36, L1: checks that storage and the key service answer, and that some tenant's records can be stored. Fails before the probe gives up. */
export const checkReady = async ({ store, keyProvider, acts }: Vault): Promise<void> => {
  if (acts.isStuck)
    throw new StoreUnavailableError('the vault is not ready', { outage: 'the log cannot be stored' })
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
