import pg from 'pg'
import { citusVariable } from './citus-cluster.ts'

/** The servers that scripts/citus-up starts. */
const defaults = [5_600, 5_601, 5_602].map(port => `postgres://postgres@127.0.0.1:${port}/postgres`)

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
