import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import type { Store } from '../../src/store/port.ts'
import { BatchWriter } from '../../src/store/postgres/batch-writer.ts'
import { Connection } from '../../src/store/postgres/connection.ts'
import { Failover } from '../../src/store/postgres/failover.ts'
import { GrantsWatch } from '../../src/store/postgres/grants-watch.ts'
import { openPostgres, type PostgresSettings } from '../../src/store/postgres/postgres-store.ts'
import { standaloneWrites } from '../../src/store/postgres/standalone-writes.ts'
import type { WriteSet } from '../../src/store/write-set.ts'
import { CutLine } from '../rig/cut-line.ts'
import { becomeLaterRelease } from '../rig/later-migration.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { type Cluster, freePort, startCluster } from '../rig/postgres-cluster.ts'
import { databaseOf, settingsOf } from '../rig/postgres-databases.ts'
import { startStandby } from '../rig/standby.ts'
import { bytes, insertion, isUnavailable, StoreRig, tokenRow } from './contract/rig.ts'

describe('connections to PostgreSQL', () => {
  let path = ''
  const rig = new StoreRig(async folder => {
    path = folder
    return openPostgres(settingsOf(await databaseOf(folder)))
  })
  let admin: pg.Client
  before(async () => {
    await rig.newTenant()
    admin = new pg.Client(await databaseOf(path))
    await admin.connect()
  })
  after(() => admin.end())

  const byLine = async (): Promise<{ line: CutLine; settings: PostgresSettings }> => {
    const { address, ...settings } = settingsOf(await databaseOf(path))
    const [host] = address.hosts
    assert.ok(host)
    const line = new CutLine(host)
    const hosts = [{ host: '127.0.0.1', port: await line.listen() }]
    return { line, settings: { ...settings, address: { ...address, hosts } } }
  }
  const newToken = (tenant: number): WriteSet =>
    insertion(tenant, [{ row: tokenRow(tenant, crypto.randomUUID()), terms: [] }])
  const sessions = async (condition: string): Promise<number[]> => {
    const { rows } = await admin.query(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND ${condition}`,
    )
    return rows.map(({ pid }) => pid)
  }

  for (const [set, used] of [
    ['off', 'on'],
    ['on', 'on'],
    ['local', 'local'],
  ])
    test(`with synchronous_commit ${set} a session uses ${used}, whatever is set later (C2.23, C27.1)`, async () => {
      const { rows } = await admin.query('SELECT current_database() AS name')
      await admin.query(`ALTER DATABASE ${rows[0].name} SET synchronous_commit = ${set}`)
      const connection = new Connection(settingsOf(await databaseOf(path)))
      const { rows: found } = await connection.query({
        text: "SELECT setting, source FROM pg_settings WHERE name = 'synchronous_commit'",
      })
      await connection.close()
      await admin.query(`ALTER DATABASE ${rows[0].name} RESET synchronous_commit`)
      // A setting that the session made itself is left alone when the server reloads its settings.
      assert.deepEqual(found, [{ setting: used, source: 'session' }])
    })

  test('a session reads what is committed, whatever isolation the database sets (C27.3)', async () => {
    const { rows } = await admin.query('SELECT current_database() AS name')
    await admin.query(`ALTER DATABASE ${rows[0].name} SET default_transaction_isolation = 'serializable'`)
    const connection = new Connection(settingsOf(await databaseOf(path)))
    const { rows: found } = await connection.query({ text: 'SHOW transaction_isolation' })
    await connection.close()
    await admin.query(`ALTER DATABASE ${rows[0].name} RESET default_transaction_isolation`)
    assert.deepEqual(found, [{ transaction_isolation: 'read committed' }])
  })

  test('the password is what the file holds when a connection is opened, without the end of its line (docs/running.md)', async () => {
    const { address, ...settings } = settingsOf(await databaseOf(path))
    const { password, ...withoutPassword } = address
    assert.ok(password)
    const passwordFile = join(path, 'password')
    const connection = new Connection({
      ...settings,
      address: { ...withoutPassword, password: undefined },
      passwordFile,
    })
    writeFileSync(passwordFile, 'another\n')
    await assert.rejects(connection.open(), isUnavailable)
    writeFileSync(passwordFile, `${password}\n`)
    await connection.open()
    await connection.close()
  })

  test('a server whose reply the driver cannot read counts as unavailable (C2.23)', async () => {
    const asksForGssapi = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 7])
    const server = createServer(socket => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(asksForGssapi))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { address, ...settings } = settingsOf(await databaseOf(path))
    const hosts = [{ host: '127.0.0.1', port }]
    const connection = new Connection({ ...settings, address: { ...address, hosts } })
    await assert.rejects(connection.query({ text: 'SELECT 1' }), isUnavailable)
    await connection.close()
    server.close()
  })

  test('a connection that is of no use is not left open at the server (C2.23)', async () => {
    const settings = settingsOf(await databaseOf(path))
    const others = await sessions('true')
    const refused = new Connection(settings, () => Promise.reject(new Error('not this server')))
    await assert.rejects(refused.open(), isUnavailable)
    const spoilt = new Connection(settings)
    // The server has forgotten a prepared statement (26000).
    await assert.rejects(spoilt.query({ text: 'EXECUTE forgotten' }))
    assert.ok(!spoilt.isOpen)
    const since = performance.now()
    for (;;) {
      const left = (await sessions('true')).filter(pid => !others.includes(pid))
      if (left.length === 0) break
      if (performance.now() - since < 5_000) continue
      await admin.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [left])
      assert.fail('a connection stays open')
    }
  })

  test('a server that another took over from is refused, and the log gets to know why (C2.23)', async () => {
    const { address, ...settings } = settingsOf(await databaseOf(path))
    const failover = new (class extends Failover {
      override accept = async (): Promise<boolean> => false
    })()
    const hosts = [...address.hosts, ...address.hosts]
    const connection = new Connection({ ...settings, address: { ...address, hosts }, failover })
    await assert.rejects(connection.open(), { outage: 'another server took over from this one' })
  })

  test('a server that another takes over from while a connection to it opens is refused (C27.1)', async t => {
    const { address, ...settings } = settingsOf(await databaseOf(path))
    const [host] = address.hosts
    assert.ok(host)
    const failover = new Failover()
    const successor = { query: async () => ({ rows: [{ timeline: 1_000 }] }) } as object as pg.Client
    const connection = new Connection(
      { ...settings, address: { ...address, hosts: [host, host] }, failover },
      () => failover.accept(successor, host),
    )
    t.after(() => connection.close())
    await assert.rejects(connection.open(), { outage: 'another server took over from this one' })
  })

  test('a statement that the server never answers fails all the same (C2.23)', {
    timeout: 10_000,
  }, async t => {
    const { line, settings } = await byLine()
    t.after(() => line.close())
    const connection = new Connection({ ...settings, statementTimeoutMs: 1_000 })
    await connection.open()
    line.fallSilent()
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const asked = connection.query({ text: 'SELECT 1' })
    await new Promise(setImmediate)
    t.mock.timers.tick(60_000)
    await assert.rejects(asked)
    assert.ok(!connection.isOpen)
  })

  test('why a write was refused is told in the code of the server, never in its words (C2.5)', async () => {
    const quoting = Object.assign(new Error('Key (token_id)=(4242424242424242) already exists.'), {
      code: '23505',
    })
    const connection = { send: async () => [{ status: 'rejected', reason: quoting }] } as object as Connection
    const writer = new BatchWriter(connection, { counterShard: 0, isSharded: false })
    assert.deepEqual(await writer.commit([newToken(1)]), [{ failed: 'PostgreSQL 23505' }])
  })

  for (const code of ['40001', '40P01', '55P03']) {
    const givenUp = Object.assign(new Error('given up'), { code })
    test(`a statement of its own that PostgreSQL gave up with ${code} is repeated (C18.8)`, async () => {
      const answers = [Promise.reject(givenUp), Promise.resolve({ command: 'INSERT', rowCount: 1, rows: [] })]
      const connection = { query: () => answers.shift() } as object as Connection
      const writes = standaloneWrites(async () => connection, { isSharded: false, drain: async () => {} })
      assert.equal(await writes.acquireLease({ name: 'sweeps', holder: 'x', until: 1 }, 0), true)
    })
    test(`a write that PostgreSQL gave up with ${code} is repeated (C18.8)`, async () => {
      const answers = [
        { status: 'rejected', reason: givenUp },
        { status: 'fulfilled', value: { command: 'SELECT', rowCount: 1, rows: [[null]] } },
      ]
      const connection = { send: async () => [answers.shift()] } as object as Connection
      const writer = new BatchWriter(connection, { counterShard: 0, isSharded: false })
      assert.deepEqual(await writer.commit([newToken(1)]), [{ committed: true }])
    })
  }

  test('a reading of the epoch is relied on from when it was asked for, not from when it came (C27.2)', async t => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const watch = new GrantsWatch(settingsOf(await databaseOf(path)), () => {})
    t.after(() => watch.close())
    const started = watch.start()
    now += 1_000
    await started
    assert.notEqual(watch.epoch(), watch.epoch())
  })

  test('a store that lost its connection relies on nothing it remembers, even if the stored epoch is unchanged (C27.2)', async () => {
    const { line, settings } = await byLine()
    const store = await openPostgres(settings)
    const watching = "query LIKE '%grants_epoch%' AND state = 'idle'"
    const own = await sessions(watching)
    const before = store.grantsEpoch()
    await admin.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [own])
    while ((await sessions(watching)).filter(pid => !own.includes(pid)).length < own.length);
    assert.notEqual(store.grantsEpoch(), before)
    await store.close()
    await line.close()
  })

  test('a transaction whose COMMIT was lost on the way holds its locks only briefly (C2.23, C18.8)', async () => {
    const { line, settings } = await byLine()
    const store = await openPostgres({ ...settings, poolSize: 4, standstillMaxMs: 100 })
    const [one, other] = [await rig.newTenant(), await rig.newTenant()]
    const row = tokenRow(one, 'contended')
    line.loseFrom('COMMIT')
    // Two tenants, so that it takes a transaction of several statements.
    const lost = [insertion(one, [{ row, terms: [] }]), newToken(other)].map(set => store.commit(set))
    for (const outcome of lost) await assert.rejects(outcome, isUnavailable)
    assert.deepEqual(await rig.store.commit(insertion(one, [{ row, terms: [] }])), { committed: true })
    await store.close()
    await line.close()
  })

  test('a server that allows only a few connections is used with those (C2.23)', async () => {
    const { line, settings } = await byLine()
    const store: Store = await openPostgres({ ...settings, poolSize: 10 })
    const tenant = await rig.newTenant()
    // One connection watches grants, which leaves one for everything else.
    line.carryAtMost(2)
    await store.health()
    const answers = await Promise.allSettled(
      Array.from({ length: 30 }, () => [
        store.commit(newToken(tenant)),
        store.getToken(tenant, 'none'),
        store.acquireLease({ name: 'sweeps', holder: 'this node', until: 60_000 }, 0),
      ]).flat(),
    )
    assert.deepEqual(
      answers.filter(({ status }) => status === 'rejected'),
      [],
    )
    await store.close()
    await line.close()
  })

  test('a schema migration may take longer than the statement of a request (C35.1)', async () => {
    const settings = { ...settingsOf(await databaseOf(path)), statementTimeoutMs: 50 }
    // Another node is migrating the schema at this moment.
    await admin.query('SELECT pg_advisory_lock(-1)')
    const leaveLaterRelease = becomeLaterRelease()
    const opening = openPostgres(settings)
    const hasWaited = async (): Promise<boolean> =>
      (await sessions("wait_event = 'advisory' AND clock_timestamp() - query_start > '200 ms'")).length > 0
    const isRefused = opening.then(
      () => false,
      () => true,
    )
    while (!(await Promise.race([hasWaited(), isRefused])));
    await admin.query("INSERT INTO migrations (number, name) VALUES (2, 'later')")
    await admin.query('SELECT pg_advisory_unlock(-1)')
    await (await opening).close()
    leaveLaterRelease()
    await admin.query('DELETE FROM migrations WHERE number = 2')
  })
})

describe('a primary that lives on after its standby took over', () => {
  const lease = { name: 'sweeps', holder: 'this node', until: 60_000 }
  const nodes = ['writer', 'reader', 'upkeep', 'watch', 'busy'] as const
  type Node = (typeof nodes)[number]
  const stores = new Map<Node, Store>()
  const ends: (() => Promise<unknown>)[] = []
  let primary: Cluster
  let former: pg.Client
  let successor: pg.Client
  let tenant: number

  before(async () => {
    const connected = async (cluster: Cluster): Promise<pg.Client> => {
      const client = new pg.Client(cluster.url)
      await client.connect()
      ends.unshift(
        () => client.end(),
        () => cluster.stop(),
      )
      return client
    }
    primary = await startCluster()
    former = await connected(primary)
    const standby = await startStandby(primary, {}, await freePort())
    successor = await connected(standby)
    for (const node of nodes) {
      await former.query(`CREATE ROLE ${node} LOGIN SUPERUSER PASSWORD 'password'`)
      const hosts = [primary, standby].map(({ port }) => `127.0.0.1:${port}`)
      const url = `postgres://${node}:password@${hosts.join()}/postgres`
      // One connection of each kind, and all of them open.
      const store = await openPostgres({ ...settingsOf(url), poolSize: 4 })
      stores.set(node, store)
      ends.unshift(() => store.close())
      tenant ??= await store.createTenant(
        {
          id: 'any',
          sealed: bytes('tenant'),
          keys: [],
          applications: [],
          apiKeys: [],
        },
        madeTenantLog(),
      )
      await store.commit(insert(node))
      assert.ok(await store.getToken(tenant, node))
      assert.ok(await store.acquireLease(lease, 0))
    }
    // Otherwise whatever the former primary commits would wait for its standby.
    await former.query('ALTER SYSTEM RESET synchronous_standby_names')
    await former.query('SELECT pg_reload_conf()')
    await successor.query('SELECT pg_promote()')
    await successor.query('DELETE FROM tokens')
    await successor.query("UPDATE leases SET holder = 'another node'")
  })
  after(async () => {
    for (const end of ends) await end()
  })

  const insert = (id: string): WriteSet => insertion(tenant, [{ row: tokenRow(tenant, id), terms: [] }])
  const storeOf = (node: Node): Store => {
    const store = stores.get(node)
    assert.ok(store)
    return store
  }
  const sessions = async (server: pg.Client, node: Node, condition: string): Promise<number[]> => {
    const { rows } = await server.query(
      `SELECT pid FROM pg_stat_activity WHERE usename = $1 AND ${condition}`,
      [node],
    )
    return rows.map(({ pid }) => pid)
  }
  /** Ends the connection that last asked this. The former primary grants the node no other. */
  const lose = async (node: Node, asked: string): Promise<void> => {
    await former.query(`ALTER ROLE ${node} NOLOGIN`)
    const lost = await sessions(former, node, `query LIKE '%${asked}%'`)
    assert.equal(lost.length, 1)
    await former.query('SELECT pg_terminate_backend($1, 5000)', lost)
  }
  const meetInUpkeep = async (store: Store): Promise<void> => {
    while (await store.acquireLease(lease, 0).catch(() => true));
  }

  /** Whose connection is lost, what it asked last, and what the node does until that connection has met the successor. */
  const meetings: { node: Node; asked: string; meet: (store: Store, node: Node) => Promise<void> }[] = [
    {
      node: 'writer',
      asked: 'apply_or',
      meet: async store => {
        while (!(await store.commit(insert(crypto.randomUUID())).catch(() => undefined)));
      },
    },
    {
      node: 'reader',
      asked: 'FROM tokens',
      meet: async (store, node) => {
        while (await store.getToken(tenant, node));
      },
    },
    { node: 'upkeep', asked: 'leases', meet: meetInUpkeep },
    {
      node: 'watch',
      asked: 'epoch FROM grants_epoch',
      meet: async (_, node) => {
        while ((await sessions(successor, node, "query LIKE '%epoch FROM grants_epoch%'")).length === 0);
      },
    },
  ]
  for (const { node, asked, meet } of meetings)
    test(`once its ${node} has met a new primary, a node asks and tells the former one nothing more (C27.1, C27.2)`, async () => {
      const store = storeOf(node)
      const epoch = store.grantsEpoch()
      await lose(node, asked)
      await meet(store, node)
      assert.notEqual(store.grantsEpoch(), epoch)
      assert.equal(await store.getToken(tenant, node), undefined)
      assert.equal(await store.acquireLease(lease, 0), false)
      const id = `new of ${node}`
      assert.deepEqual(await store.commit(insert(id)), { committed: true })
      assert.ok(await store.getToken(tenant, id))
      const { rowCount } = await successor.query('SELECT FROM tokens WHERE token_id = $1', [id])
      assert.equal(rowCount, 1)
      while ((await sessions(former, node, 'true')).length > 0);
    })

  test('once a new primary is met, reads under way are repeated there, and writes under way get a 503 (C2.23, C27.1)', async t => {
    const store = storeOf('busy')
    const other = new pg.Client(primary.url)
    await other.connect()
    t.after(() => other.end())
    await other.query('BEGIN; LOCK TABLE tokens')
    const asked = Promise.allSettled([store.getToken(tenant, 'busy'), store.commit(insert('under way'))])
    while ((await sessions(former, 'busy', "wait_event_type = 'Lock'")).length < 2);
    await lose('busy', 'leases')
    await meetInUpkeep(store)
    const [read, written] = await asked
    assert.deepEqual(read, { status: 'fulfilled', value: undefined })
    assert.ok(written.status === 'rejected' && isUnavailable(written.reason))
    assert.equal(await store.getToken(tenant, 'under way'), undefined)
  })
})
