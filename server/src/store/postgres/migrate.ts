import type pg from 'pg'
import { type Migration, type SchemaState, schemaMismatch } from '../sql/migration.ts'
import { advisoryLocks } from './advisory-locks.ts'
import { requireNoHalfCopy } from './arrival-state.ts'
import { distribute, distributeRest, isDistributed } from './distribute.ts'
import { vault } from './migrations/0001-vault.ts'
import { requireUnicode } from './require-unicode.ts'

/** In order, without gaps. A released migration is never edited. */
export const migrations: readonly Migration[] = [vault]

const newestSchema = (): number => migrations.at(-1)?.number ?? 0

/**
 * Brings the schema up to date, each step in its own transaction, one node at a time. Refuses storage that a newer
 * release made unreadable for this one. A migration only adds, so nodes of the previous release go on working. A copy
 * passes its own `claim`, which marks the database as taken before any row is in it.
 */
export const migrate = async (client: pg.Client, claim = () => requireNoHalfCopy(client)): Promise<void> => {
  const { current, newest } = await schemaState(client)
  if (current > newest)
    throw new Error(`${schemaMismatch('storage', { current, newest })}: install the newer release`)
  await requireUnicode(client)
  if (current === newest) return claim()
  await alone(client, async () => {
    await claim()
    await client.query(
      'CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
    )
    // Another node may have migrated while this one waited for the lock.
    const { current: reached } = await schemaState(client)
    // One message is one transaction.
    for (const { number, name, sql } of migrations.filter(migration => migration.number > reached))
      await client.query(`${sql}; INSERT INTO migrations (number, name) VALUES (${number}, '${name}')`)
    if (await isDistributed(client)) await distributeRest(client)
  })
}

/** Brings the schema up to date and spreads it over the nodes of Citus. */
export const migrateDistributed = async (client: pg.Client): Promise<void> => {
  await migrate(client)
  await alone(client, () => distribute(client))
}

const alone = async (client: pg.Client, work: () => Promise<void>): Promise<void> => {
  await client.query('SELECT pg_advisory_lock($1)', [advisoryLocks.migration])
  try {
    await work()
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [advisoryLocks.migration])
  }
}

/** The schema state of storage, read without changing it. */
export const schemaState = async (client: pg.Client): Promise<SchemaState> => {
  const newest = newestSchema()
  const { rows } = await client.query("SELECT to_regclass('migrations') IS NOT NULL AS is_there")
  if (rows[0]?.is_there !== true) return { current: 0, newest, pending: true, distributed: false }
  const highest = await client.query('SELECT coalesce(max(number), 0) AS current FROM migrations')
  const current = Number(highest.rows[0]?.current)
  return { current, newest, pending: current < newest, distributed: await isDistributed(client) }
}
