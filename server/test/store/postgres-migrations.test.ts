import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import { migrations, schemaState } from '../../src/store/postgres/migrate.ts'
import { openPostgres, withClient } from '../../src/store/postgres/postgres-store.ts'
import { becomeLaterRelease } from '../rig/later-migration.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
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

  test('they are numbered in order, without gaps (C35)', () => {
    assert.deepEqual(
      migrations.map(({ number }) => number),
      migrations.map((_, index) => index + 1),
    )
  })

  test('a database that cannot hold every id is refused, and nothing is created in it (C8.5, C35)', async () => {
    const name = new URL(database.url).pathname.slice(1)
    const server = new URL(database.url)
    server.pathname = '/postgres'
    const admin = new pg.Client(server.href)
    await admin.connect()
    await admin.query(`DROP DATABASE ${name}`)
    await admin.query(`CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
    await admin.end()
    await assert.rejects(openPostgres(settingsOf(database.url)), ({ message, cause }: Error) =>
      /encoding LATIN1: make one with UTF8/.test(`${message} ${cause instanceof Error && cause.message}`),
    )
    assert.deepEqual(await query("SELECT FROM pg_tables WHERE schemaname = 'public'"), [])
  })

  test('bytes are read as they were written, whatever output format the database sets for them (C35)', async () => {
    await query(`ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET bytea_output = 'escape'`)
    const store = await openPostgres(settingsOf(database.url))
    const wrapped = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const [key] = await store.ensureVaultKeys([{ purpose: 'p', version: 1, wrapped }])
    assert.deepEqual(Buffer.from(key?.wrapped ?? []), Buffer.from(wrapped))
    await store.close()
  })

  test('nodes that start together on an empty database migrate it once (C35)', async () => {
    const state = () => withClient(settingsOf(database.url), schemaState)
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

  for (const { step, inTheWay, reached } of [
    { step: 'the first step', inTheWay: 'tokens', reached: 0 },
    { step: 'a later step', inTheWay: 'later', reached: newest },
  ])
    test(`if ${step} fails, nothing of it remains, and the migration goes on from there when run again (C35)`, async () => {
      const leaveLaterRelease = becomeLaterRelease()
      try {
        await query(`CREATE TABLE ${inTheWay} (in_the_way integer)`)
        await assert.rejects(openPostgres(settingsOf(database.url)))
        const { current } = await withClient(settingsOf(database.url), schemaState)
        assert.equal(current, reached)
        const tenants = await query("SELECT FROM pg_tables WHERE tablename = 'tenants'")
        assert.equal(tenants.length, reached === 0 ? 0 : 1)
        await query(`DROP TABLE ${inTheWay}`)
        await (await openPostgres(settingsOf(database.url))).close()
        assert.equal((await withClient(settingsOf(database.url), schemaState)).current, newest + 1)
      } finally {
        leaveLaterRelease()
      }
    })

  test('a node keeps running while a newer release adds to the schema, but does not start on it (C35)', async () => {
    const store = await openPostgres(settingsOf(database.url))
    const tenant = await store.createTenant(
      {
        id: 'one',
        sealed: new Uint8Array(1),
        keys: [],
        applications: [],
        apiKeys: [],
      },
      madeTenantLog(),
    )
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
