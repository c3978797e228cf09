import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { Connection } from '../../src/store/postgres/connection.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { standaloneWrites } from '../../src/store/postgres/standalone-writes.ts'
import type { TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { CutLine } from '../rig/cut-line.ts'
import { postgres } from '../rig/engines.ts'
import { startCluster } from '../rig/postgres-cluster.ts'
import { databaseOf, settingsOf } from '../rig/postgres-databases.ts'
import { owner, TestVault } from '../rig/test-vault.ts'
import { insertion, isUnavailable, StoreRig, tokenRow, writeSet } from './contract/rig.ts'

const assertUnavailable = (reply: TestReply): void => {
  assert.equal(reply.status, 503, reply.text)
  assert.ok(reply.headers.get('retry-after'))
}

/** Repeats the request until it is no longer told to wait; a node recovers by itself. */
const recovered = async (ask: () => Promise<TestReply>): Promise<TestReply> => {
  const since = performance.now()
  for (;;) {
    const reply = await ask()
    if (reply.status !== 503) return reply
    assert.ok(performance.now() - since < 10_000, 'the node did not recover')
  }
}

const granted = (reply: TestReply): TestReply => {
  assert.ok(reply.status < 300, reply.text)
  return reply
}

const endConnections = (admin: pg.Client, database: string): Promise<unknown> =>
  admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [database])

/** Another client's transaction, which holds this token's row until it ends. */
const lockToken = async (folder: string, id: string): Promise<pg.Client> => {
  const client = new pg.Client(await databaseOf(folder))
  await client.connect()
  await client.query('BEGIN')
  await client.query('SELECT FROM tokens WHERE token_id = $1 FOR UPDATE', [id])
  return client
}

describe('a vault whose database fails (postgres)', () => {
  let line: CutLine
  let vault: TestVault
  let admin: pg.Client
  let database: string
  let key: string

  before(async () => {
    vault = await TestVault.start({
      engine: {
        ...postgres,
        open: async folder => {
          const url = new URL(await databaseOf(folder))
          line ??= new CutLine({ host: url.hostname, port: Number(url.port) })
          url.port = String(await line.listen())
          return openPostgres({ ...settingsOf(url.href), statementTimeoutMs: 1_000 })
        },
      },
    })
    key = (await vault.tenant({ owner })).keys.owner
    const url = new URL(await databaseOf(vault.folder.path))
    database = url.pathname.slice(1)
    url.pathname = '/postgres'
    admin = new pg.Client(url.href)
    await admin.connect()
  })
  after(async () => {
    await vault.stop()
    await line.close()
    await admin.end()
  })

  const reach = (sql: string): Promise<unknown> => postgres.reach(vault.folder.path, sql)
  const create = (data: string, idempotencyKey?: string): Promise<TestReply> =>
    vault.send('POST', '/tokens', {
      key,
      body: { type: 'token', data },
      headers: idempotencyKey === undefined ? {} : { 'svc-idempotency-key': idempotencyKey },
    })
  const count = async (): Promise<number> =>
    (await recovered(() => vault.get('/tokens', key))).body.pagination.total_items
  const isCommit = (sent: Buffer): boolean => sent.includes('"sealed"')

  for (const isHeard of [false, true])
    test(`a connection that breaks before the ${isHeard ? 'answer' : 'request'} arrives gives a 503, and the retry creates one token (C2.23, C33.5)`, async () => {
      granted(await create('warm'))
      const total = await count()
      const idempotencyKey = crypto.randomUUID()
      line.cutOn(isCommit, { isHeard })
      assertUnavailable(await create('once', idempotencyKey))
      const retry = await recovered(() => create('once', idempotencyKey))
      assert.equal(retry.status, 201, retry.text)
      assert.equal(retry.headers.get('idempotent-replayed'), isHeard ? 'true' : null)
      assert.equal(await count(), total + 1)
    })

  test('a server that ends all connections and takes no new ones gives a 503 until it is back (C2.23)', async () => {
    const { id } = granted(await create('kept')).body
    await admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
    await endConnections(admin, database)
    assertUnavailable(await vault.get(`/tokens/${id}`, key))
    assertUnavailable(await create('not kept'))
    assert.equal((await vault.send('GET', '/ready')).status, 503)
    assert.equal((await vault.send('GET', '/health')).status, 200)
    await admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`)
    assert.equal((await recovered(() => vault.get(`/tokens/${id}`, key))).body.data, 'kept')
    granted(await recovered(() => create('kept again')))
  })

  test('the vault recovers from connections that were ended while they were idle (C27.1)', async () => {
    const { id } = granted(await create('here')).body
    await endConnections(admin, database)
    assert.equal((await recovered(() => vault.get(`/tokens/${id}`, key))).status, 200)
    granted(await recovered(() => create('and here')))
  })

  test('a server that became a standby gives a 503 until a server that takes writes is found (C2.23, C27.1)', async () => {
    await admin.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`)
    await endConnections(admin, database)
    // The first request meets the connection that was ended, the others the server as it is now.
    for (let time = 1; time <= 4; time++) assertUnavailable(await create('nowhere'))
    await admin.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`)
    granted(await recovered(() => create('somewhere')))
  })

  test('a full disk gives a 503 for writes, reads go on, and nothing is half done (C2.23)', async () => {
    const total = await count()
    await reach(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$`)
    await reach('CREATE TRIGGER full_disk BEFORE INSERT ON terms FOR EACH ROW EXECUTE FUNCTION full_disk()')
    assertUnavailable(await create('too much'))
    assert.equal(await count(), total)
    await reach('DROP FUNCTION full_disk CASCADE')
    granted(await create('enough'))
    assert.equal(await count(), total + 1)
  })

  test('a statement that takes too long gives a 503 and has no effect later (C2.23)', async () => {
    const { id } = granted(await create('slow')).body
    const other = await lockToken(vault.folder.path, id)
    assertUnavailable(await vault.patch(`/tokens/${id}`, key, { metadata: { late: 'x' } }))
    await other.end()
    assert.equal((await vault.get(`/tokens/${id}`, key)).body.metadata, undefined)
  })

  test('a node that cannot hear of changes to grants relies on nothing it remembers (C27.2, C2.23)', async () => {
    granted(await recovered(() => create('remembered')))
    await admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
    await endConnections(admin, database)
    const since = performance.now()
    const epochs = new Set<number>()
    while (epochs.size < 5) {
      epochs.add(vault.store.grantsEpoch())
      assert.ok(performance.now() - since < 1_000, 'within a second')
      await new Promise(resolve => setImmediate(resolve))
    }
    await admin.query(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`)
    granted(await recovered(() => create('asked anew')))
  })
})

describe('a vault whose role is not a superuser (postgres)', () => {
  const role = `ordinary_${crypto.randomUUID().slice(0, 8)}`
  let vault: TestVault
  let admin: pg.Client
  before(async () => {
    vault = await TestVault.start({
      engine: {
        ...postgres,
        open: async folder => {
          const url = new URL(await databaseOf(folder))
          admin = new pg.Client(url.href)
          await admin.connect()
          await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x';
            GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}; ALTER TABLE api_keys OWNER TO ${role}`)
          url.username = role
          url.password = 'x'
          return openPostgres(settingsOf(url.href))
        },
      },
    })
  })
  after(async () => {
    await vault.stop()
    await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
    await admin.end()
  })

  test('row-level security that hides a key from its deletion is an error, and not a revocation (C29.4, C27.2)', async () => {
    const { keys } = await vault.tenant(ownerAndManager)
    const application = granted(await vault.get('/applications/key', keys.owner)).body.id
    const path = `/applications/${application}/keys`
    const [{ id }] = granted(await vault.get(path, keys.manager)).body
    const revoke = () => vault.delete(`${path}/${id}`, keys.manager)
    await admin.query(`ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
      ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
      CREATE POLICY seen ON api_keys FOR SELECT USING (true);
      CREATE POLICY made ON api_keys FOR INSERT WITH CHECK (true)`)
    assertUnavailable(await revoke())
    await admin.query('ALTER TABLE api_keys DISABLE ROW LEVEL SECURITY')
    assert.equal((await recovered(revoke)).status, 204)
    assert.equal((await vault.get('/tokens', keys.owner)).status, 401)
  })
})

describe('contending transactions and failing connections (postgres)', () => {
  let path = ''
  const rig = new StoreRig(async folder => {
    path = folder
    return openPostgres(settingsOf(await databaseOf(folder)))
  })

  test('a deadlock is resolved internally: the write that PostgreSQL aborted is repeated (C18.8)', async () => {
    const tenant = await rig.newTenant()
    const [one, two] = [tokenRow(tenant, 'one'), tokenRow(tenant, 'two')]
    await rig.write(
      insertion(tenant, [
        { row: one, terms: [] },
        { row: two, terms: [] },
      ]),
    )
    const other = await lockToken(path, 'one')
    // Deletes are applied before updates, so this set holds `two` while it waits for `one`.
    const written = rig.store.commit(
      writeSet(tenant, {
        guarded: [
          { kind: 'deleteToken', id: 'two', ifVersion: 1 },
          { kind: 'updateToken', row: { ...one, version: 2 }, ifVersion: 1 },
        ],
      }),
    )
    await waitsForLock(other)
    // Whichever of the two is given up, the set is written once the other has ended.
    await other.query("SELECT FROM tokens WHERE token_id = 'two' FOR UPDATE").catch(() => {})
    await other.query('ROLLBACK')
    await other.end()
    assert.deepEqual(await written, { committed: true })
    assert.equal((await rig.store.getToken(tenant, 'one'))?.version, 2)
    assert.equal(await rig.store.getToken(tenant, 'two'), undefined)
  })

  for (const held of ['a row', 'the table'] as const)
    test(`while another program holds ${held}, writes that need it are refused, and no others of their batch (C2.23)`, async context => {
      const [tenant, bystander] = [await rig.newTenant(), await rig.newTenant()]
      const hurried = await openPostgres({ ...settingsOf(await databaseOf(path)), statementTimeoutMs: 300 })
      context.after(() => hurried.close())
      const row = tokenRow(tenant, 'held')
      await rig.write(insertion(tenant, [{ row, terms: [] }]))
      const other = await lockToken(path, 'held')
      context.after(() => other.end())
      if (held === 'the table') await other.query('LOCK TABLE tokens IN SHARE MODE')
      const update = writeSet(tenant, {
        guarded: [{ kind: 'updateToken', row: { ...row, version: 2 }, ifVersion: 1 }],
      })
      const insert = (of: number, id: string) => insertion(of, [{ row: tokenRow(of, id), terms: [] }])
      // More that need the row, next to each other and in turn with others, than a rule of thumb might take for the whole table.
      const sets = [
        insert(tenant, 'first'),
        ...Array.from({ length: 5 }, () => update),
        insert(bystander, 'last'),
        ...Array.from({ length: 5 }, (_, n) => [update, insert(tenant, `new ${n}`)]).flat(),
      ]
      const outcomes = await Promise.allSettled(sets.map(set => hurried.commit(set)))
      assert.deepEqual(
        outcomes.map(outcome =>
          outcome.status === 'fulfilled' ? outcome.value.committed : isUnavailable(outcome.reason) && 503,
        ),
        sets.map(set => (set === update || held === 'the table' ? 503 : true)),
      )
      await other.query('ROLLBACK')
      assert.equal((await rig.store.getToken(tenant, 'held'))?.version, 1)
      await rig.write(update)
    })

  for (const isSharded of [false, true])
    test(`a cvc that is renewed while it is purged stays (${isSharded ? 'statements for Citus' : 'one server'}) (C11.1, C18.8)`, async () => {
      const url = await databaseOf(path)
      const connection = new Connection(settingsOf(url))
      const writes = standaloneWrites(async () => connection, { isSharded, drain: async () => {} })
      const other = new pg.Client(url)
      await other.connect()
      const field = [999, `renewed ${isSharded}`, 'cvc']
      const stored = async () =>
        (await other.query('SELECT FROM transients WHERE token_id = $1', [field[1]])).rowCount
      await other.query("INSERT INTO transients VALUES ($1, $2, $3, 1000, '')", field)
      await other.query('BEGIN')
      await other.query(
        'UPDATE transients SET expires_at = 9000 WHERE tenant = $1 AND token_id = $2 AND field = $3',
        field,
      )
      const purged = writes.purgeTransients({ after: 2_000, upTo: 10_000 }, 100)
      // Within a transaction, the other would see the same activity again and again.
      const watching = new pg.Client(url)
      await watching.connect()
      await Promise.race([purged, waitsForLock(watching)])
      await other.query('COMMIT')
      assert.deepEqual([await purged, await stored()], [0, 1])
      await watching.end()
      await other.end()
      await connection.close()
    })

  test('rows of a deleted tenant that another node was deleting, and did not, are purged later (C31.8)', async () => {
    const tenant = await rig.newTenant()
    await rig.write(insertion(tenant, [{ row: tokenRow(tenant, 'left'), terms: [] }]))
    await rig.write(
      writeSet(tenant, {
        guarded: [{ kind: 'reviseTenant', ifRevision: 1 }],
        effects: [{ kind: 'deleteTenant' }],
      }),
    )
    const purge = async () => {
      while ((await rig.store.purgeDeadTenants(100)) > 0);
    }
    const left = async () => {
      const { rows } = await other.query(
        'SELECT (SELECT count(*) FROM tokens WHERE tenant = $1) + (SELECT count(*) FROM dead_tenants) AS n',
        [tenant],
      )
      return Number(rows[0].n)
    }
    const other = new pg.Client(await databaseOf(path))
    await other.connect()
    await other.query('BEGIN')
    await other.query('DELETE FROM tokens WHERE tenant = $1', [tenant])
    await purge()
    await other.query('ROLLBACK')
    assert.equal(await left(), 2)
    await purge()
    assert.equal(await left(), 0)
    await other.end()
  })

  test('of several addresses the one that answers is used (C27.1)', async () => {
    const settings = settingsOf(await databaseOf(path))
    const dead = { host: '127.0.0.1', port: 1 }
    const store = await openPostgres({
      ...settings,
      address: { ...settings.address, hosts: [dead, ...settings.address.hosts] },
    })
    await store.health()
    await store.close()
    await assert.rejects(
      openPostgres({ ...settings, address: { ...settings.address, hosts: [dead] } }),
      isUnavailable,
    )
  })

  test('a server that was not the primary is not tried again before the one that was (C27.1)', async () => {
    const settings = settingsOf(await databaseOf(path))
    let asked = 0
    const closed = createServer(socket => {
      asked++
      socket.destroy()
    }).listen(0, '127.0.0.1')
    await once(closed, 'listening')
    const { port } = closed.address() as AddressInfo
    const store = await openPostgres({
      ...settings,
      address: { ...settings.address, hosts: [{ host: '127.0.0.1', port }, ...settings.address.hosts] },
    })
    await Promise.all(Array.from({ length: 20 }, () => store.health()))
    await store.close()
    closed.close()
    assert.equal(asked, 1)
  })

  const connectionByLine = async (): Promise<{ line: CutLine; connection: Connection }> => {
    const { address, ...settings } = settingsOf(await databaseOf(path))
    const [host] = address.hosts
    assert.ok(host)
    const line = new CutLine(host)
    const hosts = [{ host: '127.0.0.1', port: await line.listen() }]
    return { line, connection: new Connection({ ...settings, address: { ...address, hosts } }) }
  }

  test('a failed attempt to connect fails the request that made it, not those that came later (C2.23)', async () => {
    const { line, connection } = await connectionByLine()
    line.cutOn(() => true, { isHeard: false })
    const ask = (): Promise<unknown> => connection.query({ text: 'SELECT 1' })
    const answers = await Promise.allSettled([ask(), ask()])
    await connection.close()
    await line.close()
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['rejected', 'fulfilled'],
    )
  })

  test('a connection to a server that has fallen silent can be closed (C35.1)', async () => {
    const { line, connection } = await connectionByLine()
    await connection.query({ text: 'SELECT 1' })
    line.fallSilent()
    await connection.close()
    await line.close()
  })

  test('a write that ends in a conflict unknown to this release is refused as unavailable (C2.23)', async () => {
    const tenant = await rig.newTenant()
    const create = () => rig.store.commit(insertion(tenant, [{ row: tokenRow(tenant, 'new'), terms: [] }]))
    const client = new pg.Client(await databaseOf(path))
    await client.connect()
    const { rows } = await client.query("SELECT pg_get_functiondef('apply_or_undo'::regproc) AS text")
    await client.query(
      rows[0].text.replace(/(?<=AS \$function\$)[\s\S]*(?=\$function\$)/, "BEGIN RETURN 'later'; END"),
    )
    await assert.rejects(create(), isUnavailable)
    await client.query(rows[0].text)
    assert.deepEqual(await create(), { committed: true })
    await client.end()
  })

  test('requests beyond those that can wait are refused, and those that wait are answered (C2.23)', async () => {
    const tenant = await rig.newTenant()
    const asked = await Promise.allSettled(
      Array.from({ length: 6_000 }, () => rig.store.getReport(tenant, 'none')),
    )
    const refused = asked.filter(answer => answer.status === 'rejected')
    assert.ok(refused.length > 0 && refused.length < asked.length)
    for (const { reason } of refused) assert.ok(isUnavailable(reason))
    await rig.store.health()
  })
})

/** Resolves once some other session waits for a lock. */
const waitsForLock = async (client: pg.Client): Promise<void> => {
  for (;;) {
    const { rowCount } = await client.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    if (rowCount !== 0) return
  }
}

test('while the server restarts no answered write is lost and none happens twice (postgres) (C27.1, C2.23, C33.5)', async () => {
  const cluster = await startCluster()
  const vault = await TestVault.start({
    engine: { ...postgres, open: () => openPostgres(settingsOf(cluster.url)) },
  })
  try {
    const { keys } = await vault.tenant({ owner })
    const answered: string[] = []
    const statuses = new Set<number>()
    let isOver = false
    /** A client that does not give up: it repeats the same key until it gets an answer. */
    const client = async (name: string): Promise<void> => {
      for (let n = 0; !isOver; n++)
        for (;;) {
          const reply = await vault.send('POST', '/tokens', {
            key: keys.owner,
            body: { type: 'token', data: `${name} ${n}` },
            headers: { 'svc-idempotency-key': `${name}-${n}` },
          })
          statuses.add(reply.status)
          if (reply.status === 201) answered.push(reply.body.id)
          if (reply.status !== 503) break
        }
    }
    const clients = Array.from({ length: 4 }, (_, index) => client(`client-${index}`))
    const enough = async (count: number): Promise<void> => {
      while (answered.length < count) await new Promise(resolve => setImmediate(resolve))
    }
    await enough(50)
    await cluster.restart()
    await enough(answered.length + 50)
    isOver = true
    await Promise.all(clients)
    assert.deepEqual([...statuses].sort(), [201, 503])
    assert.equal(new Set(answered).size, answered.length)
    const { body } = await vault.get('/tokens?size=1', keys.owner)
    assert.equal(body.pagination.total_items, answered.length)
    for (const id of answered) assert.equal((await vault.get(`/tokens/${id}`, keys.owner)).status, 200)
  } finally {
    await vault.stop()
    await cluster.stop()
  }
})
