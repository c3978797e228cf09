import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import pg from 'pg'
import { ownerAndManager } from '../rig/applications.ts'
import { citusServers, queryAt } from '../rig/citus-cluster.ts'
import { engines } from '../rig/engines.ts'
import { databaseOf } from '../rig/postgres-databases.ts'
import { TestVault } from '../rig/test-vault.ts'

type Tenant = {
  readonly keys: { readonly owner: string; readonly manager: string }
  readonly tenant: number
  /** The server that has its shard. */
  readonly server: string
}

const halfDone = 'SELECT gid FROM pg_prepared_xacts WHERE database = current_database()'

describe('a vault on Citus without one of its workers', () => {
  let vault: TestVault
  let url: string
  let gone: Tenant
  let other: Tenant
  before(async () => {
    vault = await TestVault.start({ ...(engines[0] && { engine: engines[0] }) })
    url = await databaseOf(vault.folder.path)
    const tenants = await Promise.all(Array.from({ length: 12 }, newTenant))
    const [first] = tenants
    const elsewhere = tenants.find(({ server }) => server !== first?.server)
    assert.ok(first && elsewhere)
    gone = first
    other = elsewhere
  })
  afterEach(async () => {
    await comesBack(gone.server)
    // After a failure: a database with such a transaction cannot be dropped.
    for (const { gid } of await queryAt(onWorker(gone.server), halfDone))
      await queryAt(onWorker(gone.server), `ROLLBACK PREPARED '${gid}'`)
  })
  after(() => vault.stop())

  const database = (): string => new URL(url).pathname.slice(1)
  const newTenant = async (): Promise<Tenant> => {
    const { tenantId, keys } = await vault.tenant(ownerAndManager)
    const tenant = await vault.tenantNumber(tenantId)
    const [place] = await queryAt(
      url,
      `SELECT n.nodeport AS port FROM pg_dist_placement p JOIN pg_dist_node n USING (groupid)
       WHERE shardid = get_shard_id_for_distribution_column('tokens', $1::bigint)`,
      [tenant],
    )
    const server = citusServers.find(each => new URL(each).port === String(place?.port))
    assert.ok(server)
    return { keys, tenant, server }
  }
  /** As good as down, for this database: everybody is thrown out, and nobody gets in. */
  const goesAway = async (server: string): Promise<void> => {
    await queryAt(server, `ALTER DATABASE ${database()} WITH ALLOW_CONNECTIONS false`)
    await throwOut(server)
  }
  const throwOut = (server: string) =>
    queryAt(
      server,
      'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
      [database()],
    )
  const comesBack = (server: string) =>
    queryAt(server, `ALTER DATABASE ${database()} WITH ALLOW_CONNECTIONS true`)
  const onWorker = (server: string): string => {
    const there = new URL(server)
    there.pathname = `/${database()}`
    return there.href
  }
  const rename = ({ keys }: Tenant, name: string) =>
    vault.send('PUT', '/tenants/self', { key: keys.manager, body: { name } })
  const isBack = async ({ keys }: Tenant): Promise<void> => {
    while ((await vault.post('/tokens', keys.owner, { type: 'token', data: 'x' })).status !== 201);
  }

  test('its tenants get 503 and nobody else does; until it is back, no grants can be changed (C2.23, docs/scaling.md)', async () => {
    const stored = await vault.create(gone.keys.owner, { type: 'token', data: 'x' })
    await goesAway(gone.server)
    for (const reply of [
      await vault.get(`/tokens/${stored.id}`, gone.keys.owner),
      await vault.post('/tokens', gone.keys.owner, { type: 'token', data: 'y' }),
    ]) {
      assert.equal(reply.status, 503, reply.text)
      assert.ok(reply.headers.has('retry-after'))
    }
    const { id } = await vault.create(other.keys.owner, { type: 'token', data: 'z' })
    assert.equal((await vault.get(`/tokens/${id}`, other.keys.owner)).body.data, 'z')
    assert.equal((await vault.get('/tokens', other.keys.owner)).status, 200)
    assert.equal((await rename(other, 'refused')).status, 503)
    assert.equal((await vault.get('/applications', other.keys.manager)).status, 200)

    await comesBack(gone.server)
    await isBack(gone)
    assert.equal((await vault.get(`/tokens/${stored.id}`, gone.keys.owner)).body.data, 'x')
    for (const tenant of [gone, other]) assert.equal((await rename(tenant, 'back')).status, 200)
  })

  test('a change of grants that it left half done is finished once it is back, without waiting for Citus (C27.1, docs/decisions/0010)', async () => {
    // Nothing else recovers: scripts/citus-up turns it off. The transaction of a session that ended is one to undo.
    const half = new pg.Client(onWorker(gone.server))
    await half.connect()
    const [{ shard } = {}] = await queryAt(
      url,
      "SELECT shard_name(logicalrelid, shardid) AS shard FROM pg_dist_shard WHERE logicalrelid = 'grants_epoch'::regclass",
    )
    await half.query("SET citus.enable_manual_changes_to_shards = 'on'")
    await half.query(`BEGIN; UPDATE ${shard} SET epoch = epoch; PREPARE TRANSACTION 'citus_0_999999_1_0'`)
    await half.end()
    const changed = rename(other, 'it waits')
    await goesAway(gone.server)
    await changed
    await comesBack(gone.server)
    while ((await queryAt(onWorker(gone.server), halfDone)).length > 0);
    assert.equal((await rename(other, 'it goes on')).status, 200)
  })
})
