import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { plannerSettings } from '../../src/store/postgres/client-config.ts'
import { parseDatabaseUrl } from '../../src/store/postgres/database-url.ts'
import { migrations } from '../../src/store/postgres/migrate.ts'
import {
  distributePostgres,
  openPostgres,
  type PostgresSettings,
} from '../../src/store/postgres/postgres-store.ts'
import { citusServers, joinNodes } from './citus-cluster.ts'
import { startCluster } from './postgres-cluster.ts'

/** The server that tests use: one for a whole `npm test`, your own, or one that this process starts and stops. */
export const serverVariable = 'STRONGROOM_TEST_DATABASE_URL'

/** None of the vault's own (advisory-locks.ts). */
const templateLock = -2

let started: Promise<string> | undefined
const serverUrl = (): Promise<string> => {
  started ??= (async () => {
    const given = process.env[serverVariable]
    if (given !== undefined && given !== '') return given
    const cluster = await startCluster()
    process.once('beforeExit', () => void cluster.stop())
    return cluster.url
  })()
  return started
}

/** The servers that a database is spread over. The vault is given the first. */
const servers = async (): Promise<readonly string[]> =>
  citusServers.length > 0 ? citusServers : [await serverUrl()]

const urlOf = (server: string, database: string): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

const placeOf = async (database: string): Promise<string> => urlOf((await servers())[0] ?? '', database)

export const settingsOf = (url: string): PostgresSettings => ({
  address: parseDatabaseUrl(url),
  poolSize: 6,
  statementTimeoutMs: 10_000,
})

const onEachServer = async (work: (client: pg.Client) => Promise<unknown>): Promise<void> => {
  for (const server of await servers()) await connected(server, work)
}

const connected = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Migrated once. The name changes with the schema, so that a long-lived server never offers an outdated template. */
const templateName = `strongroom_template_${createHash('sha256')
  .update(JSON.stringify(migrations))
  .digest('hex')
  .slice(0, 12)}`

let template: Promise<void> | undefined
const ensureTemplate = (): Promise<void> => {
  template ??= (async () =>
    connected((await servers())[0] ?? '', async client => {
      await client.query('SELECT pg_advisory_lock($1)', [templateLock])
      const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [templateName])
      if (rowCount !== 0) return
      const draft = `${templateName}_draft`
      await onEachServer(server => server.query(`DROP DATABASE IF EXISTS ${draft}`))
      await createDatabase(draft)
      const settings = settingsOf(await placeOf(draft))
      if (citusServers.length > 0) await distributePostgres(settings)
      else await (await openPostgres(settings)).close()
      await onEachServer(async server => {
        await server.query(`ALTER DATABASE ${draft} WITH ALLOW_CONNECTIONS false`)
        // Citus has its own process in each database.
        await server.query(
          'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1',
          [draft],
        )
        await server.query(`ALTER DATABASE ${draft} RENAME TO ${templateName}`)
      })
    }))()
  return template
}

const createDatabase = async (name: string, options = ''): Promise<void> => {
  await onEachServer(client => client.query(`CREATE DATABASE ${name} ${options}`))
  if (citusServers.length > 0) await joinNodes(citusServers.map(server => urlOf(server, name)))
}

/** Databases whose folder is gone are dropped when the next one is created. */
const made = new Map<string, string>()

/** The database that belongs to the folder: the one created for it earlier, or a new one. */
export const databaseOf = async (folder: string): Promise<string> => {
  const note = join(folder, 'database')
  if (existsSync(note)) return readFileSync(note, 'utf8')
  await ensureTemplate()
  const abandoned = [...made].filter(([path]) => !existsSync(path))
  for (const [path] of abandoned) made.delete(path)
  const name = newName()
  await onEachServer(async client => {
    for (const [, database] of abandoned)
      await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${templateName} STRATEGY FILE_COPY`)
    // Settings of a database are not copied with it.
    if (citusServers.length > 0) await client.query(databaseSettings(name))
  })
  const url = await placeOf(name)
  made.set(folder, name)
  writeFileSync(note, url)
  return url
}

const databaseSettings = (name: string): string =>
  Object.entries(plannerSettings)
    .map(([setting, value]) => `ALTER DATABASE ${name} SET ${setting} = ${value}`)
    .join(';')

const newName = (): string => `strongroom_${crypto.randomUUID().replaceAll('-', '')}`

/** A database with nothing in it; on a cluster, one whose nodes know each other. */
export const emptyDatabase = async (
  options?: string,
): Promise<{ url: string; drop: () => Promise<void> }> => {
  const name = newName()
  await createDatabase(name, options)
  return {
    url: await placeOf(name),
    drop: () => onEachServer(client => client.query(`DROP DATABASE ${name} WITH (FORCE)`)),
  }
}
