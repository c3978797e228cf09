import pg from 'pg'
import { citusVariable } from './citus-cluster.ts'

/** The servers that scripts/citus-up starts. */
const defaults = [5_600, 5_601, 5_602].map(port => `postgres://postgres@127.0.0.1:${port}/postgres`)

/** The databases on each server that were there before. */
const before = new Map<string, ReadonlySet<string>>()

const ownDatabases = "SELECT datname AS name FROM pg_database WHERE datname ~ '^strongroom_'"

/** A run without a cluster would prove nothing, so it ends here. */
export const globalSetup = async (): Promise<void> => {
  process.env[citusVariable] ||= defaults.join(',')
  for (const url of process.env[citusVariable]?.split(',') ?? []) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      const { rows } = await client.query(
        "SELECT FROM pg_available_extensions WHERE name = 'citus' AND current_setting('shared_preload_libraries') ~ 'citus'",
      )
      if (rows.length === 0) throw new Error('the server does not load citus')
      before.set(url, new Set((await client.query(ownDatabases)).rows.map(({ name }) => name)))
    } catch (error) {
      const { host } = new URL(url)
      throw new Error(`there is no Citus at ${host}: run scripts/citus-up, or set ${citusVariable}`, {
        cause: error,
      })
    } finally {
      await client.end().catch(() => {})
    }
  }
}

/** Citus has a process of its own in each database, for as long as it is there. */
export const globalTeardown = async (): Promise<void> => {
  for (const [url, known] of before) {
    const client = new pg.Client(url)
    await client.connect()
    const { rows } = await client.query(ownDatabases)
    for (const { name } of rows)
      if (!known.has(name)) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await client.end()
  }
}
