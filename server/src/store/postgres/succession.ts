import type pg from 'pg'
import type { DatabaseAddress } from './database-url.ts'

type Hosts = DatabaseAddress['hosts']

/** The first eight digits in the name of a log file are the timeline that it belongs to. */
const ownTimeline = `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS timeline`

/**
 * Which of several servers is the primary. A standby that takes over begins a new timeline, so a server on an older one
 * than was met before has been replaced and does not know it: what it answers may have been changed or revoked since.
 */
export class Succession {
  #newest = 0
  #primary: Hosts[number] | undefined

  /** The last primary first: that a machine is gone takes seconds to find out. */
  inOrder(hosts: Hosts): Hosts {
    const last = this.#primary
    return last === undefined ? hosts : [last, ...hosts.filter(host => host !== last)]
  }

  async isReplaced(client: pg.Client, host: Hosts[number]): Promise<boolean> {
    const { rows } = await client.query(ownTimeline)
    const timeline = Number(rows[0]?.timeline)
    if (timeline < this.#newest) return true
    this.#newest = timeline
    this.#primary = host
    return false
  }
}
