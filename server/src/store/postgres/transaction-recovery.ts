import type { Connection } from './connection.ts'

/** A node that has just come back is not asked more often than this. */
const leastMs = 1_000

/**
 * On Citus, a change of what grants access is committed on all nodes in two phases. If a node dies in between, the rows stay locked
 * until somebody finishes that transaction, which Citus does by itself only once a minute. So whoever has seen such a change fail asks
 * for it, and whoever reaches a node again that was away: the coordinator answers a change of which it cannot tell a node any more.
 */
export const transactionRecovery = (connect: () => Promise<Connection>): { ask(): void } => {
  let askedAt = Number.NEGATIVE_INFINITY
  const recover = async (): Promise<void> => {
    const connection = await connect()
    await connection.query({ text: 'SELECT recover_prepared_transactions()' })
  }
  return {
    ask: () => {
      const now = performance.now()
      if (now - askedAt < leastMs) return
      askedAt = now
      // Without the right to do it, or while the node is still away, Citus' own recovery is waited for.
      recover().catch(() => {})
    },
  }
}
