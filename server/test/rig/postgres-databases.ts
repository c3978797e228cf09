import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { parseDatabaseUrl } from '../../src/store/postgres/database-url.ts'
import { migrations } from '../../src/store/postgres/migrate.ts'
import { openPostgres, type PostgresSettings } from '../../src/store/postgres/postgres-store.ts'
import { startCluster } from './postgres-cluster.ts'

/** The server that tests use: one for a whole `npm test`, one's own, or one that this process starts and ends. */
export const serverVariable = 'STRONGROOM_TEST_DATABASE_URL'

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

const urlOf = (server: string, database: string): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

export const settingsOf = (url: string): PostgresSettings => ({
  address: parseDatabaseUrl(url),
  poolSize: 6,
  statementTimeoutMs: 10_000,
})

const asAdmin = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client(await serverUrl())
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Migrated once; the name changes with the schema, so that a server of one's own never has an old one. */
const templateName = `strongroom_template_${createHash('sha256')
  .update(JSON.stringify(migrations))
  .digest('hex')
  .slice(0, 12)}`

let template: Promise<void> | undefined
const ensureTemplate = (): Promise<void> => {
  template ??= asAdmin(async client => {
    await client.query('SELECT pg_advisory_lock($1)', [templateLock])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [templateName])
    if (rowCount !== 0) return
    const draft = `${templateName}_draft`
    await client.query(`DROP DATABASE IF EXISTS ${draft}`)
    await client.query(`CREATE DATABASE ${draft}`)
    const store = await openPostgres(settingsOf(urlOf(await serverUrl(), draft)))
    await store.close()
    await client.query(`ALTER DATABASE ${draft} RENAME TO ${templateName}`)
  })
  return template
}

/** Databases whose folder is gone are dropped when the next one is made. */
const made = new Map<string, string>()

/** The database that belongs to the folder: a new one, or the one that was made for it before. */
export const databaseOf = async (folder: string): Promise<string> => {
  const note = join(folder, 'database')
  if (existsSync(note)) return readFileSync(note, 'utf8')
  await ensureTemplate()
  const name = `strongroom_${crypto.randomUUID().replaceAll('-', '')}`
  await asAdmin(async client => {
    for (const [abandoned, database] of made)
      if (!existsSync(abandoned)) {
        made.delete(abandoned)
        await client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`)
      }
    await client.query(`CREATE DATABASE ${name} TEMPLATE ${templateName} STRATEGY FILE_COPY`)
  })
  made.set(folder, name)
  const url = urlOf(await serverUrl(), name)
  writeFileSync(note, url)
  return url
}

/** A database with nothing in it. */
export const emptyDatabase = async (): Promise<{ url: string; drop: () => Promise<void> }> => {
  const name = `strongroom_${crypto.randomUUID().replaceAll('-', '')}`
  await asAdmin(client => client.query(`CREATE DATABASE ${name}`))
  return {
    url: urlOf(await serverUrl(), name),
    drop: () => asAdmin(async client => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  }
}
