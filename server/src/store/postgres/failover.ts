import type pg from 'pg'
import type { DatabaseAddress } from './database-url.ts'

type Hosts = DatabaseAddress['hosts']

/** The first eight digits of a log file's name are its timeline. */
const ownTimeline = `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS timeline`

/**
 * Which of several servers is the primary. A standby that takes over begins a new timeline, so a server on an older
 * timeline than one already met has been replaced without knowing it: what it answers may have been changed or revoked
 * since.
 */
export class Failover {
  #newest = 0
  #primary: Hosts[number] | undefined
  readonly #timelines = new WeakMap<pg.Client, number>()
  #letGo = (): void => {}

  /**
   * The client calls `letGo` once it meets a server on a newer timeline. It must close every open connection: they all lead to
   * servers that were replaced, and such a server may still run and answer.
   */
  onTakeover(letGo: () => void): void {
    this.#letGo = letGo
  }

  /** Tries the last primary first, because it takes seconds to notice that a machine is gone. */
  inOrder(hosts: Hosts): Hosts {
    const last = this.#primary
    return last === undefined ? hosts : [last, ...hosts.filter(host => host !== last)]
  }

  /** Accepts the host as the primary and returns true, unless another server has replaced it. */
  async accept(client: pg.Client, host: Hosts[number]): Promise<boolean> {
    const { rows } = await client.query(ownTimeline)
    const timeline = Number(rows[0]?.timeline)
    if (timeline < this.#newest) return false
    this.#primary = host
    this.#timelines.set(client, timeline)
    if (timeline > this.#newest) {
      this.#newest = timeline
      this.#letGo()
    }
    return true
  }

  /** Whether another server has taken over since this client's was accepted. */
  isReplaced(client: pg.Client): boolean {
    return (this.#timelines.get(client) ?? this.#newest) < this.#newest
  }
}
