import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onOneEngine } from '../rig/every-engine.ts'
import { countTokens, type Scenario, sendAndExpect } from '../rig/scenario.ts'
import { devApplications, owner, type TestVault } from '../rig/test-vault.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const number = '4242424242424242'
const card = { type: 'card', data: { number, expiration_month: 1, expiration_year: 2030 } }
const maskedCard = { number: 'XXXXXXXXXXXX4242', expiration_month: 1, expiration_year: 2030 }

/** A payload in which `1`, `'x'` and the like become tokens; the answer has the same shape. */
const shapes: readonly { name: string; send: unknown; tokens: number }[] = [
  { name: 'a string (§4.1.4)', send: 'Sensitive Value', tokens: 1 },
  { name: 'an empty string (§4.1.4)', send: '', tokens: 1 },
  { name: 'a number (C23.1)', send: 42, tokens: 1 },
  { name: 'zero (C23.1)', send: 0, tokens: 1 },
  { name: 'true (C23.1)', send: true, tokens: 1 },
  { name: 'false (C23.1)', send: false, tokens: 1 },
  { name: 'null (C23.2)', send: null, tokens: 0 },
  { name: 'an empty object (C23.2)', send: {}, tokens: 0 },
  { name: 'an empty array (C23.2)', send: [], tokens: 0 },
  { name: 'an object (§4.1.6)', send: { name: 'Ada', born: 1815, dead: true, spouse: null }, tokens: 3 },
  { name: 'an array (§4.1.7)', send: ['a', 'b', null, 'a'], tokens: 3 },
  {
    name: 'nested objects and arrays (§4.1.3)',
    send: { a: [{ b: ['x', [['y']]] }, {}, []], c: { d: { e: 'z' } } },
    tokens: 3,
  },
  { name: 'an object with `type` alone (§4.1.6)', send: { type: 'card', number: 'x' }, tokens: 2 },
  { name: 'an object with `data` alone (§4.1.6)', send: { data: { a: 'x' } }, tokens: 1 },
  {
    name: 'an object with odd keys (§4.1.6)',
    send: { '': 'x', 'a.b': 'y', '[0]': 'z', constructor: 'c', toString: 's' },
    tokens: 5,
  },
  { name: 'only nulls and empty values (§4.1.7)', send: [null, [null, {}], { a: null }], tokens: 0 },
]

const refusals: readonly Scenario[] = [
  {
    name: 'a bad card in the middle (C23.5, C2.4)',
    send: ['first value', card, { type: 'card', data: { number: '4242424242424241' } }, 'last value'],
    expect: { status: 400, errors: ['[2].data.number'] },
  },
  {
    name: 'faults at several depths, all reported (C2.4, C23.5)',
    send: {
      people: [
        { ssn: { type: 'social_security_number', data: '12' } },
        { ssn: { type: 'nonsense', data: 'x' } },
      ],
      bank: { type: 'bank', data: { routing_number: '021000021' } },
      note: 'kept nowhere',
    },
    expect: { status: 400, errors: ['people[0].ssn.data', 'people[1].ssn.type', 'bank.data.account_number'] },
  },
  {
    name: 'an unknown key in a definition (C23.4)',
    send: { card: { ...card, colour: 'ultramarine' } },
    expect: { status: 400, errors: ['card.colour'] },
  },
  {
    name: 'an unknown key whose value is null (C23.4, C5.3)',
    send: { card: { ...card, colour: null } },
    expect: { status: 400, errors: ['card.colour'] },
  },
  {
    name: 'a definition whose type is not a string (C23.3)',
    send: [
      { type: 17, data: 'Sensitive Value' },
      { type: null, data: 'Sensitive Value' },
    ],
    expect: { status: 400, errors: ['[0].type', '[1].type'] },
  },
  {
    name: 'a definition whose data is null (C23.3, C5.4)',
    send: { type: 'token', data: null },
    expect: { status: 400, errors: ['data'] },
  },
  {
    name: 'a payload key that could be a card number, named by its position (C2.7)',
    send: { fine: 'x', '4242 4242 4242 4242': { type: 'card', data: {} } },
    expect: { status: 400, errors: ['[key 2].data.number'], absent: ['4242 4242 4242 4242'] },
  },
  {
    name: 'a long payload key, cut short in the error (C2.6)',
    send: { ['k'.repeat(100)]: { type: 'card', data: {} } },
    expect: { status: 400, errors: [`${'k'.repeat(64)}.data.number`] },
  },
  {
    name: 'a field of the wrong JSON type in a definition, reported before bad values (C23.3)',
    send: {
      a: {
        ...card,
        id: 'a/b',
        containers: ['x'],
        metadata: { k: 7 },
        search_indexes: ['{{'],
        fingerprint_expression: '{{ no }}',
        expires_at: 'never',
        mask: { m: '{{ no }}' },
      },
    },
    expect: { status: 400, errors: ['a.metadata.k'] },
  },
  {
    name: 'bad values in a definition, each reported at its place (C23.3)',
    send: {
      a: {
        ...card,
        id: 'a/b',
        containers: ['x'],
        metadata: { '': 'v' },
        search_indexes: ['{{'],
        fingerprint_expression: '{{ no }}',
        expires_at: 'never',
        mask: { m: '{{ no }}' },
      },
    },
    expect: {
      status: 400,
      errors: [
        'a.id',
        'a.containers[0]',
        'a.metadata[key 1]',
        'a.search_indexes[0]',
        'a.fingerprint_expression',
        'a.expires_at',
        'a.mask.m',
      ],
    },
  },
  {
    name: 'an id that contains the card number (C16.6)',
    send: { cards: [{ ...card, id: '{{ data.number }}' }] },
    expect: { status: 400, errors: ['cards[0].id'] },
  },
  {
    name: 'an expiry that has passed (C17.2)',
    send: ['x', { type: 'token', data: 'x', expires_at: '2020-01-01' }],
    expect: { status: 400, errors: ['[1].expires_at'] },
  },
  {
    name: '1,001 values (C8.4, C2.10)',
    send: Array(1_001).fill('x'),
    expect: { status: 400, errors: ['$'] },
  },
  {
    name: '1,001 values spread over an object (C8.4)',
    send: { a: Array(500).fill(1), b: { c: Array(500).fill(true), d: card } },
    expect: { status: 400, errors: ['$'] },
  },
]

/** Definitions that each take some milliseconds of work. */
const laborious: readonly { name: string; definition: (_: unknown, at: number) => unknown }[] = [
  {
    name: 'tokens in many containers',
    definition: (_, at) => ({
      type: 'token',
      data: 'x',
      containers: Array.from({ length: 10 }, (_, branch) => `/${at}/${branch}${'/a'.repeat(8)}/`),
    }),
  },
  {
    name: 'expensive masks',
    definition: () => ({
      type: 'token',
      data: 'x',
      mask: "{{ data | pad_left: 15000 | split: '' | size }}",
    }),
  },
]

/** Processor time of this thread, in ms, in those iterations of the event loop that had work to do: in all of them and in the longest. */
const turnsOfLoop = async (work: () => Promise<void>): Promise<{ whole: number; longest: number }> => {
  const turns: number[] = []
  let start = process.threadCpuUsage()
  const note = (): void => {
    const { user, system } = process.threadCpuUsage(start)
    turns.push((user + system) / 1_000)
    start = process.threadCpuUsage()
    next = setImmediate(note)
  }
  let next = setImmediate(note)
  await work()
  clearImmediate(next)
  const busy = turns.filter(ms => ms > 1)
  return { whole: busy.reduce((sum, ms) => sum + ms, 0), longest: Math.max(...busy) }
}

onOneEngine('tokenize', 'every store takes write sets as its contract says', (vault, aboveStorage) => {
  for (const { name, send, tokens } of shapes)
    test(`${name}: the same shape comes back, and the number of tokens created is ${tokens}`, async () => {
      const { keys } = await vault().tenant(devApplications)
      const reply = await sendAndExpect(
        vault(),
        { key: keys.general, counter: keys.private },
        { method: 'POST', path: '/tokenize', body: send },
        { status: 200, stored: tokens },
      )
      const ids: string[] = []
      await assertTokenized(vault(), keys.private, send, reply.body, ids)
      assert.equal(new Set(ids).size, tokens)
    })

  aboveStorage(() => {
    for (const { name, send, expect } of refusals)
      test(`${name}: refused as a whole`, async () => {
        const { keys } = await vault().tenant(devApplications)
        const caller = { key: keys.general, counter: keys.private }
        await sendAndExpect(vault(), caller, { method: 'POST', path: '/tokenize', body: send }, expect)
      })
  })

  test('a definition becomes the token object (§4.1.5, §4.1.8, §4.1.10, §4.1.11, §4.1.12)', async () => {
    const { keys, tenantId } = await vault().tenant(devApplications)
    const send = {
      ...card,
      metadata: { k: 'v' },
      search_indexes: ['{{ data.number | last4 }}'],
      fingerprint_expression: '{{ data }}',
    }
    const { body } = await vault().post('/tokenize', keys.general, send)
    const { id, created_by, fingerprint, ...rest } = body
    assert.match(id, uuid)
    assert.match(created_by, uuid)
    assert.ok(fingerprint)
    assert.deepEqual(rest, {
      tenant_id: tenantId,
      type: 'card',
      data: maskedCard,
      mask: maskedCard,
      containers: ['/pci/high/'],
      metadata: { k: 'v' },
      search_indexes: ['{{ data.number | last4 }}'],
      fingerprint_expression: '{{ data }}',
      created_at: new Date(vault().now).toISOString().replace('Z', '+00:00'),
      _extras: { deduplicated: false },
    })
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.private)).body.data, card.data)
  })

  test('a definition accepts every field of a create (C23.3)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const send = {
      id: 'chosen-id',
      type: 'token',
      data: { any: ['thing', null] },
      mask: '{{ data.any[0] | reveal_last: 1 }}',
      containers: ['/a/', '/b/'],
      deduplicate_token: true,
      expires_at: '2030-01-01',
      metadata: null,
    }
    const { body } = await vault().post('/tokenize', keys.general, { deep: [send] })
    const [made] = body.deep
    assert.equal(made.id, 'chosen-id')
    assert.equal(made.data, 'XXXXg')
    assert.equal(made.mask, send.mask)
    assert.deepEqual(made.containers, ['/a/', '/b/'])
    assert.equal(made.expires_at, '2030-01-01T00:00:00.000+00:00')
    assert.equal('metadata' in made, false)
    const again = await vault().post('/tokenize', keys.general, { ...send, id: null })
    assert.deepEqual([again.body.id, again.body._extras], ['chosen-id', { deduplicated: true }])
  })

  test('definitions and values can be mixed (§1.6, §1.7, §4.1.9, §4.1.13)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const send = {
      customer: {
        name: 'Ada',
        card,
        bank: { type: 'bank', data: { routing_number: '021000021', account_number: '123456789' } },
      },
      list: ['x', { type: 'token', data: 'y' }, [card, 8], null],
    }
    const { body } = await sendAndExpect(
      vault(),
      { key: keys.general, counter: keys.private },
      { method: 'POST', path: '/tokenize', body: send },
      { status: 200, stored: 7, absent: [number, '123456789'] },
    )
    assert.match(body.customer.name, uuid)
    assert.deepEqual(body.customer.card.mask, maskedCard)
    assert.deepEqual(body.customer.bank.data, { routing_number: '021000021', account_number: 'XXXXX6789' })
    assert.match(body.list[0], uuid)
    assert.equal(body.list[1].type, 'token')
    assert.deepEqual(body.list[2][0].data, maskedCard)
    assert.match(body.list[2][1], uuid)
    assert.equal(body.list[3], null)
    assert.deepEqual(Object.keys(body.customer), ['name', 'card', 'bank'])
  })

  aboveStorage(() => {
    test('only own keys make a definition, and `data` that looks like a definition is data (C23.3)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const raw =
        '{"__proto__":{"type":"token","data":"x"},"inner":{"type":"token","data":{"type":"card","data":{}}}}'
      const { body, status } = await vault().send('POST', '/tokenize', { key: keys.general, raw })
      assert.equal(status, 200)
      assert.equal(Object.getOwnPropertyDescriptor(body, '__proto__')?.value.type, 'token')
      const inner = await vault().get(`/tokens/${body.inner.id}`, keys.private)
      assert.deepEqual(inner.body.data, { type: 'card', data: {} })
      assert.equal(await countTokens(vault(), keys.private), 2)
    })
  })

  test('1,000 values are accepted, and all of them are stored (C8.4)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const send = Array.from({ length: 1_000 }, (_, at) =>
      at % 100 === 0 ? { type: 'token', data: at } : `value ${at}`,
    )
    const reply = await sendAndExpect(
      vault(),
      { key: keys.general, counter: keys.private },
      { method: 'POST', path: '/tokenize', body: send },
      { status: 200, stored: 1_000 },
    )
    assert.equal(reply.body.length, 1_000)
    const last = await vault().get(`/tokens/${reply.body[999]}`, keys.private)
    assert.equal(last.body.data, 'value 999')
  })

  aboveStorage(() => {
    for (const { name, definition } of laborious)
      test(`others are answered while a payload of ${name} is tokenized (C20.7)`, async () => {
        const { keys } = await vault().tenant({ owner })
        const { whole, longest } = await turnsOfLoop(async () => {
          const { status, text } = await vault().post(
            '/tokenize',
            keys.owner,
            Array.from({ length: 100 }, definition),
          )
          assert.equal(status, 200, text.slice(0, 300))
        })
        assert.ok(longest < whole / 3, `${longest} of ${whole} ms in one iteration of the event loop`)
      })
  })

  test('nothing is created if one id is taken (C23.5, C16.4)', async () => {
    const { keys } = await vault().tenant(devApplications)
    await vault().create(keys.general, { id: 'taken-id', type: 'token', data: 'first value' })
    const send = [
      'one value',
      { id: 'free-id', ...card },
      { id: 'taken-id', type: 'token', data: 'other value' },
    ]
    await sendAndExpect(
      vault(),
      { key: keys.general, counter: keys.private },
      { method: 'POST', path: '/tokenize', body: send },
      { status: 409, absent: ['free-id', 'first value'] },
    )
    assert.equal((await vault().get('/tokens/free-id', keys.private)).status, 404)
  })

  test('nothing is created if an id occurs twice in a payload (C23.5, C16.4)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const send = [1, 2].map(data => ({ id: 'same-id', type: 'token', data }))
    await sendAndExpect(
      vault(),
      { key: keys.general, counter: keys.private },
      { method: 'POST', path: '/tokenize', body: send },
      // Not that writes clashed: sent again, it would fail again.
      { status: 409, body: { detail: 'A token with this id exists.' } },
    )
  })

  test('the id of an expired token is free in a payload that brings ids of its own (C16.4, C17.4)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const expires_at = new Date(vault().now + 1_000).toISOString()
    await vault().create(keys.general, { id: 'was-taken', type: 'token', data: 0, expires_at })
    vault().now += 1_000
    const send = ['one', 'was-taken', 'three'].map(id => ({ id, type: 'token', data: id }))
    await sendAndExpect(
      vault(),
      { key: keys.general, counter: keys.private },
      { method: 'POST', path: '/tokenize', body: send },
      { status: 200, stored: 3 },
    )
  })

  aboveStorage(() => {
    test('nothing is created if the caller may not write to one of the containers (§4.1.2, C23.5, C28.10, C2.12)', async () => {
      const { keys } = await vault().tenant({
        owner,
        limited: {
          rules: [{ priority: 1, container: '/general/', transform: 'mask', permissions: ['token:create'] }],
        },
      })
      const caller = { key: keys.limited, counter: keys.owner }
      const fine = ['plain', { type: 'token', data: 'x', containers: ['/general/low/'] }]
      await sendAndExpect(
        vault(),
        caller,
        { method: 'POST', path: '/tokenize', body: fine },
        { status: 200, stored: 2 },
      )
      for (const one of [card, { type: 'token', data: 'x', containers: ['/general/a/', '/other/'] }])
        await sendAndExpect(
          vault(),
          caller,
          { method: 'POST', path: '/tokenize', body: [...fine, { deep: one }] },
          { status: 403 },
        )
    })

    test('tokenizing without token:create is 403 (§5.4, C2.12)', async () => {
      const { keys } = await vault().tenant(devApplications)
      assert.equal((await vault().post('/tokenize', keys.private, 'x')).status, 403)
    })

    test('where the granting rule says redact, the answer shows no data (C12.3)', async () => {
      const { keys } = await vault().tenant({
        owner,
        writer: {
          rules: [{ priority: 1, container: '/', transform: 'redact', permissions: ['token:create'] }],
        },
      })
      for (const path of ['/tokenize', '/tokens']) {
        const { body } = await sendAndExpect(
          vault(),
          { key: keys.writer, counter: keys.owner },
          { method: 'POST', path, body: card },
          {
            status: path === '/tokens' ? 201 : 200,
            stored: 1,
            lacks: ['data', 'mask', 'fingerprint'],
            absent: ['42424242', 'X4242'],
          },
        )
        assert.equal(body.type, 'card')
      }
    })
  })
})

/** Compares the answer with the payload, and reads back every value. */
const assertTokenized = async (
  vault: TestVault,
  key: string,
  sent: unknown,
  answered: unknown,
  ids: string[],
): Promise<void> => {
  if (sent === null) assert.equal(answered, null)
  else if (Array.isArray(sent)) {
    assert.ok(Array.isArray(answered))
    assert.equal(answered.length, sent.length)
    for (const [at, item] of sent.entries()) await assertTokenized(vault, key, item, answered[at], ids)
  } else if (typeof sent === 'object') {
    assert.ok(typeof answered === 'object' && answered !== null)
    assert.deepEqual(Object.keys(answered), Object.keys(sent))
    for (const [name, item] of Object.entries(sent))
      await assertTokenized(vault, key, item, (answered as Record<string, unknown>)[name], ids)
  } else {
    assert.match(String(answered), uuid)
    ids.push(String(answered))
    const { body } = await vault.get(`/tokens/${answered}`, key)
    assert.equal(body.data, sent)
    assert.equal(body.type, 'token')
    assert.deepEqual(body.containers, ['/general/high/'])
  }
}
