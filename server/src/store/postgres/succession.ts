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
export class Succession {
  #newest = 0
  #primary: Hosts[number] | undefined
  readonly #timelines = new WeakMap<pg.Client, number>()
  #letGo = (): void => {}

  /**
   * `letGo` is called once a server on a newer timeline is met, and must give up every open connection: all of them lead to
   * servers that were replaced, and such a server may live on and answer.
   */
  onTakeover(letGo: () => void): void {
    this.#letGo = letGo
  }

  /** The last primary first: finding out that a machine is gone takes seconds. */
  inOrder(hosts: Hosts): Hosts {
    const last = this.#primary
    return last === undefined ? hosts : [last, ...hosts.filter(host => host !== last)]
  }

  /** Takes the host for the primary, and returns true, unless another has taken over from it. */
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
