import { VaultError } from '../../domain/errors.ts'
import type { Outcome } from '../../store/write-set.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/** Processes do not wait for one another. With a hundred of them at one token, the last needs about a hundred attempts. */
const attemptsMax = 256

type Attempt<A> = () => Promise<{ readonly outcome: Outcome; readonly answer: A }>

/**
 * An attempt reads, computes and commits, and is repeated if others have written in between. The first one runs at once. After a
 * lost attempt, a writer waits for the other writers of this process that lost one to the same thing, identified by `name`. Then
 * it competes with little more than other processes.
 */
export const retryOnConflict = async <A>(
  { retryQueues }: Pick<Vault, 'retryQueues'>,
  name: string,
  attempt: Attempt<A>,
): Promise<A> => {
  const { outcome, answer } = await attempt()
  return outcome.committed ? answer : retryQueues.inOrder(name, () => repeat(attempt))
}

/** Another writer wins each lost attempt. So many attempts mean many writers, not a lack of progress. */
const repeat = async <A>(attempt: Attempt<A>): Promise<A> => {
  for (let attempts = 1; ; attempts++) {
    requireAttemptsLeft(attempts)
    const { outcome, answer } = await attempt()
    if (outcome.committed) return answer
  }
}

/** Never equals the name of a token, because an id is never empty. */
export const grantsName = ({ tenantNumber }: UnlockedTenant): string => `${tenantNumber}:`
export const tokenName = ({ tenantNumber }: UnlockedTenant, id: string): string => `${tenantNumber}:${id}`

/** For operations with a loop of their own, which saves two promises. */
export const requireAttemptsLeft = (attempts: number): void => {
  if (attempts >= attemptsMax) throw new VaultError('writeContention')
}
