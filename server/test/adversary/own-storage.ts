import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { type Engine, postgres, sqlite } from '../rig/engines.ts'
import { startCluster } from '../rig/postgres-cluster.ts'
import { filesOf } from '../rig/traces.ts'

/** An engine whose files belong to one test, so that all of them can be searched. */
export type OwnStorage = {
  readonly engine: Engine
  /** Every file written since the storage was opened. */
  readonly files: (folder: string) => Promise<Map<string, Buffer>>
  /** Kinds of files that must be among them. */
  readonly kinds: readonly RegExp[]
  readonly close: () => Promise<void>
}

export const ownStorages: Record<string, () => Promise<OwnStorage>> = {
  sqlite: async () => ({
    engine: sqlite,
    files: async folder => filesOf(folder),
    kinds: [/vault\.db$/, /vault\.db-wal$/],
    close: async () => {},
  }),
  postgres: async () => {
    // A server that logs as much as it can: statements, their parameters, and how they failed.
    const cluster = await startCluster({
      logging_collector: 'on',
      log_statement: 'all',
      log_parameter_max_length_on_error: '-1',
      log_error_verbosity: 'verbose',
      log_min_messages: 'debug1',
    })
    const opened = Date.now()
    return {
      engine: {
        ...postgres,
        open: folder => {
          writeFileSync(join(folder, 'database'), cluster.url)
          return postgres.open(folder)
        },
      },
      files: async () => {
        const admin = new pg.Client(cluster.url)
        await admin.connect()
        await admin.query('CHECKPOINT')
        await admin.end()
        return new Map([...filesOf(cluster.folder)].filter(([path]) => statSync(path).mtimeMs >= opened))
      },
      kinds: [/\/base\//, /\/pg_wal\//, /\/log\//],
      close: () => cluster.stop(),
    }
  },
}
