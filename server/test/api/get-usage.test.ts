import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sweepExpired } from '../../src/operations/maintenance/sweep-expired.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onOneEngine } from '../rig/every-engine.ts'

const players = {
  ...ownerAndManager,
  reporter: { type: 'management', permissions: ['report:read'] },
  masked: { permissions: ['token:read'] },
  redacted: {
    rules: [{ priority: 1, container: '/', transform: 'redact', permissions: ['token:read'] }],
  },
  elsewhere: {
    rules: [{ priority: 1, container: '/elsewhere/', transform: 'reveal', permissions: ['token:read'] }],
  },
  writer: { permissions: ['token:create', 'token:update', 'token:delete'] },
} as const

const card = (number = '4242424242424242') => ({ type: 'card', data: { number } })
const text = (data = 'a value') => ({ type: 'token', data })
const instant = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00')
const march = Date.parse('2026-03-31T23:59:59.999Z')
const april = Date.parse('2026-04-01T00:00:00.000Z')

onOneEngine('get the usage report', 'every store counts as its contract says', vault => {
  type Keys = Record<keyof typeof players, string>
  const start = async (now = Date.parse('2026-03-01T12:00:00Z')): Promise<Keys> => {
    vault().now = now
    return (await vault().tenant(players)).keys
  }
  const report = async (keys: Keys) =>
    granted(await vault().get('/tenants/self/reports/usage', keys.reporter)).token_report
  const active = async (keys: Keys): Promise<number> => (await report(keys)).monthly_active_tokens
  const counts = async (keys: Keys): Promise<Record<string, number>> =>
    Object.fromEntries(
      Object.entries<{ count: number }>((await report(keys)).metrics_by_type).map(([type, { count }]) => [
        type,
        count,
      ]),
    )
  const create = async (keys: Keys, body: object): Promise<string> =>
    granted(await vault().post('/tokens', keys.writer, body)).id

  test('the report of a tenant without tokens is empty (§4.10.2, §2.5.1, §2.5.5, §8.7, C32.4)', async () => {
    const reply = await vault().get('/tenants/self/reports/usage', (await start()).reporter)
    assert.equal(reply.status, 200)
    assert.deepEqual(reply.body, {
      token_report: { metrics_by_type: {}, included_monthly_active_tokens: 0, monthly_active_tokens: 0 },
    })
  })

  test('the report needs report:read (§4.10.1, §5.11)', async () => {
    const { keys } = await vault().tenant({
      ...ownerAndManager,
      other: { type: 'management', permissions: ['tenant:read', 'tenant:update', 'application:read'] },
    })
    for (const key of [keys.other, keys.owner])
      assert.equal((await vault().get('/tenants/self/reports/usage', key)).status, 403)
    assert.equal((await vault().send('GET', '/tenants/self/reports/usage')).status, 401)
    assert.equal((await vault().get('/tenants/self/reports/usage?month=3', keys.manager)).status, 400)
  })

  test('the report shows each type with its count and its latest creation (§2.5.2, §2.5.3, §2.5.4, C32.1, C5.5)', async () => {
    const keys = await start()
    const first = vault().now
    await create(keys, text())
    await create(keys, card())
    vault().now += 1_500
    await create(keys, card())
    vault().now += 1_500
    await create(keys, { type: 'bank', data: { routing_number: '021000021', account_number: '1' } })
    assert.deepEqual(await report(keys), {
      metrics_by_type: {
        token: { count: 1, last_created_at: instant(first) },
        card: { count: 2, last_created_at: instant(first + 1_500) },
        bank: { count: 1, last_created_at: instant(first + 3_000) },
      },
      included_monthly_active_tokens: 0,
      monthly_active_tokens: 4,
    })
  })

  /** Starting from one token of type `token`: what is done, and how its count and the month's change. */
  const moves: readonly {
    name: string
    by: [count: number, active: number]
    act: (keys: Keys, id: string) => Promise<unknown>
  }[] = [
    { name: 'a create', by: [1, 1], act: keys => create(keys, text()) },
    {
      name: 'a tokenize of three values',
      by: [3, 3],
      act: keys =>
        vault().post('/tokenize', keys.writer, { a: 'x', b: [1, { ...text(), id: 'third' }], c: null }),
    },
    {
      name: 'a tokenize of two equal values that are deduplicated',
      by: [1, 1],
      act: keys => {
        const equal = { ...text('another'), deduplicate_token: true }
        return vault().post('/tokenize', keys.writer, [equal, equal])
      },
    },
    {
      name: 'a create that hits a duplicate',
      by: [0, 0],
      act: async keys => {
        const met = await vault().post('/tokens', keys.writer, { ...text(), deduplicate_token: true })
        assert.equal(granted(met)._extras.deduplicated, true)
      },
    },
    {
      name: 'a refused create',
      by: [0, 0],
      act: async keys => {
        assert.equal((await vault().post('/tokens', keys.writer, { type: 'token', data: null })).status, 400)
      },
    },
    {
      name: 'a tokenize with a refused element',
      by: [0, 0],
      act: async keys => {
        const reply = await vault().post('/tokenize', keys.writer, ['x', { type: 'card', data: {} }])
        assert.equal(reply.status, 400)
      },
    },
    {
      name: 'a create with a taken id',
      by: [0, 0],
      act: async (keys, id) => {
        assert.equal((await vault().post('/tokens', keys.writer, { ...text(), id })).status, 409)
      },
    },
    {
      name: 'an update',
      by: [0, 0],
      act: (keys, id) => vault().patch(`/tokens/${id}`, keys.writer, { data: 'x' }),
    },
    {
      name: 'a move to other containers',
      by: [0, 0],
      act: (keys, id) => vault().patch(`/tokens/${id}`, keys.owner, { containers: ['/x/', '/y/'] }),
    },
    { name: 'a delete', by: [-1, 0], act: (keys, id) => vault().delete(`/tokens/${id}`, keys.writer) },
    {
      name: 'a delete sent twice at once',
      by: [-1, 0],
      act: (keys, id) =>
        Promise.all([
          vault().delete(`/tokens/${id}`, keys.writer),
          vault().delete(`/tokens/${id}`, keys.owner),
        ]),
    },
    {
      name: 'a delete followed by a new token with the same id',
      by: [0, 1],
      act: async (keys, id) => {
        await vault().delete(`/tokens/${id}`, keys.writer)
        await create(keys, { ...text(), id })
      },
    },
    {
      name: 'a read in the month of its creation',
      by: [0, 0],
      act: (keys, id) => vault().get(`/tokens/${id}`, keys.owner),
    },
  ]
  for (const { name, by, act } of moves)
    test(`${name} changes the count by ${by[0]} and the monthly count by ${by[1]} (§2.5.3, §2.5.6, C32.2, C32.3)`, async () => {
      const keys = await start()
      const id = await create(keys, text())
      await act(keys, id)
      const after = await report(keys)
      assert.deepEqual(
        [after.metrics_by_type.token.count, after.monthly_active_tokens],
        [1 + by[0], 1 + by[1]],
      )
      await vault().service.jobTimer.runAll()
      assert.deepEqual(await report(keys), after, 'the job timer changes nothing')
    })

  test('a token is counted until the millisecond of its expiry, swept or not (C32.1, C17.5)', async () => {
    const keys = await start()
    await create(keys, text())
    await create(keys, { ...text(), expires_at: instant(vault().now + 1_000) })
    await create(keys, { ...card(), expires_at: instant(vault().now + 1_000) })
    vault().now += 999
    assert.deepEqual(await counts(keys), { token: 2, card: 1 })
    vault().now += 1
    assert.deepEqual(await counts(keys), { token: 1, card: 0 }, 'a type that once had a token stays')
    await vault().service.jobTimer.runAll()
    assert.deepEqual(await counts(keys), { token: 1, card: 0 })
    assert.equal(await active(keys), 3, 'all were active this month')
  })

  test('setting or removing an expiry changes when a token stops counting (C32.1, C18.1)', async () => {
    const keys = await start()
    const [soon, never] = [await create(keys, text()), await create(keys, text())]
    const expires_at = instant(vault().now + 1_000)
    granted(await vault().patch(`/tokens/${soon}`, keys.writer, { expires_at }))
    granted(await vault().patch(`/tokens/${never}`, keys.writer, { expires_at }))
    granted(await vault().patch(`/tokens/${never}`, keys.writer, { expires_at: null }))
    vault().now += 1_000
    assert.deepEqual(await counts(keys), { token: 1 })
    await vault().service.jobTimer.runAll()
    assert.deepEqual(await counts(keys), { token: 1 })
  })

  test('the latest creation is still shown after the token is deleted (§2.5.4)', async () => {
    const keys = await start()
    const at = instant(vault().now)
    const id = await create(keys, card())
    vault().now += 5_000
    await vault().delete(`/tokens/${id}`, keys.writer)
    assert.deepEqual((await report(keys)).metrics_by_type, { card: { count: 0, last_created_at: at } })
  })

  test('a month begins and ends in UTC, to the millisecond (C32.2)', async () => {
    const keys = await start(march)
    await create(keys, text())
    assert.equal(await active(keys), 1)
    vault().now = april
    assert.equal(await active(keys), 0)
    assert.deepEqual(await counts(keys), { token: 1 }, 'the token itself stays')
    await create(keys, text())
    assert.equal(await active(keys), 1)
    vault().now = march
    assert.equal(await active(keys), 1, 'the count of the old month is kept')
  })

  /** Three tokens from last month: what is done this month, and how many of them then count. */
  const uses: readonly {
    name: string
    counts: number
    act: (keys: Keys, ids: string[]) => Promise<unknown>
  }[] = [
    { name: 'a get', counts: 1, act: (keys, [id]) => vault().get(`/tokens/${id}`, keys.owner) },
    {
      name: 'a get repeated by several callers',
      counts: 1,
      act: async (keys, [id]) => {
        for (const who of ['owner', 'masked', 'redacted', 'owner'] as const)
          for (let again = 0; again < 3; again++) granted(await vault().get(`/tokens/${id}`, keys[who]))
      },
    },
    {
      name: 'a get repeated with a report after each',
      counts: 1,
      act: async (keys, [id]) => {
        for (let again = 0; again < 3; again++) {
          granted(await vault().get(`/tokens/${id}`, keys.owner))
          assert.equal(await active(keys), 1)
        }
      },
    },
    {
      name: 'a get sent twenty times at once',
      counts: 1,
      act: (keys, [id]) =>
        Promise.all(Array.from({ length: 20 }, () => vault().get(`/tokens/${id}`, keys.owner))),
    },
    { name: 'a list', counts: 3, act: keys => vault().get('/tokens', keys.masked) },
    {
      name: 'a get followed by a list',
      counts: 3,
      act: async (keys, [id]) => {
        await vault().get(`/tokens/${id}`, keys.owner)
        await vault().get('/tokens', keys.owner)
      },
    },
    { name: 'a page of two', counts: 2, act: keys => vault().get('/tokens?size=2', keys.owner) },
    { name: 'a page past the end', counts: 0, act: keys => vault().get('/tokens?page=9', keys.owner) },
    { name: 'a list by id', counts: 1, act: (keys, [, id]) => vault().get(`/tokens?id=${id}`, keys.owner) },
    { name: 'a list of another type', counts: 0, act: keys => vault().get('/tokens?type=card', keys.owner) },
    { name: 'a page by cursor', counts: 2, act: keys => vault().get('/v2/tokens?size=2', keys.masked) },
    {
      name: 'a search',
      counts: 3,
      act: keys => vault().post('/tokens/search', keys.owner, { query: 'type:token' }),
    },
    {
      name: 'a search that shows one of three',
      counts: 1,
      act: keys => vault().post('/tokens/search', keys.owner, { query: 'type:token', size: 1 }),
    },
    {
      name: 'a read of what the caller may not see',
      counts: 0,
      act: async (keys, [id]) => {
        assert.equal((await vault().get(`/tokens/${id}`, keys.elsewhere)).status, 404)
        assert.equal((await vault().get('/tokens', keys.elsewhere)).body.data.length, 0)
        assert.equal((await vault().get(`/tokens/${id}`, keys.writer)).status, 403)
      },
    },
    {
      name: 'an update',
      counts: 0,
      act: async (keys, [id]) => granted(await vault().patch(`/tokens/${id}`, keys.owner, { data: 'x' })),
    },
    {
      name: 'a delete',
      counts: 0,
      act: async (keys, [id]) => granted(await vault().delete(`/tokens/${id}`, keys.owner)),
    },
    {
      name: 'a get followed by an update and a delete',
      counts: 1,
      act: async (keys, [id]) => {
        granted(await vault().get(`/tokens/${id}`, keys.owner))
        granted(await vault().patch(`/tokens/${id}`, keys.owner, { data: 'x' }))
        granted(await vault().delete(`/tokens/${id}`, keys.owner))
      },
    },
    {
      name: 'an update followed by a get',
      counts: 1,
      act: async (keys, [id]) => {
        granted(await vault().patch(`/tokens/${id}`, keys.owner, { data: 'x' }))
        granted(await vault().get(`/tokens/${id}`, keys.owner))
      },
    },
  ]
  for (const { name, counts, act } of uses)
    test(`${name} makes ${counts} of last month's tokens active (§2.5.6, C32.2)`, async () => {
      const keys = await start(march)
      const ids = [
        await create(keys, text('a')),
        await create(keys, text('b')),
        await create(keys, text('c')),
      ]
      vault().now = april
      await act(keys, ids)
      assert.equal(await active(keys), counts)
      vault().now = march
      assert.equal(await active(keys), 3, 'last month stays as it was')
    })

  test('a read counts in the month of the read, however late it is recorded (C32.2, C32.3)', async () => {
    const keys = await start(march - 86_400_000 * 31)
    const id = await create(keys, text())
    vault().now = march
    granted(await vault().get(`/tokens/${id}`, keys.owner))
    vault().now = april
    granted(await vault().get(`/tokens/${id}`, keys.owner))
    assert.equal(await active(keys), 1)
    vault().now = march
    assert.equal(await active(keys), 1)
  })

  test('a read counts even if the token expires and is swept or replaced right afterwards (C32.2, C17.6)', async () => {
    const keys = await start(march - 86_400_000 * 31)
    const read = march - 10_000
    const expires_at = instant(read + 1_000)
    const swept = await create(keys, { ...text(), expires_at })
    const later = instant(read + 2_000)
    const replaced = await create(keys, { ...text(), expires_at: later, id: 'taken-again' })
    vault().now = read
    granted(await vault().get(`/tokens/${swept}`, keys.owner))
    vault().now += 1_000
    await sweepExpired(vault().service.vault)
    granted(await vault().get(`/tokens/${replaced}`, keys.owner))
    vault().now += 1_000
    await create(keys, { ...text(), id: replaced })
    assert.equal(await active(keys), 3)
  })

  test('counts and activity survive a restart (C32.3, C34.7)', async () => {
    const keys = await start(march)
    const ids = [await create(keys, text()), await create(keys, text())]
    vault().now = april
    granted(await vault().get(`/tokens/${ids[0]}`, keys.owner))
    await create(keys, card())
    await vault().restart()
    assert.equal(await active(keys), 2)
    assert.deepEqual(await counts(keys), { token: 2, card: 1 })
    granted(await vault().get(`/tokens/${ids[0]}`, keys.owner))
    assert.equal(await active(keys), 2, 'nor is it counted again')
  })

  test('two reports at once both show the reads before them (C27.1, C32.2)', async () => {
    const keys = await start(march)
    const id = await create(keys, text())
    vault().now = april
    granted(await vault().get(`/tokens/${id}`, keys.owner))
    const gate = commitGate(vault())
    const first = active(keys)
    await gate.waiting(1)
    const second = active(keys)
    // This later request has been answered, so the second report has had its chance to be early.
    granted(await vault().get('/permissions', keys.reporter))
    gate.open()
    assert.deepEqual(await Promise.all([first, second]), [1, 1])
  })

  test('activity is not lost when storage fails, and a failed create is not counted (C32.3, §4.10.3, C2.23)', async () => {
    const keys = await start(march)
    const id = await create(keys, text())
    vault().now = april
    granted(await vault().get(`/tokens/${id}`, keys.owner))
    const { commit } = vault().store
    vault().store.commit = () => Promise.reject(new StoreUnavailableError('down'))
    assert.equal((await vault().post('/tokens', keys.writer, text())).status, 503)
    const failed = await vault().get('/tenants/self/reports/usage', keys.reporter)
    assert.equal(failed.status, 503)
    assert.equal(failed.headers.get('retry-after'), '1')
    vault().store.commit = commit
    assert.equal(await active(keys), 1)
    assert.deepEqual(await counts(keys), { token: 1 })
  })

  test('more active tokens than fit in one write are all counted (C32.2)', async () => {
    const keys = await start(march)
    granted(
      await vault().post(
        '/tokenize',
        keys.writer,
        Array.from({ length: 620 }, (_, at) => `${at}`),
      ),
    )
    vault().now = april
    for (let page = 1; page <= 7; page++)
      granted(await vault().get(`/tokens?size=100&page=${page}`, keys.owner))
    assert.equal(await active(keys), 620)
  })

  test('each tenant counts only its own tokens (C31.9)', async () => {
    const [ours, theirs] = [await start(march), await start(march)]
    const id = await create(theirs, text())
    vault().now = april
    granted(await vault().get(`/tokens/${id}`, theirs.owner))
    assert.deepEqual(await counts(ours), {})
    assert.equal(await active(ours), 0)
    assert.equal(await active(theirs), 1)
  })
})
