import pg from 'pg'
import type { Point } from './kill-order.ts'

type Query = (this: pg.Client, asked: { text: string } | string, ...rest: unknown[]) => Promise<unknown>

/** Reports each point that a node on PostgreSQL passes. */
export const watchPostgres = (reached: (point: Point) => void): void => {
  const inTransaction = new WeakSet<pg.Client>()
  let hasLease = false
  const query = pg.Client.prototype.query as unknown as Query

  const watched: Query = function (asked, ...rest) {
    const text = typeof asked === 'string' ? asked : asked.text
    const send = (): Promise<unknown> => query.call(this, asked, ...rest)
    if (text === 'BEGIN') inTransaction.add(this)
    const isBatch = text.includes('apply_or_') && !text.includes('CREATE')
    const commits = text === 'COMMIT' || (isBatch && !inTransaction.has(this))
    if (text === 'COMMIT') inTransaction.delete(this)
    // A node takes the lease before it sweeps.
    if (text.includes('INTO leases')) hasLease = true
    if (hasLease && (commits || /INTO leases|DELETE FROM|VACUUM/.test(text))) reached('in-sweeper')
    const isMigration = text.includes('INTO migrations')
    if (isMigration) reached('in-migration')
    if (!commits && !isMigration) return send()
    if (commits) reached('before-commit')
    const answer = send()
    // Once it is on its way, but before an answer can be read.
    if (commits) setImmediate(() => reached('in-commit'))
    return answer.then(value => {
      if (commits) reached('after-commit')
      if (isMigration) reached('in-migration')
      return value
    })
  }
  pg.Client.prototype.query = watched as never
}
