import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/domain/limits.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { sendAndExpect } from '../rig/scenario.ts'
import { devApplications, owner } from '../rig/test-vault.ts'

type Body = Readonly<Record<string, unknown>>

const number = '4242424242424242'
const card = { type: 'card', data: { number, expiration_month: 1, expiration_year: 2030, cvc: '123' } }
const bank = { type: 'bank', data: { routing_number: '021000021', account_number: '123456789' } }
const ssn = { type: 'social_security_number', data: '078-05-1120' }
const token = (data: unknown, more: Body = {}): Body => ({ type: 'token', data, ...more })

/** A token, and a patch that is refused as a whole. */
const refusals: readonly {
  name: string
  given: Body
  patch: unknown
  errors: readonly string[]
  absent?: readonly string[]
}[] = [
  { name: 'data: null (C18.3)', given: token('abc'), patch: { data: null }, errors: ['data'] },
  { name: 'a change of the id (C16.7)', given: token('abc'), patch: { id: 'another-id' }, errors: ['id'] },
  {
    name: 'a change of the type (C16.7)',
    given: token('abc'),
    patch: { type: 'card_number' },
    errors: ['type'],
  },
  {
    name: 'a change of the tenant (C16.7)',
    given: token('abc'),
    patch: { tenant_id: '6b9a7f0e-7f3c-4a55-9d0c-0f5f6a0c1d2e' },
    errors: ['tenant_id'],
  },
  {
    name: 'id, type and tenant, even as null (C16.7)',
    given: token('abc'),
    patch: { id: null, type: null, tenant_id: null },
    errors: ['id', 'type', 'tenant_id'],
  },
  {
    name: 'fields that only answers have (C6.1)',
    given: token('abc'),
    patch: { fingerprint: 'abcdefgh', created_at: '2026', modified_by: 'someone' },
    errors: ['fingerprint', 'created_at', 'modified_by'],
  },
  {
    name: 'an unknown field beside a good one (C6.1)',
    given: token('abc'),
    patch: { data: 'changed', meta: {} },
    errors: ['meta'],
  },
  {
    name: 'an invalid card number (C18.5, §7.3)',
    given: card,
    patch: { data: { number: '4242424242424241' } },
    errors: ['data.number'],
  },
  {
    name: 'a card without a number (C18.5)',
    given: card,
    patch: { data: { number: null } },
    errors: ['data.number'],
  },
  {
    name: 'card data that is not an object (C18.5)',
    given: card,
    patch: { data: 'a text' },
    errors: ['data'],
  },
  {
    name: 'a card with an unknown property (C18.5, C10.7)',
    given: card,
    patch: { data: { cvv: '73737' } },
    errors: ['data.cvv'],
  },
  {
    name: 'an unknown property, named by its position in the patch, not in the card (C10.7, C13.1, C2.7)',
    given: card,
    patch: { data: { cvc: '456', n73737373: 'x' } },
    errors: ['data[key 2]'],
  },
  {
    name: 'a routing number with a wrong checksum (C18.5, §7.4)',
    given: bank,
    patch: { data: { routing_number: '021000022' } },
    errors: ['data.routing_number'],
  },
  {
    name: 'an invalid social security number (C18.5, C9.7)',
    given: ssn,
    patch: { data: '078-05-112' },
    errors: ['data'],
  },
  {
    name: 'data that the mask cannot render (C18.5)',
    given: token('abcdef', { mask: '{{ data | reveal_last: 4 }}' }),
    patch: { data: { an: 'object' } },
    errors: ['mask'],
  },
  {
    name: 'data that an index cannot render (C18.5)',
    given: token(8, { search_indexes: ['{{ data | plus: 1 }}'] }),
    patch: { data: 'eight' },
    errors: ['search_indexes[0]'],
  },
  {
    name: 'a mask that cannot be parsed (C18.5, C20.4)',
    given: token({ a: 1 }, { mask: { a: '{{ data.a }}' } }),
    patch: { mask: { b: '{{ dat }}' } },
    errors: ['mask.b'],
  },
  {
    name: 'a mask that would show a card number (C13.6, C18.5)',
    given: card,
    patch: { mask: { number: '{{ data.number }}' } },
    errors: ['mask'],
  },
  {
    name: 'a mask that names the cvc (C11.6)',
    given: card,
    patch: { mask: { cvc: '{{ data.cvc }}' } },
    errors: ['mask.cvc'],
  },
  {
    name: 'a mask that grows too large (C18.5, C8.10)',
    given: token('abc', {
      mask: Array(40)
        .fill('m'.repeat(398))
        .reduce((mask, text, at) => Object.assign(mask, { [`k${at}`]: text }), {}),
    }),
    patch: { mask: { more: 'm'.repeat(398) } },
    errors: ['mask'],
  },
  {
    name: 'metadata that grows to too many keys (C18.5, C8.7)',
    given: token('abc', {
      metadata: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, 'v'])),
    }),
    patch: { metadata: { one: 'more' } },
    errors: ['metadata'],
  },
  {
    name: 'metadata values that are not strings (C8.7)',
    given: token('abc'),
    patch: { metadata: { a: 123456, b: ['listed'] } },
    errors: ['metadata.a', 'metadata.b'],
  },
  {
    name: 'a metadata value of 1,025 characters (C8.7)',
    given: token('abc'),
    patch: { metadata: { a: 'v'.repeat(1_025) } },
    errors: ['metadata.a'],
  },
  {
    name: 'an empty list of containers (C19.4)',
    given: token('abc'),
    patch: { containers: [] },
    errors: ['containers'],
  },
  {
    name: 'bad containers (C19.1, C19.4)',
    given: token('abc'),
    patch: { containers: ['/a/', '/A/', 'nowhere'] },
    errors: ['containers[1]', 'containers[2]'],
  },
  {
    name: 'eleven indexes (C8.8)',
    given: token('abc'),
    patch: { search_indexes: Array(11).fill('{{ data }}') },
    errors: ['search_indexes'],
  },
  {
    name: 'an index that cannot be parsed (C20.4)',
    given: token('abc'),
    patch: { search_indexes: ['{{ data }}', '{{'] },
    errors: ['search_indexes[1]'],
  },
  {
    name: 'a fingerprint expression that renders nothing (C14.7)',
    given: token('abc'),
    patch: { fingerprint_expression: '{{ data.none }}' },
    errors: ['fingerprint_expression'],
  },
  {
    name: 'an expiry in the past (C17.2)',
    given: token('abc'),
    patch: { expires_at: '2020-01-01' },
    errors: ['expires_at'],
  },
  {
    name: 'one bad field among good ones (C18.6)',
    given: token('abc'),
    patch: { data: 'changed', metadata: { a: 'b' }, containers: ['/moved/'], expires_at: 'never' },
    errors: ['expires_at'],
  },
  { name: 'a body that is not an object (C2.10)', given: token('abc'), patch: ['abcdef'], errors: ['$'] },
  { name: 'a body that is null (C2.10)', given: token('abc'), patch: null, errors: ['$'] },
]

/** Refusals that depend on stored data, so only callers who can read the token get them (C13). */
const toldToReaders: typeof refusals = [
  ...[number, '4242 4242-4242.4242', `of ${number}.`].map(text => ({
    name: `the card number in metadata, written ${text} (C16.8, C18.5)`,
    given: { ...card, metadata: { of: 'x' } },
    patch: { metadata: { of: null, n: text } },
    errors: ['metadata.n'],
  })),
  {
    name: 'the social security number in metadata, with other data of the patch (C16.8, C18.5)',
    given: ssn,
    patch: { expires_at: '2100-01-01', metadata: { n: '078051120' } },
    errors: ['metadata.n'],
  },
]

/** Refusals that do not depend on stored data, so callers who cannot read the token get them too (C13). */
const toldToAll: typeof refusals = [
  {
    name: 'a card number that the id contains (C16.6, C18.5)',
    given: { ...card, id: 'of-5555555555554444' },
    patch: { data: { number: '5555555555554444' } },
    errors: ['data'],
  },
  {
    name: 'an account number that the id contains (C16.6, C18.5)',
    given: { ...bank, id: 'account 555' },
    patch: { data: { account_number: '555' } },
    errors: ['data'],
  },
  {
    name: 'a social security number that the id contains (C16.6, C18.5)',
    given: { ...ssn, id: 'of-219-09-9999' },
    patch: { data: '219-09-9999' },
    errors: ['data'],
  },
  {
    name: 'a card number that the metadata contains (C16.8, C18.5)',
    given: { ...card, metadata: { n: '5555-5555-5555-4444' } },
    patch: { data: { number: '5555555555554444' } },
    errors: ['data'],
  },
  {
    name: 'a card number and the metadata that contains it (C16.8, C18.5)',
    given: card,
    patch: { data: { number: '5555555555554444' }, metadata: { n: '5555555555554444' } },
    errors: ['metadata.n'],
  },
  {
    name: 'a card number that the token has already, and metadata that contains it (C16.8, C18.5)',
    given: card,
    patch: { data: { number }, metadata: { n: number } },
    errors: ['metadata.n'],
  },
  {
    name: 'a card number contained in an id that looks generated (C16.6, C18.5)',
    given: { ...card, id: '55555555-5555-7009-8abc-0123456789ab' },
    patch: { data: { number: '5555555555557009' } },
    errors: ['data'],
  },
  {
    name: 'an account number contained in an id that looks generated (C16.6, C18.5)',
    given: { ...bank, id: '98765432-0000-7000-8000-000000000000' },
    patch: { data: { account_number: '98765432' } },
    errors: ['data'],
  },
  ...['', '{{ nil }}', '{{ "" }}', '{{ metadata.none }}', '{{ 1 | divided_by: 0 }}'].map(expression => ({
    name: `the fingerprint expression ${JSON.stringify(expression)} (C14.7, C18.5)`,
    given: token('abc'),
    patch: { fingerprint_expression: expression },
    errors: ['fingerprint_expression'],
  })),
  {
    name: 'a fingerprint expression that renders nothing for the data of the patch (C14.7, C18.5)',
    given: token('abc'),
    patch: { data: 'abd', fingerprint_expression: '{{ data.none }}' },
    errors: ['fingerprint_expression'],
  },
  {
    name: 'a mask that cannot be rendered for the data of the patch (C18.5)',
    given: token('abc'),
    patch: { data: 'abd', mask: { a: ['{{ data }}', '{{ data | to_number }}'] } },
    errors: ['mask.a[1]'],
  },
  {
    name: 'a mask that cannot be rendered for any data (C18.5)',
    given: token({ a: 'abc' }),
    patch: { mask: { a: '{{ data.a }}', b: '{{ 1 | divided_by: 0 }}' } },
    errors: ['mask.b'],
  },
  {
    name: 'an index that cannot be rendered for the data of the patch (C18.5)',
    given: token(7),
    patch: { data: 'abd', search_indexes: ['{{ data }}', '{{ data | plus: 1 }}'] },
    errors: ['search_indexes[1]'],
  },
  {
    name: 'an index that cannot be rendered for any data (C18.5)',
    given: token(7),
    patch: { search_indexes: ['{{ data | plus: 1 }}', '{{ "a" | plus: 1 }}'] },
    errors: ['search_indexes[1]'],
  },
  {
    name: 'data that is invalid, with expressions that the stored data cannot render (C13.1, C18.5)',
    given: ssn,
    patch: { data: '078-05-112', mask: '{{ data | to_number }}', fingerprint_expression: '{{ data.none }}' },
    errors: ['data'],
  },
  ...[{ metadata: { a: null } }, { metadata: null }].map(patch => ({
    name: `${JSON.stringify(patch)} where the fingerprint needs that metadata (C14.7, C18.5)`,
    given: { ...token('abc'), metadata: { a: '1' }, fingerprint_expression: '{{ metadata.a }}' },
    patch,
    errors: ['fingerprint_expression'],
  })),
  {
    name: 'data for which the current fingerprint expression renders nothing (C14.7, C18.5)',
    given: { ...token({ a: 1, b: 2 }), fingerprint_expression: '{{ data.a }}' },
    patch: { data: 'x' },
    errors: ['fingerprint_expression'],
  },
  {
    name: 'data that the current mask cannot render (C18.5)',
    given: { ...token(5), mask: { a: '{{ data }}', b: ['{{ data | plus: 1 }}'] } },
    patch: { data: 'abc' },
    errors: ['mask.b[0]'],
  },
  {
    name: 'data that a current index cannot render (C18.5)',
    given: { ...token(5), search_indexes: ['{{ data | plus: 1 }}'] },
    patch: { data: 'abc' },
    errors: ['search_indexes[0]'],
  },
]

onOneEngine('refused updates', 'patches are judged above storage', vault => {
  const blind = devApplications.general
  const cases = [
    ...[...refusals, ...toldToReaders].map(refusal => ({ ...refusal, by: 'owner' as const })),
    ...toldToAll.flatMap(refusal => (['owner', 'blind'] as const).map(by => ({ ...refusal, by }))),
  ]
  for (const { name, given, patch, errors, absent = [], by } of cases)
    test(`${name}${by === 'blind' ? ', from a caller who cannot read' : ''}: refused, and the token is unchanged`, async () => {
      const { keys } = await vault().tenant({ owner, blind })
      const { id } = await vault().create(keys.owner, given)
      const before = (await vault().get(`/tokens/${id}`, keys.owner)).text
      vault().now += 1_000
      await sendAndExpect(
        vault(),
        { key: keys[by], counter: keys.owner },
        { method: 'PATCH', path: `/tokens/${id}`, body: patch },
        { status: 400, errors, absent },
      )
      assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).text, before)
    })

  test('the refusal of id, type and tenant says that they cannot be changed; elsewhere their names are like any other (C16.7, C6.1)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token({ a: 1 }))
    const patch = { id: 'another-id', type: 'card', tenant_id: 'x', typ: 'card' }
    const reply = await vault().patch(`/tokens/${id}`, keys.owner, patch)
    assert.deepEqual(reply.body.errors, {
      id: ['cannot be changed'],
      type: ['cannot be changed'],
      tenant_id: ['cannot be changed'],
      typ: ['is not a known field'],
    })
    const inside = { data: { id: 'x', type: 'y' }, metadata: { id: 'x', type: 'y' } }
    assert.equal((await vault().patch(`/tokens/${id}`, keys.owner, inside)).status, 200)
  })

  for (const by of ['owner', 'blind'] as const)
    test(`an id that looks like one the vault has just made, but was chosen, keeps the number out, for the ${by} (C16.9)`, async () => {
      const { keys } = await vault().tenant({ owner, blind })
      const time = vault().now.toString(16).padStart(12, '0')
      const id = `${time.slice(0, 8)}-${time.slice(8)}-7abc-8def-400000000002`
      await vault().create(keys.owner, { ...card, id })
      await sendAndExpect(
        vault(),
        { key: keys[by], counter: keys.owner },
        { method: 'PATCH', path: `/tokens/${id}`, body: { data: { number: '400000000002' } } },
        { status: 400, errors: ['data'] },
      )
    })

  test('a caller who cannot read learns nothing by guessing the number in metadata (C16.10, C13.1)', async () => {
    const { keys } = await vault().tenant({ owner, blind })
    const { id } = await vault().create(keys.owner, card)
    for (const guess of [number, '5555555555554444']) {
      const reply = await vault().patch(`/tokens/${id}`, keys.blind, { metadata: { guess } })
      assert.deepEqual([reply.status, reply.body.metadata], [200, { guess }])
      // Nor from whether others can change the token from then on.
      const month = { data: { expiration_month: 2 } }
      assert.equal((await vault().patch(`/tokens/${id}`, keys.owner, month)).status, 200)
    }
  })

  test('metadata that contains the number can be removed, also together with what is refused otherwise (C16.8)', async () => {
    const { keys } = await vault().tenant({ owner, blind })
    const { id } = await vault().create(keys.owner, card)
    await vault().patch(`/tokens/${id}`, keys.blind, { metadata: { [number]: number, n: number } })
    const patch = { data: { number }, metadata: { [number]: null, n: 'x' } }
    const reply = await vault().patch(`/tokens/${id}`, keys.owner, patch)
    assert.deepEqual([reply.status, reply.body.metadata], [200, { n: 'x' }])
  })

  test('a number that a generated id contains by chance is accepted (C16.1, C16.6)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, bank)
    const [digits = ''] = /\d+/.exec(id) ?? []
    const reply = await vault().patch(`/tokens/${id}`, keys.owner, { data: { account_number: digits } })
    assert.equal(reply.status, 200)
  })

  test('metadata that no merge can make valid is refused before the token is looked up (C3.1, C8.7)', async () => {
    const { keys } = await vault().tenant({ owner })
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`k${index}`, 'v']))
    for (const metadata of [{ a: 'x'.repeat(1_025) }, { ['k'.repeat(65)]: 'v' }, many]) {
      const reply = await vault().patch('/tokens/nobody-has-it', keys.owner, { metadata })
      assert.equal(reply.status, 400, reply.text)
    }
    const removed = { metadata: { ['k'.repeat(65)]: null } }
    assert.equal((await vault().patch('/tokens/nobody-has-it', keys.owner, removed)).status, 404)
  })

  test('a fault that depends on stored data is not reported to a caller who cannot read it (C13.1)', async () => {
    const { keys } = await vault().tenant({ owner, blind })
    for (const patch of [
      { fingerprint_expression: '{{ data.none }}' },
      { fingerprint_expression: '{{ metadata.none | default: data.none }}' },
      { mask: '{{ data | to_number }}' },
      { mask: { a: '4242424242', b: '{{ data.a | to_number }}' } },
      { search_indexes: ['{{ data | plus: 1 }}'] },
      // Changes the data, but leaves some of it.
      { data: { b: 'x' }, mask: { b: '{{ data.a | to_number }}' } },
    ])
      for (const data of [{ a: 'abc' }, { none: 'x', a: '7' }]) {
        const { id } = await vault().create(keys.owner, token(data))
        const reply = await vault().patch(`/tokens/${id}`, keys.blind, patch)
        assert.equal(reply.status, 200, JSON.stringify(patch))
      }
    // A literal mask that happens to consist of digits of the number.
    const { id } = await vault().create(keys.owner, { type: 'card_number', data: number })
    const reply = await vault().patch(`/tokens/${id}`, keys.blind, { mask: '42424242424242' })
    assert.equal(reply.status, 200)
  })

  test('a card number in a patch must not occur in the mask, whoever sends it (C13.6)', async () => {
    const { keys } = await vault().tenant({ owner, blind })
    const other = '4000056655665556'
    for (const mask of [`note ${other}`, { a: { [other]: 'x' } }, '4000 0566 5566 5556'])
      for (const key of [keys.owner, keys.blind]) {
        const { id } = await vault().create(keys.owner, { type: 'card', data: { number }, mask })
        const reply = await vault().patch(`/tokens/${id}`, key, { data: { number: other } })
        assert.equal(reply.status, 400, JSON.stringify(mask))
        assert.deepEqual(Object.keys(reply.body.errors), ['mask'])
        assert.deepEqual((await vault().get(`/tokens/${id}`, keys.owner)).body.data, { number })
        const harmless = { data: { number: '4111111111111111' } }
        assert.equal((await vault().patch(`/tokens/${id}`, key, harmless)).status, 200)
      }
  })

  test('a refusal does not depend on how long the hidden data is (C13)', async () => {
    const rules = [
      { priority: 1, container: '/', transform: 'redact', permissions: ['token:update'] },
    ] as const
    const { keys } = await vault().tenant({ owner, form: { type: 'public', rules } })
    const room = limits.bodyBytes - '{"data":{"z":""}}'.length
    for (const { type, data } of [card, bank]) {
      const { id } = await vault().create(keys.owner, { type, data })
      const stored = Buffer.byteLength(JSON.stringify(data))
      const told = new Set<string>()
      for (const length of [1, room - stored - 5, room - stored, room]) {
        const reply = await vault().patch(`/tokens/${id}`, keys.form, { data: { z: 'x'.repeat(length) } })
        assert.equal(reply.status, 400)
        told.add(JSON.stringify(reply.body.errors))
      }
      assert.equal(told.size, 1, [...told].join())
    }
  })

  test('a wish for deduplication makes no fingerprint for a writer who cannot read (C13.1)', async () => {
    const { keys } = await vault().tenant(
      {
        owner,
        writer: { permissions: ['token:update'] },
        masked: { permissions: ['token:read', 'token:update'] },
      },
      { fingerprintTokens: false },
    )
    const { id } = await vault().create(keys.owner, token('4711'))
    const asks = { deduplicate_token: true }
    assert.equal((await vault().patch(`/tokens/${id}`, keys.masked, asks)).status, 403)
    // Without that wish there is no fingerprint to guard.
    for (const harmless of [{}, { metadata: { a: 'b' } }, { deduplicate_token: false }])
      assert.equal((await vault().patch(`/tokens/${id}`, keys.masked, harmless)).status, 200)
    const asked = await vault().patch(`/tokens/${id}`, keys.writer, asks)
    assert.deepEqual([asked.status, asked.body.fingerprint], [200, undefined])
    assert.equal((await vault().patch(`/tokens/${id}`, keys.writer, {})).body.fingerprint, undefined)

    // Data that the writer sends whole is its own.
    const own = await vault().patch(`/tokens/${id}`, keys.writer, { ...asks, data: 'mine' })
    assert.equal(own.status, 200)
    const other = await vault().create(keys.owner, token('theirs'))
    const replaced = await vault().patch(`/tokens/${other.id}`, keys.writer, { ...asks, data: 'mine, too' })
    assert.ok(replaced.body.fingerprint)
    const masked = await vault().patch(`/tokens/${other.id}`, keys.masked, { ...asks, data: 'mine again' })
    assert.equal(masked.status, 200, 'the fingerprint is there already')
    const third = await vault().create(keys.owner, token('theirs, too'))
    const first = await vault().patch(`/tokens/${third.id}`, keys.masked, { ...asks, data: 'masked' })
    assert.equal(first.status, 200, first.text)
    const equal = await vault().create(keys.owner, token('masked', asks))
    assert.equal(equal.id, third.id)
  })

  test('a long mask stays readable when a caller who cannot read changes something else (C13.1)', async () => {
    const { keys } = await vault().tenant({
      owner,
      writer: { permissions: ['token:update'] },
      masked: { permissions: ['token:read'] },
    })
    const leaf = "**** {{ data.number | last4 }}, exp {{ data | card_exp: 'MM/YY' }}"
    const mask = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`leaf ${at}`, `${at} ${leaf}`]))
    const { id } = await vault().create(keys.owner, { ...card, mask })
    const shown = async () => (await vault().get(`/tokens/${id}`, keys.masked)).body.data
    const before = await shown()
    assert.equal(before['leaf 5'], '5 **** 4242, exp 01/30')
    assert.equal((await vault().patch(`/tokens/${id}`, keys.writer, { metadata: { a: 'b' } })).status, 200)
    assert.deepEqual(await shown(), before)
    // Such a mask cannot be judged on other data without reading it, so then it is withheld.
    const data = { number: '4111111111111111' }
    assert.equal((await vault().patch(`/tokens/${id}`, keys.writer, { data })).status, 200)
    assert.equal(await shown(), undefined)
    assert.equal((await vault().patch(`/tokens/${id}`, keys.writer, { metadata: { a: 'c' } })).status, 200)
    assert.equal(await shown(), undefined)
  })

  test('a caller without reveal may not change a field that a search index joins with hidden data (C13.4)', async () => {
    const { keys } = await vault().tenant({ owner, masked: { permissions: ['token:read', 'token:update'] } })
    const search_indexes = ['{{ data.label }}{{ data.ssn }}']
    const { id } = await vault().create(
      keys.owner,
      token({ label: 'x', ssn: '123456789' }, { search_indexes }),
    )
    for (const label of [null, 'y'])
      assert.equal((await vault().patch(`/tokens/${id}`, keys.masked, { data: { label } })).status, 403)
  })

  test('no expression in an update may name a short-lived field (C11.6)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, card)
    const text = '{{ data.cvc | default: "x" }}'
    for (const [part, place] of [
      ['mask', 'mask'],
      ['search_indexes', 'search_indexes[0]'],
      ['fingerprint_expression', 'fingerprint_expression'],
    ] as const) {
      const value = part === 'search_indexes' ? [text] : text
      const reply = await vault().patch(`/tokens/${id}`, keys.owner, { [part]: value })
      assert.deepEqual([reply.status, Object.keys(reply.body.errors ?? {})], [400, [place]])
    }
  })

  test('a change that makes an expression render hidden data is refused, whatever else the patch changes (C13.4)', async () => {
    const { keys } = await vault().tenant({ owner, masked: { permissions: ['token:read', 'token:update'] } })
    const mask = '{{ data.label | default: data.ssn }}'
    for (const patch of [
      { data: { label: null, other: 'x' } },
      { data: { other: 'x', label: null } },
      { data: { label: null }, metadata: { a: 'b' } },
    ]) {
      const { id } = await vault().create(keys.owner, token({ label: 'shown', ssn: '123-45-6789' }, { mask }))
      assert.equal((await vault().patch(`/tokens/${id}`, keys.masked, patch)).status, 403)
      assert.equal((await vault().get(`/tokens/${id}`, keys.masked)).body.data, 'shown')
    }
    // Once everything that the expression reads is the caller's own, there is nothing hidden to render.
    const { id } = await vault().create(keys.owner, token({ label: 'shown', ssn: '123-45-6789' }, { mask }))
    const own = { data: { label: null, ssn: 'sent by the caller' } }
    assert.equal((await vault().patch(`/tokens/${id}`, keys.masked, own)).body.data, 'sent by the caller')
  })

  /** A token whose mask shows a label, and a patch after which it would show the number instead. */
  const steering: readonly { name: string; data: Body; mask: string; patch: Body }[] = [
    {
      name: 'an empty object where the expression reads a property without a name',
      data: { label: 'shown', s: { '': '123-45-6789' } },
      mask: "{{ data.label | default: data.s[''] }}",
      patch: { label: null, s: {} },
    },
    {
      name: 'an empty object within another',
      data: { label: 'shown', s: { t: { '': '123-45-6789' } } },
      mask: "{{ data.label | default: data.s.t[''] }}",
      patch: { label: null, s: { t: {} } },
    },
    {
      name: 'an object in the place of a list, with the number of the element as its only name',
      data: { list: [{ label: 'shown' }], ssn: '123-45-6789' },
      mask: '{{ data.list[0].label | default: data.ssn }}',
      patch: { list: { 0: { other: 'x' } } },
    },
    {
      name: 'an object in the place of a list, with the number of the element and another name',
      data: { list: [{ label: 'shown' }], ssn: '123-45-6789' },
      mask: '{{ data.list[0].label | default: data.ssn }}',
      patch: { list: { 0: { other: 'x' }, more: 'x' } },
    },
  ]
  for (const { name, data, mask, patch } of steering)
    test(`a patch steers a mask to hidden data with ${name}: nothing is shown (C13.1, C13.4)`, async () => {
      const { keys } = await vault().tenant({
        owner,
        masked: { permissions: ['token:read', 'token:update'] },
        writer: { permissions: ['token:update'] },
      })
      const { id } = await vault().create(keys.owner, token(data, { mask }))
      assert.equal((await vault().patch(`/tokens/${id}`, keys.masked, { data: patch })).status, 403)
      assert.equal((await vault().get(`/tokens/${id}`, keys.masked)).body.data, 'shown')
      const written = await vault().patch(`/tokens/${id}`, keys.writer, { data: patch })
      assert.deepEqual([written.status, written.body.data], [200, undefined])
    })
})
