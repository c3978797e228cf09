import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { Store } from '../../src/store/port.ts'
import type { TokenRow } from '../../src/store/rows.ts'
import { openCopySource } from '../../src/store/sqlite/copy-source.ts'
import { newestSchema } from '../../src/store/sqlite/migrate.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { isWaitingBroken, partCount, WaitingEntries } from '../../src/store/sqlite/waiting-entries.ts'
import { packSets } from '../../src/store/sqlite/writing/packed-sets.ts'
import { threadWriter } from '../../src/store/sqlite/writing/thread-writer.ts'
import type { Writer } from '../../src/store/sqlite/writing/writer-client.ts'
import { tableNamed } from '../../src/store/tables.ts'
import type { WriteSet } from '../../src/store/write-set.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { fc } from '../rig/properties.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import {
  adding,
  bytes,
  insertion,
  isUnavailable,
  matchOf,
  tag,
  terms,
  tokenRow,
  writeSet,
} from './contract/rig.ts'
import { type SqliteWatch, watchSqlite } from './watch-sqlite.ts'

const waitingMax = 24

describe('index entries that wait (sqlite)', () => {
  let folder: { path: string; remove: () => void }
  let path: string
  let watch: SqliteWatch
  let store: Store
  let tenant: number
  const open = () => openSqlite({ path, writing: 'inline', lockWaitMs: 1, waitingMax })

  beforeEach(async () => {
    folder = temporaryFolder()
    path = join(folder.path, 'vault.db')
    watch = watchSqlite()
    store = open()
    tenant = await store.createTenant(newTenant('one'), madeTenantLog())
  })
  afterEach(async () => {
    watch.stop()
    await store.close()
    folder.remove()
  })

  const newTenant = (id: string) => ({ id, sealed: bytes(id), keys: [], applications: [], apiKeys: [] })
  /** Spread over all parts, as keyed hashes are. */
  const termOf = (id: string): Uint8Array => hash('sha256', id, 'buffer').subarray(0, 12)
  const rowOf = (id: string): TokenRow => tokenRow(tenant, id)
  const create = async (...ids: string[]): Promise<void> => {
    await store.commit(
      insertion(
        tenant,
        ids.map(id => ({ row: rowOf(id), terms: [termOf(id)] })),
      ),
    )
  }
  const remove = async (id: string): Promise<void> => {
    await store.commit(
      writeSet(tenant, {
        guarded: [{ kind: 'deleteToken', id, ifVersion: 1 }],
        effects: [terms('removeTerms', rowOf(id), [termOf(id)])],
      }),
    )
  }
  const found = async (id: string, by = store): Promise<string[]> =>
    (await by.listTokens({ tenant, groups: [[termOf(id)]], now: 0 }, { offset: 0, limit: 9 })).map(
      row => row.id,
    )
  const reach = (sql: string): Record<string, unknown>[] => {
    const database = new DatabaseSync(path)
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  }
  const idsIn = (table: string): unknown[] =>
    reach(`SELECT token_id FROM ${table} WHERE term <> x'' ORDER BY token_id`).map(row => row.token_id)
  const failsToCommit = async (work: () => Promise<unknown>): Promise<void> => {
    watch.beforeExec = sql => {
      if (sql === 'COMMIT') throw new Error('disk I/O error')
    }
    await assert.rejects(work(), isUnavailable)
    watch.beforeExec = () => {}
  }
  /** Creates tokens until everything that waited before has been moved and removed. */
  const createMany = async (prefix: string): Promise<string[]> => {
    const ids = Array.from({ length: waitingMax * 4 }, (_, i) => `${prefix}${i}`)
    for (const id of ids) await create(id)
    return ids
  }

  test('an entry waits, and a read by its term moves it and no other (C24.7)', async () => {
    await create('a', 'b')
    assert.deepEqual([idsIn('waiting_terms'), idsIn('terms')], [['a', 'b'], []])
    assert.deepEqual(await found('a'), ['a'])
    assert.deepEqual([idsIn('waiting_terms'), idsIn('terms')], [['b'], ['a']])
    const begun = watch.executed.filter(sql => sql.startsWith('BEGIN IMMEDIATE')).length
    assert.deepEqual(await found('a'), ['a'])
    assert.equal(
      watch.executed.filter(sql => sql.startsWith('BEGIN IMMEDIATE')).length,
      begun,
      'nothing was written',
    )
  })

  test('an entry that is moved while it is looked for is not reported as absent (C24.7)', async t => {
    await create('a')
    const [row, term] = [rowOf('a'), termOf('a')]
    const entry = { ...adding(row, [term]).of, term, tag }
    const { get } = StatementSync.prototype
    let isMoved = false
    t.mock.method(
      StatementSync.prototype,
      'get',
      function (this: StatementSync, ...input: Parameters<typeof get>) {
        const found = get.apply(this, input)
        if (!isMoved && this.sourceSQL.includes('FROM terms WHERE')) {
          isMoved = true
          const outsider = new DatabaseSync(path)
          outsider.exec(`
          INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
          SELECT tenant, term, created_at, token_id, expires_at, tag, signature FROM waiting_terms;
          UPDATE waiting_terms SET term = x''`)
          outsider.close()
        }
        return found
      },
    )
    assert.deepEqual(await store.findAbsentTerms(tenant, [entry]), [])
    assert.ok(isMoved)
    assert.deepEqual(await store.findAbsentTerms(tenant, [entry]), [])
  })

  test('reads that begin together each find what waits (C24.7)', async () => {
    await create('a', 'b')
    assert.deepEqual(await Promise.all([found('a'), found('b'), found('a')]), [['a'], ['b'], ['a']])
  })

  test('every read that asks for a term finds tokens whose entries wait (C24.7)', async () => {
    const reads: Record<string, (term: Uint8Array) => Promise<number | undefined>> = {
      list: async term =>
        (await store.listTokens({ tenant, groups: [[term]], now: 0 }, { offset: 0, limit: 9 })).length,
      count: term => store.countTokens({ tenant, groups: [[term]], now: 0 }),
      'a count of others': async term =>
        1 - (await store.countTokens({ tenant, groups: [[bytes('all')]], without: [term], now: 0 })),
      estimate: async term => (await store.estimateTerms(tenant, [term], 9))[0],
      match: async term => ((await store.findOldestMatch(tenant, matchOf(term), 0))?.id === 'a' ? 1 : 0),
      'expired tokens': async term =>
        [...(await store.readCounts(tenant, [], 9_000, [term])).expired.values()][0],
    }
    for (const [name, ask] of Object.entries(reads)) {
      const row = { ...rowOf('a'), expiresAt: name === 'expired tokens' ? 8_000 : null }
      // A term of its own: entries of one that was asked for wait no more.
      const own = [bytes('all'), termOf(name)]
      await store.commit(
        writeSet(tenant, {
          guarded: [{ kind: 'insertToken', row }],
          effects: [adding(row, own)],
        }),
      )
      assert.ok(idsIn('waiting_terms').includes('a'), name)
      assert.equal(await ask(termOf(name)), 1, name)
      await store.commit(
        writeSet(tenant, {
          guarded: [{ kind: 'deleteToken', id: 'a', ifVersion: 1 }],
          effects: [terms('removeTerms', row, own)],
        }),
      )
    }
  })

  /** A token whose entry of `noise` waits; all tokens have `all`. */
  const noisy = (id: string): WriteSet =>
    writeSet(tenant, {
      guarded: [{ kind: 'insertToken', row: rowOf(id) }],
      effects: [adding(rowOf(id), [bytes('all'), termOf('noise')])],
    })
  const countOthers = (): Promise<number> =>
    store.countTokens({ tenant, groups: [[bytes('all')]], without: [termOf('noise')], now: 0 })

  test('a count of others leaves out every token that comes while it has entries moved, and ends, however many come (C24.7)', async () => {
    await store.close()
    const thread = threadWriter({ path, lockWaitMs: 1_000, waitingMax })
    let settled = 0
    /** As if other workers wrote as fast as this one reads. */
    const ask: Writer['ask'] = async request => {
      const answer = await thread.ask(request)
      if (request.kind === 'settle')
        await thread.ask({ kind: 'commit', batches: [packSets(tenant, [noisy(`later${++settled}`)])] })
      return answer
    }
    store = openSqlite({ path, writing: { ...thread, ask } })
    await store.commit(noisy('first'))
    assert.equal(await countOthers(), 0)
    assert.equal(settled, 1)
    assert.equal(await store.countTokens({ tenant, groups: [[termOf('noise')]], now: 0 }), 2)
  })

  test('a count of others leaves out a token that comes between the look at what waits and the count (C24.7)', async t => {
    await store.commit(noisy('first'))
    assert.equal(await countOthers(), 0)
    const { get } = StatementSync.prototype
    let isThere = false
    t.mock.method(
      StatementSync.prototype,
      'get',
      function (this: StatementSync, ...input: Parameters<typeof get>) {
        const found = get.apply(this, input)
        if (!isThere && this.sourceSQL.includes('waiting_moved')) {
          isThere = true
          const outsider = new DatabaseSync(path)
          outsider.exec(`
          INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
          SELECT tenant, term, created_at, 'second', expires_at, tag, signature FROM terms WHERE term = CAST('all' AS BLOB)`)
          outsider.close()
        }
        return found
      },
    )
    // In an event of its own: a read that follows another sees the same state as that one.
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(await countOthers(), 0)
    assert.ok(isThere)
  })

  test('entries that have gathered are moved and removed while others come (C24.7)', async () => {
    const ids = Array.from({ length: waitingMax * 20 }, (_, i) => `a${i}`)
    for (let from = 0; from < ids.length; from += 1 + (from % 7))
      await create(...ids.slice(from, from + 1 + (from % 7)))
    assert.ok(idsIn('terms').length >= waitingMax)
    assert.ok(reach('SELECT * FROM waiting_terms').length <= 3 * waitingMax)
    for (const id of ids) assert.deepEqual(await found(id), [id])
    assert.deepEqual(idsIn('terms'), ids.toSorted())
  })

  test('entries learnt in slices are the same as those learnt at once (C24.7)', async () => {
    const ids = Array.from({ length: waitingMax }, (_, i) => `a${i}`)
    await create(...ids)
    const database = new DatabaseSync(path)
    const [inSlices, atOnce] = [new WaitingEntries(database), new WaitingEntries(database)]
    let slices = 1
    while (!inSlices.catchUp(10)) slices++
    assert.equal(slices, Math.ceil((waitingMax + 1) / 10))
    assert.ok(atOnce.catchUp())
    for (const id of ids)
      assert.deepEqual(inSlices.ofTerm(tenant, termOf(id)), atOnce.ofTerm(tenant, termOf(id)))
    assert.equal(atOnce.ofTerm(tenant, termOf('a0')).places.length, 1)
    database.close()
  })

  test('other requests are answered while a read learns of thousands of entries (C24.7)', async () => {
    await store.close()
    store = openSqlite({ path, writing: 'inline' })
    await create(...Array.from({ length: 9_000 }, (_, i) => `a${i}`))
    let [turns, isOver] = [0, false]
    const reading = found('a8999').finally(() => {
      isOver = true
    })
    for (; !isOver; turns++) await new Promise(resolve => setImmediate(resolve))
    assert.deepEqual(await reading, ['a8999'])
    assert.ok(turns > 3, `${turns} turns`)
  })

  test('entries that were moved are forgotten (C24.7)', async () => {
    const database = new DatabaseSync(path)
    const entries = new WaitingEntries(database)
    const remembered = () =>
      Array.from({ length: partCount }, (_, part) => entries.sizeOfPart(part)).reduce(
        (sum, size) => sum + size,
      )
    for (const id of Array.from({ length: waitingMax * 20 }, (_, i) => `a${i}`)) {
      await create(id)
      entries.catchUp()
      assert.ok(remembered() <= 4 * waitingMax, id)
    }
    database.close()
  })

  test('no commit moves more than twice what it adds, and a part (C24.7)', async () => {
    for (const id of Array.from({ length: waitingMax * 6 }, (_, i) => `${i}`)) {
      const before = idsIn('terms').length
      await create(id)
      assert.ok(idsIn('terms').length - before <= 4, id)
    }
  })

  test('of the entries of a term that many tokens share, only the first waits, and only until the second (C24.7)', async () => {
    const rows = Array.from({ length: 1_200 }, (_, i) => rowOf(`same${String(i).padStart(4, '0')}`))
    const createSome = (from: number, to: number) =>
      store.commit(
        insertion(
          tenant,
          rows.slice(from, to).map(row => ({ row, terms: [bytes('shared')] })),
        ),
      )
    await createSome(0, 1)
    assert.equal(idsIn('waiting_terms').length, 1)
    await createSome(1, 600)
    await createSome(600, 1_200)
    assert.deepEqual([idsIn('waiting_terms'), idsIn('terms')], [[], rows.map(({ id }) => id)])
    assert.equal(await store.countTokens({ tenant, groups: [[bytes('shared')]], now: 0 }), 1_200)
  })

  /** Terms that begin alike: those of one part, and of one token as far as its first bytes tell. */
  const alike = (number: number): Uint8Array => Uint8Array.of(1, 2, 3, 4, 5, 6, number >> 8, number & 255)

  test('entries whose terms all begin alike wait only up to a number (C24.7)', async () => {
    const rows = Array.from({ length: 1_200 }, (_, i) => rowOf(`alike${String(i).padStart(4, '0')}`))
    await store.commit(
      insertion(
        tenant,
        rows.map((row, number) => ({ row, terms: [alike(number)] })),
      ),
    )
    assert.equal(idsIn('waiting_terms').length, 1_000)
    for (const number of [0, 1_199])
      assert.equal(await store.countTokens({ tenant, groups: [[alike(number)]], now: 0 }), 1)
  })

  test('an entry of a deleted token is not moved later (C31)', async () => {
    await create('gone')
    await remove('gone')
    await createMany('a')
    assert.deepEqual(reach("SELECT * FROM terms WHERE token_id = 'gone'"), [], 'not even without its term')
    assert.deepEqual(await found('gone'), [])
  })

  for (const isKnown of [true, false])
    test(`of tokens whose terms begin alike, one is deleted without a look at the others, ${isKnown ? 'just created' : 'after a restart'} (C31)`, async t => {
      // In Java's hash of texts, which is the one used here too, the last two are the same.
      const ids = [...Array.from({ length: 500 }, (_, i) => `same${i}`), 'AaAa', 'BBBB']
      await store.commit(
        insertion(
          tenant,
          ids.map((id, number) => ({ row: rowOf(id), terms: [alike(number)] })),
        ),
      )
      if (!isKnown) {
        await store.close()
        store = open()
      }
      const run = t.mock.method(StatementSync.prototype, 'run')
      for (const id of ['same250', 'AaAa'])
        await store.commit(
          writeSet(tenant, {
            guarded: [{ kind: 'deleteToken', id, ifVersion: 1 }],
            effects: [terms('removeTerms', rowOf(id), [alike(ids.indexOf(id))])],
          }),
        )
      assert.ok(run.mock.callCount() < 20, `${run.mock.callCount()} statements`)
      assert.deepEqual(idsIn('waiting_terms'), ids.filter(id => id !== 'same250' && id !== 'AaAa').toSorted())
    })

  test('an entry of a changed token keeps the change (C17)', async () => {
    await create('changed')
    const row = { ...rowOf('changed'), expiresAt: 5 }
    await store.commit(writeSet(tenant, { effects: [terms('addTerms', row, [termOf('changed')])] }))
    await createMany('a')
    assert.deepEqual(
      reach("SELECT expires_at FROM terms WHERE token_id = 'changed'").map(entry => entry.expires_at),
      [5],
    )
  })

  test('another process finds what waits, and neither loses what the other adds (C27)', async () => {
    const other = open()
    try {
      await create('a')
      assert.deepEqual(await found('a', other), ['a'])
      await create('b')
      await remove('b')
      await other.commit(insertion(tenant, [{ row: rowOf('c'), terms: [termOf('c')] }]))
      assert.deepEqual(
        [await found('b', other), await found('c'), await found('c', other)],
        [[], ['c'], ['c']],
      )
      for (const id of Array.from({ length: waitingMax * 4 }, (_, i) => `x${i}`)) {
        const [one, two] = id.endsWith('1') ? [store, other] : [other, store]
        await one.commit(insertion(tenant, [{ row: rowOf(id), terms: [termOf(id)] }]))
        if (id.endsWith('3')) assert.deepEqual(await found(id, two), [id])
      }
      for (const id of Array.from({ length: waitingMax * 4 }, (_, i) => `x${i}`))
        assert.deepEqual([await found(id), await found(id, other)], [[id], [id]])
    } finally {
      await other.close()
    }
  })

  test('what waits of a deleted tenant is neither moved nor kept (C31.6)', async () => {
    await create('a')
    await store.commit(writeSet(tenant, { effects: [{ kind: 'deleteTenant' }] }))
    const living = await store.createTenant(newTenant('two'), madeTenantLog())
    const dead = tenant
    tenant = living
    await createMany('b')
    assert.ok(!idsIn('terms').includes('a'))
    while ((await store.purgeDeadTenants(100)) > 0);
    for (const table of ['terms', 'waiting_terms'])
      assert.deepEqual(reach(`SELECT * FROM ${table} WHERE tenant = ${dead} OR token_id = 'a'`), [])
  })

  test('a verification finds entries that wait, and misses those that are gone (C24.10)', async () => {
    await create('a', 'b')
    const entries = ['a', 'b'].map(id => {
      const { of, terms: own } = adding(rowOf(id), [termOf(id)])
      return { ...of, term: termOf(id), tag: own[0]?.tag ?? null }
    })
    assert.deepEqual(await store.findAbsentTerms(tenant, entries), [])
    reach("DELETE FROM waiting_terms WHERE token_id = 'a'")
    assert.deepEqual(
      (await store.findAbsentTerms(tenant, entries)).map(({ tokenId }) => tokenId),
      ['a'],
    )
    assert.deepEqual(
      (await store.scanTerms(tenant, undefined, 9)).map(({ tokenId }) => tokenId),
      ['b'],
    )
  })

  for (const sql of [
    'UPDATE waiting_moved SET up_to = 9007199254740990',
    "UPDATE waiting_moved SET up_to = 'x'",
    'UPDATE waiting_moved SET parts = -9223372036854775807 - 1',
    'DELETE FROM waiting_moved',
    "INSERT INTO waiting_terms VALUES (9223372036854775807, 1, x'00', 1, 'q', NULL, NULL, 0)",
    "INSERT INTO waiting_terms VALUES (-5, 1, x'00', 1, 'q', NULL, NULL, 0)",
    "INSERT INTO waiting_terms VALUES (100, 9223372036854775807, 'x', 'x', x'00', 'x', 'x', 'x')",
  ])
    test(`no token is kept from being stored and found by ${sql} (docs/decisions/0016)`, async () => {
      const other = open()
      try {
        await create('a', 'b')
        assert.deepEqual(await found('b', other), ['b'])
        await create('c')
        reach(sql)
        await create('d', 'e')
        for (const id of ['d', 'e']) assert.deepEqual(await found(id), [id])
        const database = new DatabaseSync(path)
        const wasBroken = isWaitingBroken(database)
        await other.mendNumbers(tenant)
        await new Promise(resolve => setImmediate(resolve))
        assert.ok(!isWaitingBroken(database))
        database.close()
        if (wasBroken) assert.deepEqual(reach('SELECT * FROM waiting_terms'), [])
        await create('f')
        assert.ok(idsIn('waiting_terms').includes('f'))
        for (const by of [other, store])
          for (const id of ['a', 'b', 'd', 'e', 'f'].slice(wasBroken ? 1 : 0))
            assert.deepEqual(await found(id, by), [id])
        for (const id of await createMany('later')) assert.deepEqual(await found(id, other), [id])
      } finally {
        await other.close()
      }
    })

  test('the writing thread moves what waits when it has nothing else to do (C24.7)', async () => {
    await store.close()
    store = openSqlite({ path, waitingMax })
    await create('a', 'b')
    const isOver = Date.now() + 20_000
    while (idsIn('waiting_terms').length > 0 && Date.now() < isOver)
      await new Promise(resolve => setImmediate(resolve))
    assert.deepEqual([idsIn('waiting_terms'), idsIn('terms')], [[], ['a', 'b']])
  })

  test('a copy for another engine has every entry in its place (C24.7)', async () => {
    await create('a', 'b')
    await store.close()
    const source = openCopySource(path)
    try {
      assert.equal(source.count(tableNamed('terms')), 2)
    } finally {
      source.close()
      store = open()
    }
  })

  test('no copy is made for another engine that would lack entries (docs/decisions/0016)', async () => {
    await create('a')
    await store.close()
    reach('DELETE FROM waiting_moved')
    try {
      assert.throws(() => openCopySource(path).close(), /run strongroom doctor --deep --repair/)
    } finally {
      store = open()
    }
  })

  test('a read that cannot have its entries moved is unavailable, and finds them once it can (C2.23)', async () => {
    await create('a')
    const outsider = new DatabaseSync(path, { timeout: 5_000 })
    outsider.exec('BEGIN IMMEDIATE')
    await assert.rejects(found('a'), isUnavailable)
    outsider.close()
    assert.deepEqual(await found('a'), ['a'])
  })

  test('a server of an older release moves nothing once a newer one has migrated its file (C35.1)', async () => {
    await create('a')
    reach('CREATE TABLE later (x INTEGER)')
    reach(`PRAGMA user_version = ${newestSchema() + 1}`)
    await assert.rejects(found('a'), isUnavailable)
    assert.deepEqual([idsIn('waiting_terms'), idsIn('terms')], [['a'], []])
    reach(`PRAGMA user_version = ${newestSchema()}`)
    reach('DROP TABLE later')
    assert.deepEqual(await found('a'), ['a'])
  })

  test('after entries could not be moved, the next write is stored (C2.23)', async () => {
    await create('a')
    await failsToCommit(() => found('a'))
    await create('b')
    assert.deepEqual([await found('a'), await found('b')], [['a'], ['b']])
  })

  test('nothing is kept of what waits of a deleted tenant, though nothing else is added (C31.6)', async () => {
    await create('a')
    await store.commit(writeSet(tenant, { effects: [{ kind: 'deleteTenant' }] }))
    while ((await store.purgeDeadTenants(100)) > 0);
    assert.deepEqual(
      reach('SELECT tenant, hex(term) AS term, token_id, tag FROM waiting_terms').map(row => ({ ...row })),
      [{ tenant: 0, term: '', token_id: '', tag: null }],
    )
  })

  test('the last of the moved entries are removed before others are moved (C24.7)', async () => {
    const state = () =>
      reach(
        'SELECT up_to, parts, (SELECT min(place) FROM waiting_terms) AS oldest FROM waiting_moved',
      )[0] as Record<string, number>
    let before = state()
    // Steps of different sizes, so that each remainder is left at some time.
    for (let i = 0; i < 400; i++) {
      await create(...Array.from({ length: 1 + ((i * i) % 7) }, (_, n) => `${i} ${n}`))
      const now = state()
      if (now.up_to !== before.up_to) assert.ok(Number(before.oldest) > Number(before.up_to), `${i}`)
      before = now
    }
  })

  test('a commit that fails leaves nothing that waits, and the next one is found (C33.5)', async () => {
    await create('a')
    await failsToCommit(() => create('b'))
    await create('c')
    assert.deepEqual([await found('a'), await found('b'), await found('c')], [['a'], [], ['c']])
  })

  test('after a commit that failed, another process takes the places meant for it (C27)', async () => {
    const other = open()
    try {
      await failsToCommit(() => create('a', 'b'))
      await other.commit(insertion(tenant, [{ row: rowOf('c'), terms: [termOf('c')] }]))
      await remove('c')
      await createMany('d')
      assert.ok(!idsIn('terms').includes('c'))
    } finally {
      await other.close()
    }
  })

  test('whatever two processes create, delete and ask for, both find the same tokens (C24.7)', async () => {
    const step = fc.record({
      act: fc.constantFrom(
        'create' as const,
        'create' as const,
        'create' as const,
        'delete' as const,
        'find' as const,
      ),
      by: fc.boolean(),
      id: fc.nat(60),
    })
    let round = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 160 }), async steps => {
        const other = open()
        try {
          const prefix = `${round++}-`
          const living = new Set<string>()
          for (const { act, by, id: number } of steps) {
            const id = `${prefix}${number}`
            const own = by ? store : other
            if (act === 'create' && !living.has(id)) {
              await own.commit(insertion(tenant, [{ row: rowOf(id), terms: [termOf(id)] }]))
              living.add(id)
            } else if (act === 'delete' && living.delete(id))
              await own.commit(
                writeSet(tenant, {
                  guarded: [{ kind: 'deleteToken', id, ifVersion: 1 }],
                  effects: [terms('removeTerms', rowOf(id), [termOf(id)])],
                }),
              )
            else if (act === 'find') assert.equal((await found(id, own)).includes(id), living.has(id))
          }
          for (const reader of [store, other])
            for (let number = 0; number <= 60; number++) {
              const id = `${prefix}${number}`
              assert.equal((await found(id, reader)).includes(id), living.has(id), id)
            }
        } finally {
          await other.close()
        }
      }),
      { numRuns: 12 },
    )
  })
})
