import { VaultError } from '../../domain/errors.ts'
import type { Outcome } from '../../store/write-set.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/** Processes do not wait for one another: with a hundred of them at one token, the last one needs about as many attempts. */
const attemptsMax = 256

type Attempt<A> = () => Promise<{ readonly outcome: Outcome; readonly answer: A }>

/**
 * An attempt reads, computes and commits, and is repeated if others have written in between. The first one runs at once. Whoever has
 * lost it waits until the others of this process that lost one to the same thing, which the name tells from all other things, are
 * done: then hardly anybody is left to lose to but other processes.
 */
export const retryOnConflict = async <A>(
  { retryQueues }: Pick<Vault, 'retryQueues'>,
  name: string,
  attempt: Attempt<A>,
): Promise<A> => {
  const { outcome, answer } = await attempt()
  return outcome.committed ? answer : retryQueues.inOrder(name, () => repeat(attempt))
}

/** Each lost attempt was won by another writer, so many attempts mean many writers, not that nothing gets done. */
const repeat = async <A>(attempt: Attempt<A>): Promise<A> => {
  for (let attempts = 1; ; attempts++) {
    requireAttemptsLeft(attempts)
    const { outcome, answer } = await attempt()
    if (outcome.committed) return answer
  }
}

/** No grants have the name of a token: an id is never empty. */
export const grantsName = ({ tenantNumber }: UnlockedTenant): string => `${tenantNumber}:`
export const tokenName = ({ tenantNumber }: UnlockedTenant, id: string): string => `${tenantNumber}:${id}`

/** For a loop of its own, which takes two promises less. */
export const requireAttemptsLeft = (attempts: number): void => {
  if (attempts >= attemptsMax) throw new VaultError('writeContention')
}
