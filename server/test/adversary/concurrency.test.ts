import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { TestReply } from '../rig/answers.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { storedRows } from '../rig/stored-rows.ts'
import type { TestApplication, TestVault } from '../rig/test-vault.ts'

const application = {
  rules: [
    {
      priority: 1,
      container: '/',
      transform: 'reveal',
      permissions: ['token:create', 'token:read', 'token:update', 'token:delete'],
    },
  ],
} as const satisfies TestApplication
const reporter = { type: 'management', permissions: ['report:read'] } as const satisfies TestApplication

/** An application that sees a single container: its unfiltered lists are counted by that container's own counter. */
const readerOf = (container: string): TestApplication => ({
  rules: [{ priority: 1, container, transform: 'mask', permissions: ['token:read'] }],
})

const places = ['/a/', '/b/', '/c/', '/d/'] as const
const many = 32
const together = <T>(count: number, send: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => send(index)))
const countBy = (replies: readonly TestReply[]): Record<number, number> =>
  Object.fromEntries(
    [...Map.groupBy(replies, reply => reply.status)].map(([status, group]) => [status, group.length]),
  )
const idsOf = (replies: readonly TestReply[]): string[] => [...new Set(replies.map(({ body }) => body.id))]

onEveryEngine('many requests at once', vaultOfSuite => {
  let vault: TestVault
  let key: string
  let reportKey: string
  let containerKeys: Record<(typeof places)[number], string>
  beforeEach(async () => {
    vault = vaultOfSuite()
    const { keys } = await vault.tenant({
      application,
      reporter,
      '/a/': readerOf('/a/'),
      '/b/': readerOf('/b/'),
      '/c/': readerOf('/c/'),
      '/d/': readerOf('/d/'),
    })
    key = keys.application
    reportKey = keys.reporter
    containerKeys = keys
  })

  /** Every id that a list yields, page by page. */
  const listed = async (query = ''): Promise<string[]> => {
    const ids: string[] = []
    for (let page = 1; ; page++) {
      const { body } = await vault.get(`/tokens?size=100&page=${page}${query}`, key)
      ids.push(...body.data.map((token: { id: string }) => token.id))
      if (body.data.length < 100) return ids
    }
  }

  /** Counters, lists and the report agree with each other and with what should exist. */
  const assertCounts = async (expected: number, types: Record<string, number>): Promise<void> => {
    for (const query of ['', '&container=/']) {
      const { body } = await vault.get(`/tokens?size=1${query}`, key)
      assert.equal(body.pagination.total_items, expected, `total_items with "${query}"`)
    }
    const ids = await listed()
    assert.equal(ids.length, expected)
    assert.equal(new Set(ids).size, expected)
    const report = await vault.get('/tenants/self/reports/usage', reportKey)
    const metrics = report.body.token_report.metrics_by_type
    for (const [type, count] of Object.entries(types)) {
      assert.equal(metrics[type]?.count ?? 0, count, `the report's count of ${type}`)
      const { body } = await vault.get(`/tokens?size=1&type=${type}`, key)
      assert.equal(body.pagination.total_items, count, `total_items of ${type}`)
    }
  }

  /** The counter of each container agrees with a walk through the whole list. */
  const assertContainerCounts = async (): Promise<number> => {
    let sum = 0
    for (const container of places) {
      const found = await listed(`&container=${container}`)
      const { body } = await vault.get('/tokens', containerKeys[container])
      assert.equal(body.pagination.total_items, found.length, `total_items for a reader of ${container}`)
      sum += found.length
    }
    return sum
  }

  test('equal creates make one token, and all but one are told so (C15.9, C15.5)', async () => {
    const replies = await together(many, () =>
      vault.post('/tokens', key, { type: 'token', data: 'one value', deduplicate_token: true }),
    )
    assert.deepEqual(countBy(replies), { 201: many })
    assert.equal(idsOf(replies).length, 1)
    assert.equal(replies.filter(({ body }) => body._extras.deduplicated).length, many - 1)
    await assertCounts(1, { token: 1 })
  })

  test('equal creates of several values make one token for each value (C15.9)', async () => {
    const values = 4
    const replies = await together(many, index =>
      vault.post('/tokens', key, {
        type: 'token',
        data: `value ${index % values}`,
        deduplicate_token: true,
      }),
    )
    assert.deepEqual(countBy(replies), { 201: many })
    assert.equal(idsOf(replies).length, values)
    assert.equal(replies.filter(({ body }) => !body._extras.deduplicated).length, values)
    await assertCounts(values, { token: values })
  })

  test('equal elements, within one payload and across payloads, become one token (C15.9, C15.10)', async () => {
    const definition = { type: 'token', data: 'one value', deduplicate_token: true }
    const replies = await together(many / 2, index =>
      vault.post('/tokenize', key, [
        definition,
        { ...definition, data: `only here ${index}` },
        { inside: definition },
      ]),
    )
    assert.deepEqual(countBy(replies), { 200: many / 2 })
    const shared = replies.flatMap(({ body }) => [body[0], body[2].inside])
    assert.equal(new Set(shared.map(token => token.id)).size, 1)
    assert.equal(shared.filter(token => !token._extras.deduplicated).length, 1)
    await assertCounts(1 + many / 2, { token: 1 + many / 2 })
  })

  test('creates and tokenizes of one value make one token (C15.9)', async () => {
    const definition = { type: 'card', data: { number: '4242424242424242' }, deduplicate_token: true }
    const replies = await together(many, index =>
      index % 2 === 0
        ? vault.post('/tokens', key, definition)
        : vault.post('/tokenize', key, { a: definition, b: 'text' }),
    )
    const cards = replies.map(({ body }) => body.a ?? body)
    assert.equal(new Set(cards.map(card => card.id)).size, 1)
    assert.equal(cards.filter(card => !card._extras.deduplicated).length, 1)
    await assertCounts(1 + many / 2, { card: 1, token: many / 2 })
  })

  test('patches and creates that would make duplicates leave one token with the value (C15.8, C15.9)', async () => {
    const half = many / 2
    const made = await together(half, index =>
      vault.post('/tokens', key, { type: 'token', data: `own ${index}`, deduplicate_token: true }),
    )
    const replies = await together(many, index =>
      index % 2 === 0
        ? vault.patch(`/tokens/${made[index / 2]?.body.id}`, key, { data: 'one value' })
        : vault.post('/tokens', key, { type: 'token', data: 'one value', deduplicate_token: true }),
    )
    assert.deepEqual(countBy(replies), { 200: half, 201: half })
    assert.equal(idsOf(replies).length, 1, 'everyone is shown the one token with the value')
    const [winner] = idsOf(replies)
    assert.ok(winner)
    assert.equal((await vault.get(`/tokens/${winner}`, key)).body.data, 'one value')
    let kept = 0
    for (const [index, { body }] of made.entries()) {
      if (body.id === winner) continue
      assert.equal((await vault.get(`/tokens/${body.id}`, key)).body.data, `own ${index}`, 'left as it was')
      kept++
    }
    const { body } = await vault.get(`/tokens/${winner}`, key)
    const found = await vault.get(`/tokens?fingerprint=${body.fingerprint}`, key)
    assert.equal(found.body.pagination.total_items, 1)
    await assertCounts(kept + 1, { token: kept + 1 })
  })

  test('patches of different fields of one token all survive (C18.8)', async () => {
    const { body } = await vault.post('/tokens', key, {
      type: 'token',
      data: { kept: true },
      metadata: { kept: 'yes' },
    })
    const replies = await together(many, index =>
      vault.patch(`/tokens/${body.id}`, key, {
        data: { [`field ${index}`]: index },
        metadata: { [`key ${index}`]: String(index) },
      }),
    )
    assert.deepEqual(countBy(replies), { 200: many })
    const { body: read } = await vault.get(`/tokens/${body.id}`, key)
    assert.deepEqual(read.data, {
      kept: true,
      ...Object.fromEntries(Array.from({ length: many }, (_, index) => [`field ${index}`, index])),
    })
    assert.equal(Object.keys(read.metadata).length, many + 1)
    for (let index = 0; index < many; index++) {
      const found = await vault.get(`/tokens?metadata.${encodeURIComponent(`key ${index}`)}=${index}`, key)
      assert.equal(found.body.pagination.total_items, 1, 'the index kept up with every patch')
    }
    await assertCounts(1, { token: 1 })
  })

  test('moves at once leave the token in one place (C18.8, C24.10)', async () => {
    const { body } = await vault.post('/tokens', key, { type: 'token', data: 'x' })
    const replies = await together(many, index =>
      vault.patch(`/tokens/${body.id}`, key, { containers: [places[index % places.length]] }),
    )
    assert.deepEqual(countBy(replies), { 200: many })
    assert.equal(await assertContainerCounts(), 1)
    await assertCounts(1, { token: 1 })
  })

  for (const duringPatches of [false, true])
    test(`deletes ${duringPatches ? 'in the middle of patches' : 'together with patches'}: one delete wins, and nothing comes back (§4.6.1, C2.13, C18.6)`, async () => {
      const { body } = await vault.post('/tokens', key, { type: 'token', data: 'x', metadata: { a: 'b' } })
      const patching = Array.from({ length: many }, (_, index) =>
        vault.patch(`/tokens/${body.id}`, key, { metadata: { [`k${index}`]: 'v' } }),
      )
      if (duringPatches) await Promise.race(patching)
      const deletes = await together(many, () => vault.delete(`/tokens/${body.id}`, key))
      const patches = await Promise.all(patching)
      assert.deepEqual(countBy(deletes), { 204: 1, 404: many - 1 })
      assert.ok(patches.every(({ status }) => status === 200 || status === 404))
      assert.equal((await vault.get(`/tokens/${body.id}`, key)).status, 404)
      for (const table of ['tokens', 'terms', 'matches', 'transients'])
        assert.deepEqual(
          (await storedRows(vault, table)).filter(row => row.token_id === body.id),
          [],
          table,
        )
      await assertCounts(0, { token: 0 })
    })

  test('creates with one literal id: one 201, the others 409 (C16.4)', async () => {
    const replies = await together(many, index =>
      vault.post('/tokens', key, { id: 'the-same', type: 'token', data: `value ${index}` }),
    )
    assert.deepEqual(countBy(replies), { 201: 1, 409: many - 1 })
    const winner = replies.findIndex(({ status }) => status === 201)
    assert.equal((await vault.get('/tokens/the-same', key)).body.data, `value ${winner}`)
    await assertCounts(1, { token: 1 })
  })

  test('creates of one value with one literal id are deduplicated, not refused (C15.4, C15.9)', async () => {
    const body = { id: 'the-same', type: 'token', data: 'one value', deduplicate_token: true }
    const replies = await together(many, () => vault.post('/tokens', key, body))
    assert.deepEqual(countBy(replies), { 201: many })
    assert.equal(replies.filter(reply => reply.body._extras.deduplicated).length, many - 1)
    const later = await vault.post('/tokens', key, body)
    assert.deepEqual([later.status, later.body.id, later.body._extras.deduplicated], [201, 'the-same', true])
    await assertCounts(1, { token: 1 })
  })

  test('tokenizes that share one literal id: one makes everything, the others nothing (C23.5, C16.4)', async () => {
    const replies = await together(many / 2, index =>
      vault.post('/tokenize', key, [
        `text ${index}`,
        { id: 'the-same', type: 'token', data: `value ${index}` },
        { type: 'bank', data: { routing_number: '021000021', account_number: `${index}` } },
      ]),
    )
    assert.deepEqual(countBy(replies), { 200: 1, 409: many / 2 - 1 })
    await assertCounts(3, { token: 2, bank: 1 })
  })

  test('one idempotency key at once: one request does the work, the others get 409 or its answer (§4.11.5, C33.3, C33.5)', async () => {
    const replies = await together(many, () =>
      vault.send('POST', '/tokens', {
        key,
        body: { type: 'token', data: 'x' },
        headers: { 'svc-idempotency-key': 'at-once' },
      }),
    )
    const done = replies.filter(({ status }) => status === 201)
    assert.ok(done.length >= 1)
    assert.ok(replies.every(({ status }) => status === 201 || status === 409))
    assert.equal(idsOf(done).length, 1)
    await assertCounts(1, { token: 1 })
  })

  for (const path of ['getToken', 'listTokens'] as const)
    test(`a read interrupted by a patch shows the old card or the new one, not parts of both (${path}) (C11.5, C18.8)`, async () => {
      const old = { number: '4242424242424242', cvc: '111' }
      const renewed = { number: '5555555555554444', cvc: '222' }
      const { id } = await vault.create(key, { type: 'card', data: old })
      const { store } = vault
      const original = store[path] as (...args: unknown[]) => Promise<unknown>
      // Storage answers the read's first question; before it asks the next one, the card has changed.
      const slow = async (...args: unknown[]): Promise<unknown> => {
        const answer = await original(...args)
        Object.assign(store, { [path]: original })
        assert.equal((await vault.patch(`/tokens/${id}`, key, { data: renewed })).status, 200)
        return answer
      }
      Object.assign(store, { [path]: slow })
      const { body } = await vault.get(path === 'getToken' ? `/tokens/${id}` : '/tokens', key)
      const { data } = path === 'getToken' ? body : body.data[0]
      assert.equal(store[path], original, 'the patch fell into the read')
      assert.ok(
        [old, renewed].some(card => card.number === data.number && card.cvc === data.cvc),
        JSON.stringify(data),
      )
    })

  test('counters are exact after a storm of every kind of write (C24.10, C27.1)', async () => {
    const model = new Set<string>()
    const made = await together(many * 2, index =>
      vault.post('/tokens', key, {
        type: index % 3 === 0 ? 'card_number' : 'token',
        data: '4242424242424242',
        ...(index % 5 === 0 && { containers: ['/a/', '/b/c/'] }),
      }),
    )
    for (const { body } of made) model.add(body.id)
    const storm = await together(many * 4, async index => {
      const id = made[index % made.length]?.body.id
      if (index % 4 === 0) return { id, reply: await vault.delete(`/tokens/${id}`, key) }
      if (index % 4 === 1)
        return { id, reply: await vault.patch(`/tokens/${id}`, key, { containers: ['/c/', '/d/'] }) }
      if (index % 4 === 2)
        return { id, reply: await vault.patch(`/tokens/${id}`, key, { metadata: { a: '1' } }) }
      const reply = await vault.post('/tokenize', key, { a: 'x', b: { type: 'token', data: [index] } })
      return { id: undefined, reply }
    })
    for (const { id, reply } of storm) {
      if (reply.status === 204) model.delete(id)
      if (id === undefined) for (const made of [reply.body.a, reply.body.b.id]) model.add(made)
    }
    assert.deepEqual(new Set(await listed()), model)
    const cards = made.filter(({ body }) => body.type === 'card_number' && model.has(body.id)).length
    await assertCounts(model.size, { card_number: cards, token: model.size - cards })
    assert.ok((await assertContainerCounts()) > 0)
  })
})
