import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyTenant } from '../../src/operations/verify/verify-tenant.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { countTokens } from '../rig/scenario.ts'
import { storedRows } from '../rig/stored-rows.ts'
import { devApplications, owner } from '../rig/test-vault.ts'

type Keys = Record<keyof typeof ownerAndManager, string>

const first = {
  type: 'token',
  data: 'Sensitive Value',
  mask: '{{ data | reveal_last: 4 }}',
  metadata: { made: 'first' },
  deduplicate_token: true,
}

/** A second create: does it return the first token? */
const seconds: readonly { name: string; first?: object; second: object; isSame: boolean }[] = [
  { name: 'the same value (C15.1, §4.2.10)', second: {}, isSame: true },
  { name: 'without the flag (C15.1)', second: { deduplicate_token: false }, isSame: false },
  { name: 'with the flag left out (C15.1)', second: { deduplicate_token: null }, isSame: false },
  {
    name: 'a first token created without the flag (C15.3)',
    first: { deduplicate_token: false },
    second: { deduplicate_token: true },
    isSame: true,
  },
  { name: 'another value (C15.3)', second: { data: 'Another Value' }, isSame: false },
  {
    name: 'another JSON type (C15.3)',
    first: { data: '8', mask: null },
    second: { data: 8, mask: null },
    isSame: false,
  },
  {
    name: 'different metadata, mask, indexes and expiry (C15.3)',
    second: {
      metadata: { made: 'second' },
      mask: 'm',
      search_indexes: ['{{ data }}'],
      expires_at: '2031-01-01',
    },
    isSame: true,
  },
  {
    name: 'another expression that renders the same (C15.3)',
    second: { fingerprint_expression: '{{ data }}' },
    isSame: false,
  },
  {
    name: 'the same expression (C15.3)',
    first: { fingerprint_expression: '{{ data | upcase }}' },
    second: { fingerprint_expression: '{{ data | upcase }}', data: 'SENSITIVE VALUE' },
    isSame: true,
  },
  {
    name: 'the default expression, written out (C15.3)',
    second: { fingerprint_expression: '{{ data | stringify }}' },
    isSame: true,
  },
  { name: 'another container (C15.3)', second: { containers: ['/other/'] }, isSame: false },
  {
    name: 'one container more (C15.3)',
    second: { containers: ['/general/high/', '/other/'] },
    isSame: false,
  },
  {
    name: 'the default container, written out in another letter case (C15.3)',
    second: { containers: ['/General/High/'] },
    isSame: true,
  },
  {
    name: 'the same containers in another order (C15.3)',
    first: { containers: ['/a/', '/b/'] },
    second: { containers: ['/b/', '/a/'] },
    isSame: true,
  },
  { name: 'an id of its own (C15.4)', second: { id: 'second-id' }, isSame: true },
  {
    name: 'the id of the match itself (C15.4)',
    first: { id: 'first-id' },
    second: { id: 'first-id' },
    isSame: true,
  },
  {
    name: 'another type (C15.3)',
    first: { data: '021000021' },
    second: { type: 'us_bank_routing_number', data: '021000021' },
    isSame: false,
  },
]

onEveryEngine('deduplication', (vault, aboveStorage) => {
  aboveStorage(() => {
    for (const { name, first: change = {}, second, isSame } of seconds)
      test(`${name}: ${isSame ? 'the first token comes back' : 'a new token is created'}`, async () => {
        const { keys } = await vault().tenant({ owner })
        const one = await vault().create(keys.owner, { ...first, ...change })
        vault().now += 1_000
        const before = (await vault().get(`/tokens/${one.id}`, keys.owner)).text
        const reply = await vault().post('/tokens', keys.owner, { ...first, ...change, ...second })
        assert.equal(reply.status, 201, reply.text)
        assert.equal(reply.body.id === one.id, isSame)
        assert.deepEqual(reply.body._extras, { deduplicated: isSame })
        assert.equal(reply.headers.get('location'), `/tokens/${reply.body.id}`)
        assert.equal(await countTokens(vault(), keys.owner), isSame ? 1 : 2)
        // C15.5: whatever was sent, the existing token is unchanged.
        assert.equal((await vault().get(`/tokens/${one.id}`, keys.owner)).text, before)
      })

    test('a caller who may read gets the existing token, under its mask (C15.5, C15.6, C12.2, C1.2)', async () => {
      const { keys } = await vault().tenant({ owner })
      const { _extras, ...one } = await vault().create(keys.owner, first)
      assert.deepEqual(_extras, { deduplicated: false })
      const again = await vault().post('/tokens', keys.owner, { ...first, metadata: { made: 'second' } })
      assert.equal(again.status, 201)
      assert.deepEqual(again.body, { ...one, _extras: { deduplicated: true } })
      assert.equal(again.body.data, 'XXXXXXXXXXXalue')
      assert.deepEqual(again.body.metadata, { made: 'first' })
    })

    test('a caller who may not read learns that the token exists, and no more (C15.7, §4.5.14)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const one = await vault().create(keys.general, {
        ...first,
        search_indexes: ['{{ data }}'],
        expires_at: '2031-01-01',
      })
      const again = await vault().create(keys.general, first)
      const { id, type, tenant_id, fingerprint, containers, created_by, created_at } = one
      assert.deepEqual(again, {
        ...{ id, type, tenant_id, fingerprint, containers, created_by, created_at },
        _extras: { deduplicated: true },
      })
    })
  })

  test('the tenant setting applies where the flag is absent (C15.1)', async () => {
    const { keys } = await vault().tenant({ owner }, { deduplicateTokens: true })
    const body = { type: 'token', data: 'x' }
    const one = await vault().create(keys.owner, body)
    assert.equal((await vault().create(keys.owner, body)).id, one.id)
    assert.equal((await vault().create(keys.owner, { ...body, deduplicate_token: null })).id, one.id)
    assert.notEqual((await vault().create(keys.owner, { ...body, deduplicate_token: false })).id, one.id)
    assert.equal(await countTokens(vault(), keys.owner), 2)
  })

  aboveStorage(() => {
    test('for a public application only the tenant setting applies (C15.2)', async () => {
      const applications = {
        owner,
        public: { type: 'public', permissions: ['token:create', 'token:update'] },
      } as const
      for (const deduplicateTokens of [true, false]) {
        const { keys } = await vault().tenant(applications, { deduplicateTokens })
        const one = await vault().create(keys.owner, { ...first, deduplicate_token: false })
        const two = await vault().create(keys.public, { ...first, deduplicate_token: !deduplicateTokens })
        assert.equal(two.id === one.id, deduplicateTokens)
      }
    })
  })

  test('the oldest of several matches wins (C15.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    const ids: string[] = []
    for (let at = 0; at < 3; at++) {
      ids.push((await vault().create(keys.owner, { ...first, deduplicate_token: false })).id)
      vault().now += 1
    }
    assert.equal((await vault().create(keys.owner, first)).id, ids[0])
    await vault().delete(`/tokens/${ids[0]}`, keys.owner)
    assert.equal((await vault().create(keys.owner, first)).id, ids[1])
  })

  test('a match wins over a taken literal id, and only a match does (C15.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    await vault().create(keys.owner, { id: 'taken', type: 'token', data: 'something else' })
    const one = await vault().create(keys.owner, first)
    const again = await vault().create(keys.owner, { ...first, id: 'taken' })
    assert.equal(again.id, one.id)
    const other = { ...first, id: 'taken', data: 'a third value' }
    assert.equal((await vault().post('/tokens', keys.owner, other)).status, 409)
  })

  test('a match wins over its taken id in a tokenize that also brings the id of an expired token (C15.4, C17.4, C23.5)', async () => {
    const { keys } = await vault().tenant({ owner })
    const customer = { ...first, id: 'customer' }
    const session = { id: 'session', type: 'token', data: 'new session' }
    await vault().create(keys.owner, customer)
    const expires_at = new Date(vault().now + 1_000).toISOString()
    await vault().create(keys.owner, { ...session, data: 'old session', expires_at })
    vault().now += 1_000
    const other = { ...customer, data: 'another value' }
    assert.equal((await vault().post('/tokenize', keys.owner, [other, session])).status, 409)
    assert.equal(await countTokens(vault(), keys.owner), 1)
    const reply = await vault().post('/tokenize', keys.owner, [customer, session])
    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual(
      reply.body.map(({ id, _extras }: { id: string; _extras: object }) => [id, _extras]),
      [
        ['customer', { deduplicated: true }],
        ['session', { deduplicated: false }],
      ],
    )
    assert.equal(await countTokens(vault(), keys.owner), 2)
  })

  test('equal elements under the id of an expired token make one token (C15.10, C17.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    const expires_at = new Date(vault().now + 1_000).toISOString()
    await vault().create(keys.owner, { id: 'shared', type: 'token', data: 'old', expires_at })
    vault().now += 1_000
    const element = { ...first, id: 'shared' }
    const reply = await vault().post('/tokenize', keys.owner, [element, element])
    assert.equal(reply.status, 200, reply.text)
    assert.deepEqual(
      reply.body.map(({ id, _extras }: { id: string; _extras: object }) => [id, _extras]),
      [
        ['shared', { deduplicated: false }],
        ['shared', { deduplicated: true }],
      ],
    )
    assert.equal(await countTokens(vault(), keys.owner), 1)
  })

  test('the ids of a tokenize that others take for the same values, one after another, are all matches (C15.4, C15.9)', async t => {
    const { keys } = await vault().tenant({ owner })
    const elements = Array.from({ length: 4 }, (_, at) => ({ ...first, id: `raced-${at}`, data: at }))
    const { store } = vault()
    const { commit } = store
    const ahead = elements.map(element => ({ ...element, mask: null, deduplicate_token: false }))
    let isAhead = false
    t.mock.method(store, 'commit', async (set: Parameters<typeof commit>[0]) => {
      const next = isAhead || set.guarded.length === 0 ? undefined : ahead.shift()
      if (next === undefined) return commit(set)
      isAhead = true
      await vault().create(keys.owner, next)
      isAhead = false
      return commit(set)
    })
    const reply = await vault().post('/tokenize', keys.owner, elements)
    assert.equal(reply.status, 200, reply.text)
    for (const [at, { id, _extras }] of reply.body.entries())
      assert.deepEqual([id, _extras], [`raced-${at}`, { deduplicated: true }])
    assert.equal(await countTokens(vault(), keys.owner), elements.length)
  })

  test('a token of another tenant is not a match (C15.3, §1.3)', async () => {
    const one = await vault().tenant({ owner })
    const two = await vault().tenant({ owner })
    const made = await vault().create(one.keys.owner, first)
    const other = await vault().create(two.keys.owner, first)
    assert.notEqual(other.id, made.id)
    assert.deepEqual(other._extras, { deduplicated: false })
  })

  test('a deleted token is not a match (C15.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const one = await vault().create(keys.owner, first)
    await vault().delete(`/tokens/${one.id}`, keys.owner)
    const again = await vault().create(keys.owner, first)
    assert.notEqual(again.id, one.id)
    assert.equal((await vault().create(keys.owner, first)).id, again.id)
  })

  test('a token stops being a match at the instant it expires, purged or not (C15.3, C17.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    const expires_at = new Date(vault().now + 60_000).toISOString()
    const one = await vault().create(keys.owner, { ...first, expires_at })
    vault().now += 59_999
    assert.equal((await vault().create(keys.owner, first)).id, one.id)
    vault().now += 1
    const two = await vault().create(keys.owner, first)
    assert.notEqual(two.id, one.id)
    assert.equal((await vault().create(keys.owner, first)).id, two.id)
    await vault().service.jobTimer.runAll()
    assert.equal((await vault().create(keys.owner, first)).id, two.id)
    assert.equal(await countTokens(vault(), keys.owner), 1)
  })

  /** How a token comes about that expires in a second. */
  const shortLived: Record<string, (keys: Keys, body: () => object) => Promise<unknown>> = {
    'made as the first': ({ owner }, body) => vault().create(owner, body()),
    'made under the id of an expired one': async ({ owner }, body) => {
      await vault().create(owner, body())
      vault().now += 1_000
      await vault().create(owner, body())
    },
    'made before the tenant deduplicates': async ({ owner, manager }, body) => {
      await vault().create(owner, { ...body(), deduplicate_token: null })
      const settings = { deduplicate_tokens: 'true' }
      const reply = await vault().send('PUT', '/tenants/self', {
        key: manager,
        body: { name: 'x', settings },
      })
      assert.equal(reply.status, 200, reply.text)
    },
  }
  for (const [how, make] of Object.entries(shortLived))
    test(`a patch accepted before its token expires does not keep the token, ${how}, alive beside its successor (C15.3, C15.9, C17.4)`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const body = { type: 'token', data: 'followed', deduplicate_token: true }
      const at = (ms: number) => new Date(vault().now + ms).toISOString()
      await make(keys, () => ({ ...body, id: 'short', expires_at: at(1_000) }))
      const gate = commitGate(vault(), ({ guarded }) => guarded.some(({ kind }) => kind === 'updateToken'))
      vault().now += 999
      const patched = vault().patch('/tokens/short', keys.owner, { expires_at: null })
      await gate.waiting(1)
      vault().now += 1
      const followed = await vault().create(keys.owner, body)
      assert.notEqual(followed.id, 'short')
      gate.open()
      assert.equal((await patched).status, 404)
      assert.equal((await vault().get('/tokens/short', keys.owner)).status, 404)
      assert.equal((await vault().create(keys.owner, body)).id, followed.id)
      assert.equal(await countTokens(vault(), keys.owner), 1)
    })

  test('one tokenize decides a match once for all its elements, whatever others do meanwhile (C15.10)', async () => {
    const { keys } = await vault().tenant({ owner })
    const element = { type: 'token', data: 'decided once', deduplicate_token: true }
    const { id } = await vault().create(keys.owner, element)
    const { store } = vault()
    const { findOldestMatch } = store
    let looks = 0
    store.findOldestMatch = async (...asked) => (looks++ === 0 ? findOldestMatch(...asked) : undefined)
    try {
      const reply = await vault().post('/tokenize', keys.owner, [element, element, element])
      assert.deepEqual(
        reply.body.map((token: { id: string }) => token.id),
        [id, id, id],
      )
    } finally {
      store.findOldestMatch = findOldestMatch
    }
  })

  test('a changed token matches what it has become, not what it was (C15.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const one = await vault().create(keys.owner, first)
    await vault().patch(`/tokens/${one.id}`, keys.owner, { data: 'Changed Value' })
    const two = await vault().create(keys.owner, first)
    assert.notEqual(two.id, one.id)
    assert.equal((await vault().create(keys.owner, { ...first, data: 'Changed Value' })).id, one.id)
    // It renders the same, and stands for another match all the same.
    const fingerprint_expression = "{{ data | stringify | append: '' }}"
    await vault().patch(`/tokens/${one.id}`, keys.owner, { fingerprint_expression })
    const likewise = { ...first, data: 'Changed Value', fingerprint_expression }
    assert.equal((await vault().create(keys.owner, likewise)).id, one.id)
    await vault().patch(`/tokens/${one.id}`, keys.owner, { fingerprint_expression: null })
    await vault().patch(`/tokens/${one.id}`, keys.owner, { containers: ['/moved/'] })
    assert.notEqual((await vault().create(keys.owner, { ...first, data: 'Changed Value' })).id, one.id)
  })

  test('a changed token gives back the match that it stood for (C15.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, first)
    const held = async () => (await storedRows(vault(), 'matches')).filter(row => row.token_id === id)
    const [before, ...more] = await held()
    assert.deepEqual(more, [])
    await vault().patch(`/tokens/${id}`, keys.owner, { data: 'Changed Value' })
    const [after, ...others] = await held()
    assert.deepEqual(others, [])
    assert.notDeepEqual(after?.term, before?.term)
  })

  test('simultaneous creates of one value make one token (C15.9)', async () => {
    const { keys } = await vault().tenant({ owner })
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => vault().post('/tokens', keys.owner, first)),
    )
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201])
    assert.equal(new Set(replies.map(({ body }) => body.id)).size, 1)
    assert.equal(replies.filter(({ body }) => body._extras.deduplicated === false).length, 1)
    assert.equal(await countTokens(vault(), keys.owner), 1)
  })

  test('equal elements of one tokenize make one token (C15.10, C15.6)', async () => {
    const { keys } = await vault().tenant({ owner })
    const other = { ...first, data: 'other' }
    const { body } = await vault().post('/tokenize', keys.owner, { a: first, list: [other, first, other] })
    assert.equal(body.list[1].id, body.a.id)
    assert.equal(body.list[2].id, body.list[0].id)
    assert.deepEqual(
      [body.a, ...body.list].map(({ _extras }) => _extras.deduplicated),
      [false, false, true, true],
    )
    assert.equal(await countTokens(vault(), keys.owner), 2)
  })

  test('an element with the flag matches the first of the equal ones before it without the flag (C15.10, C15.3, C15.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { body } = await vault().post('/tokenize', keys.owner, [
      { ...first, deduplicate_token: false },
      { ...first, deduplicate_token: false },
      first,
    ])
    assert.notEqual(body[1].id, body[0].id)
    assert.equal(body[2].id, body[0].id)
    assert.equal(await countTokens(vault(), keys.owner), 2)
  })

  test('with the tenant setting, plain values are deduplicated too (C15.1, C15.10)', async () => {
    const { keys } = await vault().tenant({ owner }, { deduplicateTokens: true })
    const { body } = await vault().post('/tokenize', keys.owner, ['a', 'b', 'a', 8, '8'])
    assert.equal(body[0], body[2])
    assert.equal(new Set(body).size, 4)
    const again = await vault().post('/tokenize', keys.owner, { x: 'b' })
    assert.equal(again.body.x, body[1])
    assert.equal(await countTokens(vault(), keys.owner), 4)
  })
})

const target = { type: 'token', data: 'target', metadata: { k: 'target' }, deduplicate_token: true }

/** An update of a second token: does it meet the first? */
const patches: readonly { name: string; second: object; patch: object; meets: boolean }[] = [
  { name: 'a patch of the data (C15.8)', second: { data: 'other' }, patch: { data: 'target' }, meets: true },
  {
    name: 'a patch of the data, metadata and expiry (C15.8)',
    second: { data: 'other' },
    patch: { data: 'target', metadata: { k: 'new' }, expires_at: '2031-01-01' },
    meets: true,
  },
  {
    name: 'a patch of the containers (C15.8)',
    second: { containers: ['/other/'] },
    patch: { containers: null },
    meets: true,
  },
  {
    name: 'a patch of the expression (C15.8)',
    second: { fingerprint_expression: '{{ data }}' },
    patch: { fingerprint_expression: null },
    meets: true,
  },
  {
    name: 'a patch of the flag (C15.8, §4.5.10)',
    second: { deduplicate_token: false },
    patch: { deduplicate_token: true },
    meets: true,
  },
  {
    name: 'a patch of the data together with the flag (C15.8)',
    second: { data: 'other', deduplicate_token: false },
    patch: { data: 'target', deduplicate_token: true },
    meets: true,
  },
  {
    name: 'a patch of the data of a token that is not deduplicated (C15.1)',
    second: { data: 'other', deduplicate_token: false },
    patch: { data: 'target' },
    meets: false,
  },
  {
    name: 'a patch of the data that also clears the flag (C15.1)',
    second: { data: 'other' },
    patch: { data: 'target', deduplicate_token: false },
    meets: false,
  },
  {
    name: 'a patch of the data that also resets the flag to its default (C18.2)',
    second: { data: 'other' },
    patch: { data: 'target', deduplicate_token: null },
    meets: false,
  },
  {
    name: 'a patch of the data in another container (C15.3)',
    second: { data: 'other', containers: ['/other/'] },
    patch: { data: 'target' },
    meets: false,
  },
  {
    name: 'a patch of metadata alone (C15.8)',
    second: { data: 'other' },
    patch: { metadata: { k: 'target' } },
    meets: false,
  },
]

onEveryEngine('deduplication of updates', vault => {
  for (const { name, second, patch, meets } of patches)
    test(`${name}: ${meets ? 'the other token comes back and nothing changes' : 'the update is made'}`, async () => {
      const { keys } = await vault().tenant({ owner, ...devApplications })
      const one = await vault().create(keys.owner, target)
      vault().now += 1_000
      const two = await vault().create(keys.owner, { ...target, ...second })
      assert.notEqual(two.id, one.id)
      vault().now += 1_000
      const before = await vault().get('/tokens', keys.owner)
      const reply = await vault().patch(`/tokens/${two.id}`, keys.owner, patch)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.body.id, meets ? one.id : two.id)
      assert.deepEqual(reply.body._extras, meets ? { deduplicated: true } : undefined)
      const after = await vault().get('/tokens', keys.owner)
      if (meets) assert.equal(after.text, before.text)
      else assert.ok(after.body.data[0].modified_at)
      // C13.3: an expression that was set blindly makes no match.
      if (!meets || 'fingerprint_expression' in patch) return
      // C15.7, C15.8: a caller who may not read the other token learns that it exists, and no more.
      const blind = await vault().patch(`/tokens/${two.id}`, keys.general, patch)
      const { id, type, tenant_id, fingerprint, containers, created_by, created_at } = one
      assert.deepEqual(blind.body, {
        ...{ id, type, tenant_id, fingerprint, containers, created_by, created_at },
        _extras: { deduplicated: true },
      })
    })

  test('of the other token a caller is shown what its rule for updates allows, not the one for creates (C15.8, C12.7)', async () => {
    const rules = [
      { priority: 1, container: '/', transform: 'redact', permissions: ['token:update'] },
      { priority: 2, container: '/', transform: 'reveal', permissions: ['token:create'] },
    ] as const
    const { keys } = await vault().tenant({ owner, writer: { rules } })
    const { id, type, tenant_id, containers, created_by, created_at } = await vault().create(
      keys.owner,
      target,
    )
    const two = await vault().create(keys.owner, { ...target, data: 'other' })
    const { body } = await vault().patch(`/tokens/${two.id}`, keys.writer, { data: 'target' })
    assert.deepEqual(body, {
      ...{ id, type, tenant_id, containers, created_by, created_at },
      _extras: { deduplicated: true },
    })
  })

  test('the tenant setting applies to updates too (C15.8, §2.4.12)', async () => {
    const { keys } = await vault().tenant({ owner }, { deduplicateTokens: true })
    const one = await vault().create(keys.owner, { type: 'token', data: 'a' })
    const two = await vault().create(keys.owner, { type: 'token', data: 'b' })
    const reply = await vault().patch(`/tokens/${two.id}`, keys.owner, { data: 'a' })
    assert.equal(reply.body.id, one.id)
    assert.equal((await vault().get(`/tokens/${two.id}`, keys.owner)).body.data, 'b')
  })

  test('equal tokens from before the setting stay two, and each can be changed (C15.8, C14.6)', async () => {
    const { keys } = await vault().tenant(
      { owner, management: { type: 'management', permissions: ['tenant:update'] } },
      { fingerprintTokens: false },
    )
    const twins = [
      await vault().create(keys.owner, { type: 'token', data: 'a' }),
      await vault().create(keys.owner, { type: 'token', data: 'a' }),
    ]
    const settings = { fingerprint_tokens: 'true', deduplicate_tokens: 'true' }
    await vault().send('PUT', '/tenants/self', { key: keys.management, body: { name: 'Test', settings } })
    for (const { id } of twins)
      for (const patch of [{ metadata: { k: id } }, { data: 'a' }, {}]) {
        const reply = await vault().patch(`/tokens/${id}`, keys.owner, patch)
        assert.equal(reply.body.id, id)
        assert.deepEqual(reply.body.metadata, { k: id })
      }
    const third = await vault().post('/tokens', keys.owner, { type: 'token', data: 'a' })
    assert.equal(third.body.id, twins[0]?.id, 'the older one stands for both')
    const wished = await vault().patch(`/tokens/${twins[1]?.id}`, keys.owner, { deduplicate_token: true })
    assert.equal(wished.body.id, twins[0]?.id, 'a wish for deduplication is granted')
  })

  test('a blind token with a younger equal beside it can be repaired, and the two stay two (C13.1, C13.3, C15.8, C15.4)', async () => {
    const { keys, tenantId } = await vault().tenant({ owner, ...devApplications })
    const whole = vault().service.vault
    const tenantNumber = await vault().tenantNumber(tenantId)
    const tenant = { tenantNumber, keys: await whole.keyring.of(tenantNumber, tenantId) }
    const stale = async () => (await verifyTenant(whole, tenant)).matches.ids
    const body = { ...target, data: 'blinded', mask: '{{ data | last4 }}' }
    for (const repair of [
      { mask: '{{ data | reveal_last: 2 }}' },
      { mask: null },
      { mask: '{{ data | last4 }}', data: 'blinded', expires_at: '2031-01-01' },
    ]) {
      const one = await vault().create(keys.owner, body)
      const patch = async (key: string, change: object) =>
        (await vault().patch(`/tokens/${one.id}`, key, change)).body
      await patch(keys.general, { mask: '{{ data }}' })
      vault().now += 1_000
      const two = await vault().create(keys.owner, body)
      assert.notEqual(two.id, one.id)

      const repaired = await patch(keys.owner, repair)
      assert.deepEqual([repaired.id, repaired._extras], [one.id, undefined], JSON.stringify(repair))
      assert.deepEqual(repaired.mask, repair.mask ?? undefined)
      assert.equal((await patch(keys.general, {})).fingerprint, one.fingerprint, 'no longer blind')

      // Now they are like any two equal tokens: the older stands for both, and claims the match when asked to.
      const claimed = async () => (await storedRows(vault(), 'matches')).map(row => row.token_id)
      const assertClaimed = async (id: string): Promise<void> => {
        const ids = [one.id, two.id, id]
        assert.deepEqual(
          [(await claimed()).filter(claimant => ids.includes(`${claimant}`)), await stale()],
          [[id], []],
        )
      }
      assert.equal((await vault().create(keys.owner, body)).id, one.id)
      await assertClaimed(two.id)
      assert.equal((await patch(keys.owner, { metadata: { k: 'new' } })).id, one.id)
      await assertClaimed(two.id)
      assert.equal((await patch(keys.owner, { deduplicate_token: true })).id, one.id)
      await assertClaimed(one.id)
      await vault().delete(`/tokens/${one.id}`, keys.owner)
      assert.equal((await vault().create(keys.owner, body)).id, two.id)
      await vault().delete(`/tokens/${two.id}`, keys.owner)
      const three = await vault().create(keys.owner, body)
      assert.deepEqual(three._extras, { deduplicated: false })
      await assertClaimed(three.id)
      await vault().delete(`/tokens/${three.id}`, keys.owner)
    }
  })

  test('a repair that also makes a blind token a duplicate of another meets that one (C13.3, C15.8)', async () => {
    const { keys } = await vault().tenant({ owner, ...devApplications })
    const other = await vault().create(keys.owner, { ...target, data: 'other' })
    const { id } = await vault().create(keys.owner, target)
    await vault().patch(`/tokens/${id}`, keys.general, { mask: '{{ data }}' })
    await vault().create(keys.owner, target)
    const met = await vault().patch(`/tokens/${id}`, keys.owner, { data: 'other', mask: null })
    assert.equal(met.body.id, other.id)
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).body.data, 'target')
  })

  for (const earlier of ['create', 'update'])
    test(`a create and an update that follow an expired token at once make one token, the ${earlier} being earlier (C15.8, C15.9)`, async () => {
      const { keys } = await vault().tenant({ owner })
      const expires_at = new Date(vault().now + 1_000).toISOString()
      await vault().create(keys.owner, { ...target, expires_at })
      const { id } = await vault().create(keys.owner, { ...target, data: 'other' })
      vault().now += 1_000
      const create = () => vault().post('/tokens', keys.owner, target)
      const update = () => vault().patch(`/tokens/${id}`, keys.owner, { data: 'target' })
      const gate = commitGate(vault(), ({ guarded }) => guarded.length > 0)
      const first = earlier === 'create' ? create() : update()
      await gate.waiting(1)
      const second = earlier === 'create' ? update() : create()
      await gate.waiting(2)
      gate.open()
      assert.equal((await first).body.id, (await second).body.id)
    })

  test('an update that changes nothing matches no token, not even itself (C15.8)', async () => {
    const { keys } = await vault().tenant({ owner })
    const one = await vault().create(keys.owner, target)
    for (const patch of [{}, { data: 'target' }, { deduplicate_token: true }, { containers: null }]) {
      const reply = await vault().patch(`/tokens/${one.id}`, keys.owner, patch)
      assert.equal(reply.body.id, one.id)
      assert.equal(reply.body._extras, undefined)
    }
  })

  test('a match tells a caller without reveal nothing about the data that its patch leaves unchanged (C13.3, C15.8)', async () => {
    const { keys } = await vault().tenant({ owner, ...devApplications })
    const bank = { routing_number: '021000021', account_number: '1234567' }
    const card = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 }
    const cases = [
      { type: 'token', stored: { salt: 's', pin: '0042' }, sent: { salt: null }, guess: { pin: '0042' } },
      {
        type: 'token',
        stored: { a: { salt: 's', pin: '1' } },
        sent: { a: { salt: 't' } },
        guess: { a: { salt: 't', pin: '1' } },
      },
      {
        type: 'bank',
        stored: bank,
        sent: { routing_number: '011401533' },
        guess: { ...bank, routing_number: '011401533' },
      },
    ]
    for (const { type, stored, sent, guess } of cases) {
      const guessed = await vault().create(keys.general, { type, data: guess })
      const { id } = await vault().create(keys.owner, { type, data: stored })
      const patch = { data: sent, deduplicate_token: true }
      const known = await vault().patch(`/tokens/${id}`, keys.owner, patch)
      assert.equal(known.body.id, guessed.id)
      const blind = await vault().patch(`/tokens/${id}`, keys.general, patch)
      // Like any patch, it is recorded.
      assert.equal(blind.body.id, id)
      assert.ok(blind.body.modified_at)
    }
    // Everything that the fingerprint reads is in the patch.
    const one = await vault().create(keys.owner, { type: 'card', data: card, deduplicate_token: true })
    const two = await vault().create(keys.owner, {
      type: 'card',
      data: { ...card, number: '4111111111111111' },
    })
    const sent = { data: { number: card.number }, deduplicate_token: true }
    const met = await vault().patch(`/tokens/${two.id}`, keys.general, sent)
    assert.equal(met.body.id, one.id)
    // Nothing that it reads is in the patch.
    const three = await vault().create(keys.owner, { type: 'card', data: card })
    const other = { data: { expiration_month: 11 }, deduplicate_token: true }
    assert.equal((await vault().patch(`/tokens/${three.id}`, keys.general, other)).body.id, one.id)
  })

  test('an equal create between the two lookups of another is found by the second (C15.9)', async t => {
    const { keys } = await vault().tenant({ owner })
    const { store } = vault()
    let looks = 0
    let other: string | undefined
    const lookAfter = async (): Promise<void> => {
      if (++looks === 2) other = (await vault().create(keys.owner, first)).id
    }
    const { findMatchHolder, findOldestMatch } = store
    t.mock.method(store, 'findMatchHolder', async (...asked: Parameters<typeof findMatchHolder>) => {
      await lookAfter()
      return findMatchHolder(...asked)
    })
    t.mock.method(store, 'findOldestMatch', async (...asked: Parameters<typeof findOldestMatch>) => {
      await lookAfter()
      return findOldestMatch(...asked)
    })
    const made = await vault().create(keys.owner, first)
    assert.ok(other !== undefined)
    assert.deepEqual([made.id, made._extras], [other, { deduplicated: true }])
  })
  for (const [name, away, back] of [
    [
      'deleted and created again',
      (key: string) => vault().delete('/tokens/comes-back', key),
      (key: string) => vault().post('/tokens', key, { ...first, id: 'comes-back' }),
    ],
    [
      'patched away and back',
      (key: string) => vault().patch('/tokens/comes-back', key, { data: 'Another Value' }),
      (key: string) => vault().patch('/tokens/comes-back', key, { data: first.data }),
    ],
  ] as const)
    test(`a holder that is ${name} while another create looks for it is found at the commit (C15.9)`, async t => {
      const { keys } = await vault().tenant({ owner })
      await vault().create(keys.owner, { ...first, id: 'comes-back' })
      const { store } = vault()
      const { findOldestMatch } = store
      let looks = 0
      t.mock.method(store, 'findOldestMatch', async (...asked: Parameters<typeof findOldestMatch>) => {
        if (++looks > 1) return findOldestMatch(...asked)
        await away(keys.owner)
        const found = await findOldestMatch(...asked)
        await back(keys.owner)
        return found
      })
      const made = await vault().create(keys.owner, first)
      assert.deepEqual([made.id, made._extras], ['comes-back', { deduplicated: true }])
      assert.equal(await countTokens(vault(), keys.owner), 1)
    })

  test('a holder that is deleted while it is looked at is looked for again, and not claimed from (C15.9)', async t => {
    const { keys } = await vault().tenant({ owner })
    await vault().create(keys.owner, { ...first, id: 'goes' })
    const { store } = vault()
    const { findMatchHolder } = store
    let looks = 0
    t.mock.method(store, 'findMatchHolder', async (...asked: Parameters<typeof findMatchHolder>) => {
      const holder = await findMatchHolder(...asked)
      if (++looks === 1) await vault().delete('/tokens/goes', keys.owner)
      return holder
    })
    const commits = t.mock.method(store, 'commit')
    const made = await vault().create(keys.owner, first)
    assert.deepEqual([made._extras, looks], [{ deduplicated: false }, 2])
    const claims = commits.mock.calls
      .flatMap(({ arguments: [set] }) => set?.guarded ?? [])
      .filter(({ kind }) => kind === 'claimMatch')
    assert.deepEqual(
      claims.map(claim => 'insteadOf' in claim && claim.insteadOf),
      [null],
    )
  })

  test('a claim whose holder is gone for good is taken over (C15.9)', async t => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, first)
    const { store } = vault()
    const { commit } = store
    const leaving = t.mock.method(store, 'commit', (set: Parameters<typeof commit>[0]) =>
      commit({ ...set, effects: set.effects.filter(({ kind }) => kind !== 'releaseMatch') }),
    )
    assert.equal((await vault().delete(`/tokens/${id}`, keys.owner)).status, 204)
    leaving.mock.restore()
    const made = await vault().create(keys.owner, first)
    assert.deepEqual(made._extras, { deduplicated: false })
    const again = await vault().create(keys.owner, first)
    assert.deepEqual([again.id, again._extras], [made.id, { deduplicated: true }])
  })
})
