import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import { migrations } from '../../src/store/postgres/migrate.ts'
import { openPostgres, postgresSchema } from '../../src/store/postgres/postgres-store.ts'
import { emptyDatabase, settingsOf } from '../rig/postgres-databases.ts'

const newest = migrations.at(-1)?.number ?? 0

describe('migrations (postgres)', () => {
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  beforeEach(async () => {
    database = await emptyDatabase()
  })
  afterEach(() => database.drop())

  const query = async (sql: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client(database.url)
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  test('C35 they have numbers in order, without gaps', () => {
    assert.deepEqual(
      migrations.map(({ number }) => number),
      migrations.map((_, index) => index + 1),
    )
  })

  test('C35 nodes that start together on an empty database migrate it once', async () => {
    const state = () => postgresSchema(settingsOf(database.url))
    assert.deepEqual(await state(), { current: 0, newest, pending: true, distributed: false })
    const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgres(settingsOf(database.url))))
    for (const store of stores) await store.health()
    await Promise.all(stores.map(store => store.close()))
    const applied = await query('SELECT number FROM migrations ORDER BY number')
    assert.deepEqual(
      applied.map(({ number }) => number),
      migrations.map(({ number }) => number),
    )
    assert.deepEqual(await state(), { current: newest, newest, pending: false, distributed: false })
  })

  test('C35 a step that fails leaves the steps before it, and none of itself', async () => {
    await query('CREATE TABLE tokens (in_the_way integer)')
    await assert.rejects(openPostgres(settingsOf(database.url)))
    assert.equal((await postgresSchema(settingsOf(database.url))).current, 0)
    assert.deepEqual(await query("SELECT FROM pg_tables WHERE tablename = 'tenants'"), [])
    await query('DROP TABLE tokens')
    await (await openPostgres(settingsOf(database.url))).close()
    assert.equal((await postgresSchema(settingsOf(database.url))).current, newest)
  })

  test('C35 a node goes on while a newer release adds to the schema, and does not start on it', async () => {
    const store = await openPostgres(settingsOf(database.url))
    const tenant = await store.createTenant({
      id: 'one',
      sealed: new Uint8Array(1),
      keys: [],
      applications: [],
      apiKeys: [],
    })
    assert.equal((await store.getTenant(tenant))?.id, 'one')
    await query('ALTER TABLE tenants ADD COLUMN newer integer')
    await query(`INSERT INTO migrations (number, name) VALUES (${newest + 1}, 'newer')`)
    assert.equal((await store.getTenant(tenant))?.id, 'one')
    await assert.rejects(openPostgres(settingsOf(database.url)), (error: Error) =>
      /install the newer release/.test(String((error.cause as Error).message)),
    )
    await store.close()
  })
})
