import assert from 'node:assert/strict'
import { test } from 'node:test'
import { holdsLookAlike } from '../../src/domain/expressions/filters/card-look-alike.ts'
import { passesLuhn } from '../../src/domain/text/digits.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { countTokens, sendAndExpect } from '../rig/scenario.ts'
import { devApplications } from '../rig/test-vault.ts'

const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const number = '4242424242424242'

const good: readonly { name: string; id: string; data?: unknown; becomes: string | RegExp }[] = [
  { name: 'three characters (C8.5)', id: 'abc', becomes: 'abc' },
  { name: '400 characters (C8.5)', id: 'i'.repeat(400), becomes: 'i'.repeat(400) },
  { name: '400 code points (C8.18)', id: '😀'.repeat(400), becomes: '😀'.repeat(400) },
  {
    name: 'spaces and punctuation that are not forbidden (C8.5)',
    id: "a b.c,d:e;f!g'(h)*~$@",
    becomes: "a b.c,d:e;f!g'(h)*~$@",
  },
  { name: 'an expression (C16.2)', id: 'order-{{ data.n }}', data: { n: 17 }, becomes: 'order-17' },
  {
    name: 'a number, rendered as its digits (C16.2)',
    id: '{{ data.n }}',
    data: { n: 1234.5 },
    becomes: '1234.5',
  },
  {
    name: 'a number that JSON writes with an exponent, rendered as its digits (C16.2)',
    id: '{{ data.n }}',
    data: { n: 123456789e15 },
    becomes: '123456789000000000000000',
  },
  {
    name: 'an expression with filters (C16.2)',
    id: '{{ data | downcase | slice: 0, 4 }}',
    data: 'ABCDEF',
    becomes: 'abcd',
  },
  {
    name: 'an alias of the same length (C16.3, C21.2)',
    id: '{{ data | alias_preserve_length: 2, 4 }}',
    data: 'AB12345678WXYZ',
    becomes: /^AB.{8}WXYZ$/,
  },
  {
    name: 'an alias of the same format (C16.3, C21.2)',
    id: '{{ data | alias_preserve_format: 0, 3 }}',
    data: '123-45-6789',
    becomes: /^\d{3}-\d{2}-\d789$/,
  },
  {
    name: 'an alias of the same format that keeps no digits (C16.3, C21.2)',
    id: '{{ data | alias_preserve_format }}',
    data: '123-45-6789',
    becomes: /^\d{3}-\d{2}-\d{4}$/,
  },
  {
    name: 'an alias that looks like a card number (C16.3, C21.4)',
    id: '{{ data | alias_card: "false", "true" }}',
    data: '4242424242424242',
    becomes: /^\d{12}4242$/,
  },
]

const bad: readonly { name: string; id: string; data?: unknown; type?: string }[] = [
  { name: 'no characters (C8.5)', id: '' },
  { name: 'two characters (C8.5)', id: 'ab' },
  { name: 'two code points (C8.18)', id: '😀😀' },
  { name: '401 characters (C8.5)', id: 'i'.repeat(401) },
  { name: '401 code points (C8.18)', id: '😀'.repeat(401) },
  ...[...'#/\\+?[]|&=%<>^'].map(sign => ({ name: `the character ${sign} (C8.5)`, id: `abc${sign}def` })),
  { name: 'an opening brace (C8.5)', id: 'abc{def' },
  { name: 'a closing brace (C8.5)', id: 'abc}def' },
  ...['\0', '\t', '\n', '\r', '\u001f', '\u007f', '\u0085', '\u2028'].map(sign => ({
    name: `the control character ${sign.codePointAt(0)?.toString(16)} (C8.5)`,
    id: `abc${sign}def`,
  })),
  { name: 'a lone surrogate (C8.5)', id: 'abc\ud800def' },
  { name: 'an expression that renders nothing (C16.2)', id: '{{ data.none }}', data: {} },
  { name: 'an expression that renders too little (C16.2)', id: '{{ data }}', data: 'ab' },
  { name: 'an expression that renders too much (C16.2)', id: '{{ data }}', data: 'x'.repeat(401) },
  { name: 'an expression that renders a forbidden character (C16.2)', id: '{{ data }}', data: 'a/b-c/d' },
  { name: 'an expression that renders an object (C16.2)', id: '{{ data }}', data: { some: 'thing' } },
  { name: 'an expression that cannot be parsed (C20.4)', id: '{{ data | nothing }}' },
  { name: 'metadata, which only fingerprints may use (C20.2)', id: '{{ metadata.key }}' },
  {
    name: 'an alias with too little randomness (C21.3)',
    id: '{{ data | alias_preserve_length: 4, 4 }}',
    data: '1234567890',
  },
  { name: 'the cvc of a card (C11.6)', type: 'card', id: 'x{{ data.cvc }}', data: { number, cvc: '123' } },
]

/** C16.6: ids that contain what the token is supposed to hide. */
const telling: readonly { type: string; data: unknown; ids: readonly string[] }[] = [
  {
    type: 'card',
    data: { number },
    ids: [
      number,
      `card-${number}`,
      '{{ data.number }}',
      'a{{ data.number }}z',
      '4242-4242-4242-4242',
      '4242 4242 4242 4242',
      'card 42424242--4242:4242',
      "{{ data.number | split: '' | join: '.' }}",
      '{{ data.number | slice: 0, 8 }}_{{ data.number | slice: 8, 8 }}',
    ],
  },
  { type: 'card_number', data: number, ids: [number, '{{ data }}', `x${number}x`] },
  {
    type: 'bank',
    data: { routing_number: '021000021', account_number: '123456789' },
    ids: ['123456789', 'no-{{ data.account_number }}', '1234-56789'],
  },
  { type: 'us_bank_account_number', data: '123456789', ids: ['123456789', '{{ data }}'] },
  { type: 'us_bank_routing_number', data: '021000021', ids: ['021000021', 'r{{ data }}'] },
  { type: 'social_security_number', data: '078-05-1120', ids: ['078-05-1120', '078051120', '{{ data }}'] },
  { type: 'us_bank_account_number', data: '1234', ids: ['a1234z'] },
  { type: 'social_security_number', data: '078051120', ids: ['078-05-1120', 'ssn078051120', '07 805 1120'] },
  { type: 'employer_id_number', data: '12-3456789', ids: ['12-3456789', '123456789', '{{ data }}'] },
]

const card = { type: 'card', data: { number } }
const grouped = '4242 4242-4242.4242'

/** C16.8: metadata that contains what the token is supposed to hide. */
const tellingMetadata: readonly { name: string; send: object; error: string }[] = [
  {
    name: 'a card number',
    send: { ...card, metadata: { of: 'x', n: `no. ${number}` } },
    error: 'metadata.n',
  },
  { name: 'a card number in groups', send: { ...card, metadata: { n: grouped } }, error: 'metadata.n' },
  {
    name: 'a card number as a key',
    send: { ...card, metadata: { [`n ${number}`]: 'x' } },
    error: 'metadata[key 1]',
  },
  {
    name: 'the number of a type without other data',
    send: { type: 'card_number', data: number, metadata: { n: number } },
    error: 'metadata.n',
  },
  {
    name: 'an account number',
    send: {
      type: 'bank',
      data: { routing_number: '021000021', account_number: '123456' },
      metadata: { r: '021000021', n: '12-34.56' },
    },
    error: 'metadata.n',
  },
  {
    name: 'a social security number without its dashes',
    send: { type: 'social_security_number', data: '078-05-1120', metadata: { n: '078051120' } },
    error: 'metadata.n',
  },
]

onEveryEngine('token ids', (vault, aboveStorage) => {
  aboveStorage(() => {
    for (const { name, send, error } of tellingMetadata)
      for (const [path, body, errors] of [
        ['/tokens', send, [error]],
        ['/tokenize', { deep: [send] }, [`deep[0].${error}`]],
      ] as const)
        test(`${name} in the metadata of its own token is refused by ${path}, and nothing is stored (C16.8)`, async () => {
          const { keys } = await vault().tenant(devApplications)
          const caller = { key: keys.general, counter: keys.private }
          await sendAndExpect(
            vault(),
            caller,
            { method: 'POST', path, body },
            { status: 400, errors, stored: 0 },
          )
        })

    test('metadata may contain the data of a generic token, and another number (C16.8)', async () => {
      const { keys } = await vault().tenant(devApplications)
      await vault().create(keys.general, { type: 'token', data: number, metadata: { n: number } })
      await vault().create(keys.general, { ...card, metadata: { n: '5555 5555 5555 4444' } })
    })
  })

  for (const { name, id, data = 'Sensitive Value', becomes } of good)
    test(`${name}: accepted as an id`, async () => {
      const { keys } = await vault().tenant(devApplications)
      const caller = { key: keys.general, counter: keys.private }
      const body = { id, type: 'token', data }
      const { body: created } = await sendAndExpect(
        vault(),
        caller,
        { method: 'POST', path: '/tokens', body },
        { status: 201, stored: 1, body: { id: becomes } },
      )
      const read = await vault().get(`/tokens/${encodeURIComponent(created.id)}`, keys.private)
      assert.deepEqual(read.body.data, data)
    })

  aboveStorage(() => {
    for (const { name, id, type = 'token', data = 'Sensitive Value' } of bad)
      test(`${name}: refused as an id`, async () => {
        const { keys } = await vault().tenant(devApplications)
        const caller = { key: keys.general, counter: keys.private }
        const body = { id, type, data }
        await sendAndExpect(
          vault(),
          caller,
          { method: 'POST', path: '/tokens', body },
          { status: 400, errors: ['id'] },
        )
      })

    for (const { type, data, ids } of telling)
      test(`an id may not contain the number of a token of type ${type} (C16.6)`, async () => {
        const { keys } = await vault().tenant(devApplications)
        const caller = { key: keys.general, counter: keys.private }
        for (const id of ids)
          await sendAndExpect(
            vault(),
            caller,
            { method: 'POST', path: '/tokens', body: { id, type, data } },
            { status: 400, errors: ['id'] },
          )
      })

    test('a short number is matched only as written: grouped digits would match too many ids by chance (C16.6)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const body = { type: 'us_bank_account_number', data: '1234' }
      for (const id of ['12-34', '2012-3-4 order'])
        assert.equal((await vault().create(keys.general, { ...body, id })).id, id)
    })

    test('an alias with text around it does not look like a card number either (C21.4, C16.3)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const ids = [
        '4{{ data | slice: 1, 15 | alias_preserve_format }}',
        '{{ data | slice: 0, 15 | alias_card }}9',
        '{{ data | slice: 0, 8 | alias_preserve_format }}-{{ data | slice: 8, 8 | alias_preserve_format }}',
      ]
      const bodies = ids.flatMap(id =>
        Array.from({ length: 40 }, () => ({ id, type: 'token', data: number })),
      )
      const made = await vault().post('/tokenize', keys.general, bodies)
      const lookAlikes = made.body.filter(({ id }: { id: string }) => passesLuhn(id.replaceAll('-', '')))
      assert.equal(made.body.length, bodies.length)
      assert.deepEqual(lookAlikes, [])
    })

    test('an alias of many groups of digits is never refused by chance, and never looks like a card number (C16.3, C21.4)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const pairs = Array.from({ length: 16 }, (_, at) => 10 + (at % 6)).join('-')
      const digits = Array(40).fill(1).join(' ')
      for (const [data, id] of [
        [pairs, '{{ data | alias_preserve_format }}'],
        [digits, '{{ data | alias_preserve_format }}'],
        // A digit before many that are kept belongs to more runs than there are digits to choose from.
        [digits, '{{ data | alias_preserve_format: 0, 20 }}'],
      ] as const) {
        const made = await vault().post(
          '/tokenize',
          keys.general,
          Array(40).fill({ id, type: 'token', data }),
        )
        assert.equal(made.status, 200, made.text)
        const form = new RegExp(`^${data.replace(/[0-9]/g, '[0-9]')}$`)
        for (const { id } of made.body)
          assert.ok((form.test(id) && !holdsLookAlike(id)) || uuid7.test(id), id)
        assert.equal(new Set(made.body.map(({ id }: { id: string }) => id)).size, 40)
      }
    })

    test('the vault generates the id where every alias drawn would look like a card number (C16.3, C21.4)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const id = `${number} {{ data | alias_preserve_length: 2, 2 }}`
      const made = await vault().create(keys.general, { id, type: 'token', data: 'not a number' })
      assert.match(made.id, uuid7)
    })

    test('an alias that contains a short number by chance is drawn again (C16.3, C16.6)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const data = { routing_number: '021000021', account_number: '7' }
      const id = 'tok{{ data.routing_number | alias_preserve_length: 0, 0 }}'
      const bodies = Array.from({ length: 100 }, () => ({ type: 'bank', id, data }))
      const made = await vault().post('/tokenize', keys.general, bodies)
      assert.equal(made.status, 200, made.text)
      for (const { id } of made.body) assert.ok(!id.includes('7') || uuid7.test(id), id)
      const given = {
        type: 'bank',
        id: `{{ data.account_number }}${id}`,
        data: { ...data, account_number: '000123456789' },
      }
      const refused = await vault().post('/tokens', keys.general, given)
      assert.deepEqual(
        [refused.status, refused.body.errors],
        [400, { id: ['must not contain the number itself'] }],
      )
    })

    test('the id of a generic token may contain its data (C16.6)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const created = await vault().create(keys.general, {
        id: 'no-{{ data }}',
        type: 'token',
        data: '12345',
      })
      assert.equal(created.id, 'no-12345')
    })

    test('an absent id becomes a UUIDv7, a different one each time (§4.2.2, C16.1)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const ids = new Set<string>()
      for (let at = 0; at < 10; at++) {
        const { id } = await vault().create(keys.general, { type: 'token', data: 1 })
        assert.match(id, uuid7)
        ids.add(id)
      }
      assert.equal(ids.size, 10)
    })
  })

  test('a taken id is a conflict, and the token that has it is unchanged (C16.4, C2.18)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const caller = { key: keys.general, counter: keys.private }
    const first = await vault().create(keys.general, { id: 'taken-id', type: 'token', data: 'first value' })
    for (const id of ['taken-id', '{{ data.id }}'])
      await sendAndExpect(
        vault(),
        caller,
        {
          method: 'POST',
          path: '/tokens',
          body: { id, type: 'token', data: { id: 'taken-id', other: 'second value' } },
        },
        { status: 409, absent: ['taken-id', 'first value'] },
      )
    const read = await vault().get('/tokens/taken-id', keys.private)
    assert.equal(read.body.data, 'first value')
    assert.equal(read.body.created_at, first.created_at)
  })

  test('ids that differ only in letter case or Unicode composition are different ids (C16.4)', async () => {
    const { keys } = await vault().tenant(devApplications)
    for (const id of ['token-a', 'TOKEN-A', 'caf\u00e9', 'cafe\u0301'])
      await vault().create(keys.general, { id, type: 'token', data: id })
    for (const id of ['token-a', 'TOKEN-A', 'caf\u00e9', 'cafe\u0301'])
      assert.equal((await vault().get(`/tokens/${encodeURIComponent(id)}`, keys.private)).body.data, id)
  })

  test('an id is free again after its token is deleted (C16.5)', async () => {
    const { keys } = await vault().tenant(devApplications)
    await vault().create(keys.general, { id: 'again', type: 'token', data: 'first' })
    assert.equal((await vault().delete('/tokens/again', keys.private)).status, 204)
    await vault().create(keys.general, { id: 'again', type: 'token', data: 'second' })
    assert.equal((await vault().get('/tokens/again', keys.private)).body.data, 'second')
    assert.equal(await countTokens(vault(), keys.private), 1)
  })

  test('two tenants can use the same id independently (§1.3, C31.9)', async () => {
    const one = await vault().tenant(devApplications)
    const two = await vault().tenant(devApplications)
    await vault().create(one.keys.general, { id: 'same', type: 'token', data: 'one' })
    await vault().create(two.keys.general, { id: 'same', type: 'token', data: 'two' })
    assert.equal((await vault().get('/tokens/same', one.keys.private)).body.data, 'one')
    assert.equal((await vault().get('/tokens/same', two.keys.private)).body.data, 'two')
  })

  test('of several creates at once with one id, exactly one wins (C16.4)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, data) =>
        vault().post('/tokens', keys.general, { id: 'contested', type: 'token', data }),
      ),
    )
    assert.deepEqual(replies.map(({ status }) => status).sort(), [201, ...Array(7).fill(409)])
    assert.equal(await countTokens(vault(), keys.private), 1)
  })

  test('the id of an expired token is free even if a sweep removes the token during the create (C16.4, C17.6)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const expires_at = new Date(vault().now + 1_000).toISOString()
    await vault().create(keys.general, { id: 'swept', type: 'token', data: 1, expires_at })
    vault().now += 1_000
    const { store } = vault()
    const { getToken } = store
    store.getToken = async (tenant, id) => {
      store.getToken = getToken
      await vault().service.jobTimer.runAll()
      return getToken(tenant, id)
    }
    const again = await vault().create(keys.general, { id: 'swept', type: 'token', data: 2 })
    assert.equal(again.id, 'swept')
  })

  test('a taken alias is drawn again, ten times in all, before a UUID is used (C16.3)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const { store } = vault().service.vault
    const { commit, getToken } = store
    const isAlias = (id: string): boolean => id.startsWith('AB')
    const drawn = new Set<string>()
    // Storage in which every alias is taken: a real one would need a million tokens.
    store.getToken = async (tenant, id) =>
      isAlias(id) ? ({ id, expiresAt: null } as Awaited<ReturnType<typeof getToken>>) : getToken(tenant, id)
    store.commit = async set => {
      const [insert] = set.guarded
      if (insert?.kind !== 'insertToken' || !isAlias(insert.row.id)) return commit(set)
      drawn.add(insert.row.id)
      return { committed: false, conflict: 'tokenExists' }
    }
    try {
      const id = '{{ data | alias_preserve_length: 2, 0 }}'
      const created = await vault().create(keys.general, { id, type: 'token', data: 'AB12345678' })
      assert.match(created.id, uuid7)
      assert.equal(drawn.size, 10)
    } finally {
      Object.assign(store, { commit, getToken })
    }
  })
})
