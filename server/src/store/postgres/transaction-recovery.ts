import type { Connection } from './connection.ts'

/** It is asked for no more often than this, however many changes fail. */
const leastMs = 1_000

/**
 * On Citus, a change of what grants access is committed on all nodes in two phases. If a node dies in between, the rows stay locked
 * until somebody finishes that transaction, which Citus does by itself only once a minute. So whoever has seen such a change fail asks
 * for it, and whoever reaches a node again that was away: the coordinator answers a change of which it cannot tell a node any more.
 */
export const transactionRecovery = (connect: () => Promise<Connection>): { ask(): void } => {
  let recoveredAt = Number.NEGATIVE_INFINITY
  let isAsked = false
  const recover = async (): Promise<void> => {
    isAsked = false
    recoveredAt = performance.now()
    const connection = await connect()
    await connection.query({ text: 'SELECT recover_prepared_transactions()' })
  }
  return {
    ask: () => {
      if (isAsked) return
      isAsked = true
      const waitMs = Math.max(0, recoveredAt + leastMs - performance.now())
      // Without the right to do it, or while the node is still away, Citus' own recovery is waited for.
      setTimeout(() => void recover().catch(() => {}), waitMs).unref()
    },
  }
}
