import type pg from 'pg'

/** The first eight digits in the name of a log file are the timeline that it belongs to. */
const ownTimeline = `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS timeline`

/**
 * Which of several primaries is the one. A standby that takes over begins a new timeline, so a server on an older one
 * than was met before has been replaced and does not know it: what it answers may have been changed or revoked since.
 */
export class Succession {
  #newest = 0

  async isReplaced(client: pg.Client): Promise<boolean> {
    const { rows } = await client.query(ownTimeline)
    const timeline = Number(rows[0]?.timeline)
    this.#newest = Math.max(this.#newest, timeline)
    return timeline < this.#newest
  }
}
