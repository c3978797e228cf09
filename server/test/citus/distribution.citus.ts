import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { accessTables, contentTables, evidenceTables, logTables } from '../../src/store/tables.ts'
import { citusServers, queryAt } from '../rig/citus-cluster.ts'
import { type Engine, engines } from '../rig/engines.ts'
import { becomeLaterRelease } from '../rig/later-migration.ts'
import { emptyDatabase, settingsOf } from '../rig/postgres-databases.ts'
import { assertRefused, Site } from '../rig/program.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

const [citus] = engines
assert.equal(citus?.name, 'citus')

const onEveryNode = [...[...accessTables, ...evidenceTables].map(({ name }) => name), 'grants_epoch']
const byTenant = [...contentTables, ...logTables].map(({ name }) => name)

const applications = {
  owner,
  manager: { type: 'management', permissions: ['tenant:delete', 'report:read'] },
} as const

describe('a vault distributed over Citus', () => {
  const site = new Site()
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let vault: TestVault
  let beforeOpening: () => Promise<unknown> = async () => {}
  before(async () => {
    database = await emptyDatabase()
    const engine: Engine = {
      ...citus,
      open: async () => {
        await beforeOpening()
        return openPostgres(settingsOf(database.url))
      },
    }
    vault = await TestVault.start({ engine })
  })
  after(async () => {
    await vault.stop()
    await site.remove()
    await database.drop()
  })

  const query = (sql: string, values: unknown[] = []) => queryAt(database.url, sql, values)
  const migrate = (...flags: string[]) =>
    site.run(['migrate', ...flags], { STRONGROOM_DATABASE_URL: database.url })

  test('rows move to their shards once, while nobody uses the vault, which then answers as before (C35)', async () => {
    const { keys } = await vault.tenant(applications)
    const card = { number: '4242424242424242', cvc: '123' }
    await vault.create(keys.owner, { id: 'card', type: 'card', data: card, metadata: { k: 'v' } })
    await vault.create(keys.owner, { id: 'twin', type: 'token', data: 'twin', deduplicate_token: true })
    const once = { key: keys.owner, body: ['x'], headers: { 'svc-idempotency-key': 'once' } }
    const first = await vault.send('POST', '/tokenize', once)
    const look = async () => ({
      card: (await vault.get('/tokens/card', keys.owner)).body,
      list: (await vault.get('/tokens?metadata.k=v', keys.owner)).body,
      all: (await vault.get('/tokens', keys.owner)).body,
      usage: (await vault.get('/tenants/self/reports/usage', keys.manager)).body,
    })
    const before = await look()
    assertRefused(await migrate('--distribute'), 1, /the vault is in use: stop its servers first/)
    assert.match((await migrate('--status')).stdout, /^schema \d+ of \d+\n$/)

    beforeOpening = async () => {
      for (const flag of ['--distribute', '--distribute', '--status'])
        assert.match((await migrate(flag)).stdout, /^schema \d+ of \d+, distributed\n$/)
    }
    await vault.restart()
    beforeOpening = async () => {}
    assert.deepEqual(await look(), before)
    assert.deepEqual((await vault.send('POST', '/tokenize', once)).body, first.body)
    const twin = { type: 'token', data: 'twin', deduplicate_token: true }
    assert.equal((await vault.post('/tokens', keys.owner, twin)).body.id, 'twin')
    const kept = await query(
      'SELECT name FROM unnest($1::text[]) name WHERE pg_relation_size(name::regclass) > 0',
      [[...onEveryNode, ...byTenant]],
    )
    assert.deepEqual(kept, [], 'the coordinator keeps no copy of rows that it gave away')
  })

  test('the content of a tenant lies on its shard, and what grants access lies on every node (§1.2)', async () => {
    const tables = await query(
      'SELECT table_name::text AS name, citus_table_type AS type, distribution_column AS "by" FROM citus_tables',
    )
    const lying = (type: string, column: string) =>
      tables
        .filter(table => table.type === type && table.by === column)
        .map(({ name }) => name)
        .sort()
    assert.deepEqual(lying('distributed', 'tenant'), byTenant.toSorted())
    assert.deepEqual(lying('reference', '<none>'), onEveryNode.toSorted())
    assert.deepEqual(lying('distributed', 'name'), ['leases'])

    const tenants = await Promise.all(Array.from({ length: 12 }, () => vault.tenant({ owner })))
    await Promise.all(tenants.map(({ keys }) => vault.create(keys.owner, { type: 'token', data: 'x' })))
    const nodes = await query(
      `SELECT n.nodeport FROM run_command_on_shards('tokens', 'SELECT count(*) FROM %s') s
       JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
       WHERE s.result <> '0' GROUP BY n.nodeport`,
    )
    assert.equal(nodes.length, citusServers.length - 1, 'every worker has some')
  })

  test('requests for tokens change nothing that every node holds (C29.7)', async () => {
    const { keys } = await vault.tenant({ owner })
    const held = async () => {
      const rows: Record<string, unknown> = {}
      for (const table of onEveryNode) rows[table] = await query(`SELECT * FROM ${table}`)
      return rows
    }
    const before = await held()
    vault.now += 60_000
    await vault.create(keys.owner, { id: 'one', type: 'token', data: 'x' })
    await vault.patch('/tokens/one', keys.owner, { data: 'y' })
    await vault.get('/tokens', keys.owner)
    await vault.delete('/tokens/one', keys.owner)
    await vault.service.jobTimer.runAll()
    assert.deepEqual(await held(), before)
    assert.deepEqual(await query('SELECT FROM key_uses WHERE last_used_at = $1', [vault.now]), [{}])
  })

  test('the deletion of a tenant waits for the writes under way on its shard (C27.3)', async () => {
    const { tenantId, keys } = await vault.tenant(applications)
    const tenant = await vault.tenantNumber(tenantId)
    const [place] = await query(
      `SELECT n.nodeport AS port FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
       WHERE shardid = get_shard_id_for_distribution_column('tokens', $1::bigint)`,
      [tenant],
    )
    const atShard = new URL(database.url)
    atShard.port = String(place?.port)
    const write = new pg.Client(atShard.href)
    await write.connect()
    await write.query('BEGIN')
    await write.query('SELECT pg_advisory_xact_lock_shared($1)', [tenant])
    const deletion = vault.delete('/tenants/self', keys.manager)
    const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1"
    while ((await queryAt(atShard.href, waiting, [tenant])).length === 0)
      assert.equal((await vault.get('/tokens', keys.owner)).status, 200, 'it still lives')
    await write.query('COMMIT')
    await write.end()
    assert.equal((await deletion).status, 204)
    assert.equal((await vault.get('/tokens', keys.owner)).status, 401)
    await vault.service.jobTimer.runAll()
    for (const table of [
      ...contentTables.map(({ name }) => name),
      'tenant_keys',
      'applications',
      'api_keys',
      'resources',
    ])
      assert.deepEqual(await query(`SELECT FROM ${table} WHERE tenant = $1`, [tenant]), [], table)
  })

  for (const mode of ['block_writes', 'force_logical'])
    test(`while shards move (${mode}) every answered write is there at once, and none twice (C27.1)`, async () => {
      const { tenantId, keys } = await vault.tenant(applications)
      const tenant = await vault.tenantNumber(tenantId)
      const placeOf = async () => {
        const [place] = await query(
          `SELECT s.shardid AS shard, n.nodeport AS port FROM pg_dist_placement s JOIN pg_dist_node n USING (groupid)
           WHERE shardid = get_shard_id_for_distribution_column('tokens', $1::bigint)`,
          [tenant],
        )
        return place as { shard: string; port: number }
      }
      let isOver = false
      const ids: string[] = []
      const writers = Array.from({ length: 4 }, async () => {
        for (let n = 0; !isOver; n++) {
          const made = await vault.post('/tokens', keys.owner, { type: 'token', data: n })
          if (made.status === 503) continue
          assert.equal(made.status, 201)
          ids.push(made.body.id)
          const read = await vault.get(`/tokens/${made.body.id}`, keys.owner)
          assert.ok(read.status === 503 || read.body.data === n, read.text)
        }
      })
      const ports = citusServers.slice(1).map(server => Number(new URL(server).port))
      for (let move = 0; move < 2; move++) {
        const { shard, port } = await placeOf()
        const other = ports.find(candidate => candidate !== port)
        await query(
          `SELECT citus_move_shard_placement($1::bigint, '127.0.0.1', $2::int, '127.0.0.1', $3::int, $4::citus.shard_transfer_mode)`,
          [shard, port, other, mode],
        )
        assert.equal((await placeOf()).port, other)
        await vault.create(keys.owner, { type: 'token', data: 'after a move' })
      }
      isOver = true
      await Promise.all(writers)
      assert.ok(ids.length > 0)
      for (const id of ids) assert.equal((await vault.get(`/tokens/${id}`, keys.owner)).status, 200)
      const usage = await vault.get('/tokens?size=1', keys.owner)
      assert.equal(usage.body.pagination.total_items, ids.length + 2)
    })

  test('a later migration runs on a distributed schema and keeps it distributed (C35)', async () => {
    const undo = becomeLaterRelease()
    after(undo)
    await vault.restart()
    assert.equal((await query("SELECT to_regclass('later')::text AS name"))[0]?.name, 'later')
    const delegated = await query(
      `SELECT p.proname AS name FROM pg_dist_object o JOIN pg_proc p ON p.oid = o.objid
       WHERE o.distribution_argument_index = 0 ORDER BY 1`,
    )
    assert.deepEqual(
      delegated.map(({ name }) => name),
      ['apply_or_abort', 'apply_or_undo', 'remove_zero_counters'],
    )
    const { keys } = await vault.tenant(applications)
    await vault.create(keys.owner, { type: 'token', data: 'x' })
  })
})

describe('a database that cannot be distributed', () => {
  const site = new Site()
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  before(async () => {
    database = await emptyDatabase()
  })
  after(async () => {
    await site.remove()
    await database.drop()
  })

  test('is refused with advice on what to do next, and stays as it was (C35)', async () => {
    const [coordinator = '', ...workers] = citusServers.map(server => new URL(server).port)
    const removeNode = (port: string) =>
      queryAt(database.url, "SELECT citus_remove_node('127.0.0.1', $1)", [Number(port)])
    const distribute = (url = database.url) =>
      site.run(['migrate', '--distribute'], { STRONGROOM_DATABASE_URL: url })
    for (const worker of workers) await removeNode(worker)
    assertRefused(await distribute(), 1, /there are no workers: run SELECT citus_add_node/)
    await removeNode(coordinator)
    assertRefused(await distribute(), 1, /the coordinator has no name: run SELECT citus_set_coordinator_host/)
    await queryAt(database.url, 'DROP EXTENSION citus')
    assertRefused(await distribute(), 1, /the database has no extension citus: install it on every node/)
    const { stdout } = await site.run(['migrate', '--status'], { STRONGROOM_DATABASE_URL: database.url })
    assert.match(stdout, /^schema \d+ of \d+\n$/)
  })
})
