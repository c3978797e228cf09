import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Act, entityTypes } from '../../src/domain/acts/act.ts'
import { lineOf } from '../../src/domain/acts/block.ts'
import { pace } from '../../src/domain/pace.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine, onSqliteAlone } from '../rig/every-engine.ts'
import { exported, inSequence, logPages, recordOf } from '../rig/log-pages.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { secondNode } from '../rig/second-node.ts'
import type { TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const text = { type: 'token', data: 'Canary Value' }

const newTenant = async (vault: TestVault) => {
  const { tenantId, keys } = await vault.tenant(ownerAndManager)
  const tenantNumber = await vault.tenantNumber(tenantId)
  return { tenantId, keys, owner: { tenantNumber, keys: { tenantId } } }
}

onOneEngine('list the log', 'storage is only read', vault => {
  test('an entry is the record, and has the fields of compatible services (L2.1, L2.5, L5.6)', async () => {
    const { tenantId, keys } = await newTenant(vault())
    const { id } = await vault().create(keys.owner, text)
    await vault().get(`/tokens/${id}`, keys.owner)
    await vault().service.vault.acts.flush()
    const { pagination, data } = granted(await vault().get('/logs', keys.manager))
    assert.deepEqual(pagination, { page_size: 100 })
    const [entry] = data
    const { id: _, trace_id: _trace, sequence: _sequence, actor, tokens, ...rest } = entry
    assert.deepEqual(rest, {
      at: '2026-03-01T12:00:00.000+00:00',
      tenant_id: tenantId,
      source: { ip: '127.0.0.1' },
      operation: 'getToken',
      route: '/tokens/:id',
      result: 'allowed',
      status: 200,
      entity_type: 'token',
      entity_id: id,
      actor_id: actor.id,
      actor_type: 'application',
      message: 'getToken allowed (200)',
      created_at: '2026-03-01T12:00:00.000+00:00',
    })
    assert.deepEqual(
      tokens.map((token: { id: string; transform: string }) => [token.id, token.transform]),
      [[id, 'reveal']],
    )
    assert.deepEqual(
      data.map(({ operation }: { operation: string }) => operation),
      ['getToken', 'createToken', 'tenant create'],
    )
  })

  test('the pages of a walk are the whole log, newest first, of several writers too (L5.3, L5.4)', async () => {
    const { tenantId, keys } = await newTenant(vault())
    const other = await secondNode(vault())
    try {
      for (let index = 0; index < 12; index++) {
        vault().now += 4_000
        const sender = index % 3 === 0 ? other : vault()
        granted(await sender.send('POST', '/tokens', { key: keys.owner, body: text }))
        if (index % 4 === 0) await other.send('GET', '/tokens/nobody', { key: keys.owner })
        // The clock of the test runs ahead of what waits for its window.
        await other.service.vault.acts.flush()
      }
    } finally {
      await other.stop()
    }
    const whole = await recordsOfTenant(vault().service.vault, tenantId)
    if (vault().engine.name === 'postgres')
      assert.ok(new Set(whole.map(({ sequence }) => sequence.split('.')[0])).size > 1, 'several writers')
    for (const size of [1, 2, 5, 1_000]) {
      const records = (await logPages(vault(), keys.manager, `size=${size}`)).flat()
      // What a walk itself adds is newer than its first page.
      const found = records.filter(({ operation }) => operation !== 'listLogs')
      assert.deepEqual(inSequence(found).map(lineOf), inSequence(whole).map(lineOf), `size ${size}`)
      const times = records.map(({ at }) => Date.parse(at))
      for (const [index, at] of times.entries())
        assert.ok(at >= Math.max(...times.slice(index)) - 3_000, 'newest first')
    }
  })

  test('what is recorded between pages, early or late, neither repeats nor hides others (L3.1, L5.3)', async () => {
    const { keys, owner, tenantId } = await newTenant(vault())
    for (let index = 0; index < 9; index++) {
      vault().now += 1_000
      await vault().create(keys.owner, text)
    }
    const { acts } = vault().service.vault
    await acts.flush()
    const before = await recordsOfTenant(vault().service.vault, tenantId)
    const other = await secondNode(vault())
    const pages = await logPages(vault(), keys.manager, 'size=3', async page => {
      // A writer that the walk did not begin with.
      granted(await other.send('POST', '/tokens', { key: keys.owner, body: text }))
      const act = new Act(
        { operation: 'late', entityType: 'token' },
        { type: 'job' },
        `late-${page}-of-a-test`,
      )
      const { now } = vault()
      // An act of long ago whose record was not stored until now.
      vault().now = now - 5_000
      acts.note(owner, act)
      vault().now = now
      await acts.flush()
    })
    await other.stop()
    const shown = pages.flat().filter(({ operation }) => operation !== 'listLogs')
    assert.deepEqual(inSequence(shown).map(lineOf), inSequence(before).map(lineOf))
    const { records } = await exported(vault(), keys.manager)
    assert.equal(records.filter(({ operation }) => operation === 'late').length, pages.length)
  })

  test('each filter keeps what it asks for and leaves out the rest (L5.2)', async () => {
    const { keys, owner } = await newTenant(vault())
    const { acts } = vault().service.vault
    const ids = { one: '019ac000-0000-7000-8000-000000000001', two: '019ac000-0000-7000-8000-000000000002' }
    const note = (name: 'one' | 'two'): void => {
      vault().now += 1_000
      const isOne = name === 'one'
      const kind = {
        operation: `operation-${name}`,
        entityType: isOne ? 'proxy' : 'webhook',
        route: '/of/a/test',
      } as const
      const act = new Act(kind, { type: 'application', id: ids[name] }, `trace-of-${name}`)
      act.ends(isOne ? 200 : 403, isOne ? 'allowed' : 'denied')
      act.says({ entityId: `entity-${name}` })
      act.touches({ id: `token-${name}`, containers: ['/a/'] }, 'token:read')
      acts.note(owner, act)
    }
    note('one')
    const oneAt = new Date(vault().now).toISOString()
    note('two')
    const twoAt = new Date(vault().now).toISOString()
    await acts.flush()
    const operations = async (query: string): Promise<string[]> =>
      (await logPages(vault(), keys.manager, query))
        .flat()
        .map(({ operation }) => operation)
        .filter(operation => operation.startsWith('operation-'))
    const one = ['operation-one']
    const two = ['operation-two']
    for (const [query, expected] of [
      ['', [...two, ...one]],
      ['entity_type=proxy', one],
      ['entity_type=report', []],
      ['entity_id=entity-one', one],
      ['actor_id=019ac000-0000-7000-8000-000000000002', two],
      ['operation=operation-one', one],
      ['result=denied', two],
      ['trace_id=trace-of-one', one],
      ['token_id=token-two', two],
      ['token_id=entity-one', []],
      [`start_date=${twoAt}`, two],
      [`start_date=${oneAt}`, [...two, ...one]],
      [`end_date=${twoAt}`, one],
      [`end_date=${oneAt}`, []],
      [`start_date=${oneAt}&end_date=${twoAt}&result=allowed`, one],
      ['entity_type=proxy&result=denied', []],
    ] as const)
      assert.deepEqual(await operations(query), expected, query)
  })

  test('a refused request is found by the token that it was about (L1.13, L5.2)', async () => {
    const { keys } = await newTenant(vault())
    const blind = await vault().post('/applications', keys.manager, {
      name: 'elsewhere',
      type: 'private',
      rules: [{ priority: 1, container: '/elsewhere/', transform: 'mask', permissions: ['token:read'] }],
    })
    const { id } = await vault().create(keys.owner, text)
    assert.equal((await vault().get(`/tokens/${id}`, granted(blind).key)).status, 404)
    await vault().service.vault.acts.flush()
    const found = (await logPages(vault(), keys.manager, `token_id=${id}&result=denied`)).flat()
    assert.deepEqual(
      found.map(({ operation, entity_id: entity }) => [operation, entity]),
      [['getToken', id]],
    )
  })

  test('a tenant reads nothing of another, nor goes on with its cursors (L5.11)', async () => {
    const ours = await newTenant(vault())
    const theirs = await newTenant(vault())
    for (const { keys } of [ours, theirs])
      for (let index = 0; index < 3; index++) await vault().create(keys.owner, text)
    const records = (await logPages(vault(), ours.keys.manager, 'size=2')).flat()
    assert.ok(records.length >= 4)
    assert.ok(records.every(({ tenant_id: tenant }) => tenant === ours.tenantId))
    const { pagination } = granted(await vault().get('/logs?size=1', ours.keys.manager))
    const { next } = await exported(vault(), ours.keys.manager)
    for (const path of [`/logs?start=${pagination.next}`, `/logs/export?start=${next}`]) {
      const reply = await vault().get(path, theirs.keys.manager)
      assert.equal(reply.status, 400)
      assert.deepEqual(Object.keys(reply.body.errors), ['start'])
    }
  })

  test('reading the log is recorded, with the names of its filters (L1.1, L2.7)', async () => {
    const { keys } = await newTenant(vault())
    await vault().get('/logs?entity_type=token&token_id=a-token', keys.manager)
    await vault().get('/logs/entity-types', keys.manager)
    await vault().service.vault.acts.flush()
    const records = (await logPages(vault(), keys.manager, 'entity_type=log')).flat()
    assert.deepEqual(
      records.map(({ operation, query }) => [operation, query]),
      [
        ['listLogEntityTypes', undefined],
        ['listLogs', { fields: ['entity_type', 'token_id'], operators: [] }],
      ],
    )
  })

  test('lists and searches are recorded with fields and operators, never with keys or values (L2.7)', async () => {
    const { keys } = await newTenant(vault())
    const card = 'container:/a/* AND (metadata.secret:x OR NOT data:y) created_at:[2026-01-01 TO *]'
    granted(await vault().get('/tokens?id=a&metadata.secret=x&metadata.other=y&type=card', keys.owner))
    granted(await vault().get('/v2/tokens?container=/a/&fingerprint=x', keys.owner))
    granted(await vault().get('/tokens', keys.owner))
    granted(await vault().post('/tokens/search', keys.owner, { query: card }))
    granted(await vault().post('/v2/tokens/search', keys.owner, { query: 'id:x' }))
    await vault().service.vault.acts.flush()
    const records = (await logPages(vault(), keys.manager, 'entity_type=token')).flat().toReversed()
    assert.deepEqual(
      records.map(({ operation, query }) => [operation, query]),
      [
        ['listTokens', { fields: ['id', 'type', 'metadata.*'], operators: [] }],
        ['listTokensByCursor', { fields: ['container', 'fingerprint'], operators: [] }],
        ['listTokens', undefined],
        [
          'searchTokens',
          {
            fields: ['container', 'metadata.*', 'data', 'created_at'],
            operators: ['AND', 'wildcard', 'OR', 'NOT', 'range'],
          },
        ],
        ['searchTokensByCursor', { fields: ['id'], operators: [] }],
      ],
    )
  })

  test('no page and no export holds a value, a metadata value, a key or its text (L2.11)', async () => {
    const { keys } = await newTenant(vault())
    const canaries = [
      'Canary Value',
      'canary-metadata',
      'canary-key',
      'canary@example.com',
      '4111111111111111',
    ]
    const token = {
      ...text,
      metadata: { 'canary-key': 'canary-metadata' },
      search_indexes: ['{{ data }}'],
    }
    const { id } = await vault().create(keys.owner, token)
    await vault().get(`/tokens/${id}`, keys.owner)
    await vault().get('/tokens?metadata.canary-key=canary-metadata&fingerprint=4111111111111111', keys.owner)
    for (const path of ['/tokens/search', '/v2/tokens/search'])
      granted(
        await vault().post(path, keys.owner, {
          query: 'metadata.canary-key:canary-metadata OR data:"canary@example.com"',
        }),
      )
    await vault().get('/tokens/4111111111111111', keys.owner)
    await vault().get('/logs?trace_id=4111111111111111&operation=canary-key', keys.manager)
    await vault().service.vault.acts.flush()
    const page = await vault().get('/logs?size=1000', keys.manager)
    const export_ = await vault().get('/logs/export', keys.manager)
    const key = String(keys.owner)
    assertAbsent({ page: page.text, export: export_.text }, [...canaries, key, key.slice(4)])
    assert.ok(page.text.includes('searchTokensByCursor'))
  })

  test('what the log is about is listed by value and name (L5.7)', async () => {
    const { keys } = await newTenant(vault())
    const types = granted(await vault().get('/logs/entity-types', keys.manager))
    assert.deepEqual(
      types.map(({ value }: { value: string }) => value),
      entityTypes,
    )
    assert.equal(types[0].display_name, 'Token')
  })

  test('a cursor outlives a restart, and takes another size (L5.3)', async () => {
    const { keys, tenantId } = await newTenant(vault())
    for (let index = 0; index < 3; index++) await vault().create(keys.owner, text)
    const { pagination } = granted(await vault().get('/logs?size=1', keys.manager))
    await vault().restart()
    const rest = granted(await vault().get(`/logs?size=1000&start=${pagination.next}`, keys.manager))
    const whole = await recordsOfTenant(vault().service.vault, tenantId)
    assert.deepEqual(
      inSequence(rest.data.map(recordOf)).map(lineOf),
      inSequence(whole)
        .filter(({ operation }) => operation !== 'listLogs')
        .slice(0, -1)
        .map(lineOf),
    )
  })
})

onSqliteAlone('pages of the log', 'storage is only read', vault => {
  const faults: readonly [query: string, path: string, says: RegExp][] = [
    ['entity_typ=token', 'entity_typ', /did you mean entity_type\?/],
    ['entity_type=tokens', 'entity_type', /must be one of token, .*did you mean token\?/],
    ['result=refused', 'result', /must be one of allowed, denied, failed/],
    ['start_date=yesterday', 'start_date', /must be a date like/],
    ['end_date=', 'end_date', /must be a date like/],
    ['size=0', 'size', /from 1 to 1000/],
    ['size=1001', 'size', /from 1 to 1000/],
    ['size=x', 'size', /whole number/],
    ['page=2', 'page', /is not a known query parameter/],
    ['trace_id=a&trace_id=b', 'trace_id', /must not be repeated/],
    ['start=AAAA', 'start', /is not a cursor/],
  ]
  for (const [query, path, says] of faults)
    test(`${query} is refused with the parameter's name (L5.2, C6.3, C6.5)`, async () => {
      const { keys } = await newTenant(vault())
      const reply = await vault().get(`/logs?${query}`, keys.manager)
      assert.equal(reply.status, 400)
      assert.deepEqual(Object.keys(reply.body.errors), [path])
      assert.match(reply.body.errors[path][0], says)
    })

  test('an export takes a size beyond that of a page, and refuses what is none (L5.8)', async () => {
    const { keys } = await newTenant(vault())
    for (const [size, status] of [
      ['1001', 200],
      ['0', 400],
      ['all', 400],
    ])
      assert.equal((await vault().get(`/logs/export?size=${size}`, keys.manager)).status, status)
  })

  test('a cursor is valid only for its filters and its kind, and only as it was made (L5.3, L5.8)', async () => {
    const { keys } = await newTenant(vault())
    for (let index = 0; index < 3; index++) await vault().create(keys.owner, text)
    const { pagination } = granted(await vault().get('/logs?size=1&entity_type=token', keys.manager))
    const start = pagination.next
    const { next } = await exported(vault(), keys.manager, 'entity_type=token')
    const status = async (path: string): Promise<number> => (await vault().get(path, keys.manager)).status
    assert.equal(await status(`/logs?entity_type=token&start=${start}`), 200)
    assert.equal(await status(`/logs/export?entity_type=token&start=${next}`), 200)
    for (const path of [
      `/logs?start=${start}`,
      `/logs?entity_type=key&start=${start}`,
      `/logs?entity_type=token&result=allowed&start=${start}`,
      `/logs?entity_type=token&start=${next}`,
      `/logs/export?entity_type=token&start=${start}`,
      `/logs?entity_type=token&start=${start}~`,
      `/logs?entity_type=token&start=${start.slice(0, -1)}`,
    ])
      assert.equal(await status(path), 400, path)
  })

  test('a page examines a bounded number of records, so it may be empty and have a next (L5.5)', async () => {
    const { keys, owner } = await newTenant(vault())
    const { acts } = vault().service.vault
    const kind = { operation: 'something', entityType: 'report' } as const
    for (let index = 0; index < pace.logPageRecords + 10; index++)
      acts.note(owner, new Act(kind, { type: 'job' }, 'a-trace-of-a-test'))
    await acts.flush()
    const pages = await logPages(vault(), keys.manager, 'entity_type=tenant')
    assert.deepEqual(
      pages.map(page => page.map(({ operation }) => operation)),
      [[], ['tenant create']],
    )
  })

  test('a page ends early where its records are long (L5.5)', async () => {
    const { keys, owner } = await newTenant(vault())
    const { acts } = vault().service.vault
    const kind = { operation: 'something', entityType: 'report' } as const
    for (let index = 0; index < 100; index++) {
      const act = new Act(kind, { type: 'job' }, 'a-trace-of-a-test')
      for (let token = 0; token < 500; token++)
        act.touches({ id: `token-${index}-${token}`, containers: ['/a/'] }, 'token:read')
      acts.note(owner, act)
    }
    await acts.flush()
    const pages = await logPages(vault(), keys.manager, 'operation=something')
    assert.ok(pages.length > 1)
    assert.equal(pages.flat().length, 100)
    for (const page of pages) assert.ok(JSON.stringify(page).length < 2 * pace.pageBatchBytes)
  })

  test('dates far apart are found without opening what lies between (L5.2)', async () => {
    const { keys, owner } = await newTenant(vault())
    const { vault: inner } = vault().service
    const begun = vault().now
    const dayMs = 86_400_000
    const days = 60
    for (let day = 0; day < days; day++) {
      vault().now = begun + day * dayMs
      const act = new Act(
        { operation: `day-${day}`, entityType: 'report' },
        { type: 'job' },
        'a-trace-of-a-test',
      )
      inner.acts.note(owner, act)
      await inner.acts.flush()
    }
    const { open } = inner.acts
    let opened = 0
    inner.acts.open = (...args) => {
      opened++
      return open.apply(inner.acts, args)
    }
    try {
      const of = (day: number): string => new Date(begun + day * dayMs).toISOString()
      const query = `start_date=${of(20)}&end_date=${of(23)}`
      const pages = await logPages(vault(), keys.manager, query)
      assert.deepEqual(
        pages.flat().map(({ operation }) => operation),
        ['day-22', 'day-21', 'day-20'],
      )
      assert.equal(pages.length, 1)
      const { records } = await exported(vault(), keys.manager, query)
      assert.deepEqual(
        records.map(({ operation }) => operation),
        ['day-20', 'day-21', 'day-22'],
      )
      assert.equal(opened, 6)
    } finally {
      inner.acts.open = open
    }
  })
})
