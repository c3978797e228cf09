import { VaultError } from '../../domain/errors.ts'
import type { Outcome } from '../../store/write-set.ts'

/** With a hundred writers on one token, the last one needs about as many rounds. */
const roundsMax = 256

/**
 * A round reads, computes and commits, and is repeated while others write in between. Each lost round was won by another writer,
 * so many rounds mean many writers, not that nothing gets done.
 */
export const retryOnConflict = async <A>(
  round: () => Promise<{ readonly outcome: Outcome; readonly answer: A }>,
): Promise<A> => {
  for (let rounds = 0; ; rounds++) {
    requireRoundsLeft(rounds)
    const { outcome, answer } = await round()
    if (outcome.committed) return answer
  }
}

/** For a loop of its own, which takes two promises less. */
export const requireRoundsLeft = (rounds: number): void => {
  if (rounds >= roundsMax) throw new VaultError('writeContention')
}
