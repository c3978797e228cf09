import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryEngine } from '../rig/every-engine.ts'
import { type Scenario, sendAndExpect } from '../rig/scenario.ts'
import { devApplications } from '../rig/test-vault.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const secret = 'Sensitive Value'

/** A single field, and how it is shown if not as it was sent. */
const kept: readonly { name: string; field: object; shown?: Record<string, unknown> }[] = [
  { name: '§2.1.8 §4.2.6 containers are kept', field: { containers: ['/orders/', '/eu/low/'] } },
  { name: '§2.1.9 §4.2.7 metadata is kept', field: { metadata: { colour: 'blue', empty: '' } } },
  { name: '§2.1.10 §4.2.8 search indexes are kept', field: { search_indexes: ['{{ data }}'] } },
  {
    name: '§2.1.11 §4.2.9 a fingerprint expression is kept',
    field: { fingerprint_expression: '{{ data | upcase }}' },
  },
  {
    name: '§2.1.12 §4.2.11 an expiry is kept',
    field: { expires_at: '2030-01-01T00:00:00+02:00' },
    shown: { expires_at: '2030-01-01T00:00:00.000+02:00' },
  },
]

const scenarios: readonly Scenario[] = [
  ...kept.map(({ name, field, shown = { ...field } }) => ({
    name,
    send: { type: 'token', data: secret, ...field },
    expect: { status: 201, stored: 1, body: shown },
  })),
  {
    name: '§1.1 §3.1 §4.2.12 §2.1.3 §2.1.21 the created token comes back in place of the value',
    send: { type: 'token', data: secret },
    expect: {
      status: 201,
      stored: 1,
      body: {
        id: uuid,
        tenant_id: uuid,
        type: 'token',
        containers: ['/general/high/'],
        fingerprint_expression: '{{ data | stringify }}',
        created_by: uuid,
        created_at: '2026-03-01T12:00:00.000+00:00',
        _extras: { deduplicated: false },
      },
      headers: { location: /^\/tokens\/[0-9a-f-]{36}$/ },
      absent: [secret],
    },
  },
  {
    name: 'C5.1 C12.4 C12.10 §2.1.6 absent fields are left out, and a token without a mask shows no data',
    send: { type: 'token', data: secret },
    expect: {
      status: 201,
      stored: 1,
      lacks: [
        'data',
        'mask',
        'metadata',
        'search_indexes',
        'expires_at',
        'modified_by',
        'modified_at',
        'enrichments',
        'deduplicate_token',
      ],
      absent: [secret],
    },
  },
  {
    name: '§1.4 every field that is given is kept',
    send: {
      id: 'order-1',
      type: 'token',
      data: secret,
      mask: '{{ data | reveal_last: 4 }}',
      containers: ['/orders/', '/eu/low/'],
      metadata: { colour: 'blue', empty: '' },
      search_indexes: ['{{ data }}', '{{ data | last4 }}'],
      fingerprint_expression: '{{ data | upcase }}',
      deduplicate_token: false,
      expires_at: '2030-01-01T00:00:00+02:00',
    },
    expect: {
      status: 201,
      stored: 1,
      body: {
        id: 'order-1',
        data: 'XXXXXXXXXXXalue',
        mask: '{{ data | reveal_last: 4 }}',
        containers: ['/orders/', '/eu/low/'],
        metadata: { colour: 'blue', empty: '' },
        search_indexes: ['{{ data }}', '{{ data | last4 }}'],
        fingerprint_expression: '{{ data | upcase }}',
        fingerprint: /^[1-9A-HJ-NP-Za-km-z]{40,44}$/,
        expires_at: '2030-01-01T00:00:00.000+02:00',
      },
      headers: { location: '/tokens/order-1' },
      absent: [secret],
    },
  },
  {
    name: 'C5.3 null for an optional field is the same as leaving it out',
    send: {
      id: null,
      type: 'token',
      data: secret,
      mask: null,
      containers: null,
      metadata: null,
      search_indexes: null,
      fingerprint_expression: null,
      deduplicate_token: null,
      expires_at: null,
    },
    expect: {
      status: 201,
      stored: 1,
      body: {
        id: uuid,
        containers: ['/general/high/'],
        fingerprint_expression: '{{ data | stringify }}',
        _extras: { deduplicated: false },
      },
      lacks: ['mask', 'metadata', 'search_indexes', 'expires_at'],
    },
  },
  {
    name: 'C5.3 empty metadata is shown as empty, and an empty list of search indexes is left out',
    send: { type: 'token', data: secret, search_indexes: [], metadata: {} },
    expect: { status: 201, stored: 1, body: { metadata: {} }, lacks: ['search_indexes'] },
  },
  {
    name: '§4.2.3 §4.2.13 §7.3 without a type nothing is created',
    send: { data: secret },
    expect: { status: 400, errors: ['type'] },
  },
  {
    name: '§4.2.4 §4.2.13 without data nothing is created',
    send: { type: 'token' },
    expect: { status: 400, errors: ['data'] },
  },
  {
    name: 'C5.4 data: null is refused',
    send: { type: 'token', data: null },
    expect: { status: 400, errors: ['data'] },
  },
  {
    name: 'C5.3 a null type counts as a missing type',
    send: { type: null, data: secret },
    expect: { status: 400, errors: ['type'] },
  },
  {
    name: 'C6.1 C2.6 an unknown field is refused by name',
    send: { type: 'token', data: secret, colour: 'ultramarine' },
    expect: { status: 400, errors: ['colour'] },
  },
  {
    name: 'C6.1 C5.3 an unknown field is refused even if it is null',
    send: { type: 'token', data: secret, colour: null },
    expect: { status: 400, errors: ['colour'] },
  },
  {
    name: 'C5.3 C6.1 empty fields that client libraries of compatible services send ask for nothing',
    send: {
      type: 'token',
      data: secret,
      metadata: null,
      token_intent_id: '',
      privacy: {},
      encrypted: null,
      encryption: [],
    },
    expect: { status: 201, stored: 1, lacks: ['token_intent_id', 'privacy', 'encrypted', 'encryption'] },
  },
  ...[0, false, ' ', [null], { a: null }].map(value => ({
    name: `C6.1 a field of a compatible service that is ${JSON.stringify(value)} has a value, and is unknown`,
    send: { type: 'token', data: secret, privacy: value },
    expect: { status: 400, errors: ['privacy'] },
  })),
  ...['token_intent_id', 'privacy', 'encrypted', 'encryption'].map(name => ({
    name: `C6.1 ${name} with a value is an unknown field like any other`,
    send: { type: 'token', data: secret, [name]: { impact_level: 'low' } },
    expect: { status: 400, errors: [name] },
  })),
  {
    name: 'C6.1 fields that only answers have are refused as unknown',
    send: {
      type: 'token',
      data: secret,
      tenant_id: '6b9a7f0e-7f3c-4a55-9d0c-0f5f6a0c1d2e',
      fingerprint: 'QmFzZTU4',
      created_by: 'somebody',
      created_at: '2026-03-01',
      _extras: {},
      enrichments: {},
    },
    expect: {
      status: 400,
      errors: ['tenant_id', 'fingerprint', 'created_by', 'created_at', '_extras', 'enrichments'],
    },
  },
  {
    name: 'C2.7 a field name with eight digits is reported by its position',
    send: { type: 'token', data: secret, '4242424242424242': 1, a1b2c3d4e5f6g7h8: 2 },
    expect: {
      status: 400,
      errors: ['[key 3]', '[key 4]'],
      absent: ['4242424242424242', 'a1b2c3d4e5f6g7h8'],
    },
  },
  {
    name: 'C2.6 a long field name is cut at 64 characters',
    send: { type: 'token', data: secret, ['n'.repeat(70)]: 1 },
    expect: { status: 400, errors: ['n'.repeat(64)] },
  },
  {
    name: 'C2.2 every fault is reported at once',
    send: {
      type: 'bank',
      data: { routing_number: '021000022', account_number: 'twelve' },
      containers: ['nowhere'],
      metadata: { key: 'v'.repeat(1_025) },
      search_indexes: ['{{ data', '{{ data }}'],
      fingerprint_expression: '{{ nothing }}',
      expires_at: 'tomorrow',
    },
    expect: {
      status: 400,
      errors: [
        'data.routing_number',
        'data.account_number',
        'containers[0]',
        'metadata.key',
        'search_indexes[0]',
        'fingerprint_expression',
        'expires_at',
      ],
    },
  },
  {
    name: 'C9.9 an unknown type is refused',
    send: { type: 'passport', data: secret },
    expect: { status: 400, errors: ['type'] },
  },
  {
    name: 'C9.9 the letter case of a type matters',
    send: { type: 'CARD', data: secret },
    expect: { status: 400, errors: ['type'] },
  },
  {
    name: 'C8.6 a type of more than 50 characters is refused',
    send: { type: 't'.repeat(51), data: secret },
    expect: { status: 400, errors: ['type'] },
  },
]

onEveryEngine('create a token', vault => {
  test('§1.8 §4.0.1 a token is created, listed, read, updated and deleted under base_url', async () => {
    const { keys } = await vault().tenant(devApplications)
    const { id } = await vault().create(keys.general, { type: 'token', data: { a: 1 } })
    assert.equal((await vault().get('/tokens', keys.private)).body.data[0].id, id)
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.private)).body.data, { a: 1 })
    assert.equal((await vault().patch(`/tokens/${id}`, keys.general, { data: { b: 2 } })).status, 200)
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.private)).body.data, { a: 1, b: 2 })
    assert.equal((await vault().delete(`/tokens/${id}`, keys.private)).status, 204)
    assert.equal((await vault().get(`/tokens/${id}`, keys.private)).status, 404)
  })

  for (const { name, send, expect } of scenarios)
    test(name, async () => {
      const { keys } = await vault().tenant(devApplications)
      const caller = { key: keys.general, counter: keys.private }
      await sendAndExpect(vault(), caller, { method: 'POST', path: '/tokens', body: send }, expect)
    })

  test('C9.9 the refusal of an unknown type lists the known ones', async () => {
    const { keys } = await vault().tenant({
      owner: { permissions: ['token:create', 'token:read', 'token:search'] },
    })
    const says =
      'must be one of token, card, bank, card_number, us_bank_account_number, us_bank_routing_number, social_security_number, employer_id_number'
    const created = await vault().post('/tokens', keys.owner, { type: 'passport', data: 1 })
    const listed = await vault().get('/tokens?type=passport', keys.owner)
    for (const { body } of [created, listed]) assert.deepEqual(body.errors, { type: [says] })
    const found = await vault().post('/tokens/search', keys.owner, { query: 'type:passport' })
    assert.deepEqual(found.body.errors, { query: [`a type ${says}, at character 6`] })
  })

  test('C6.2 the refusal of a misspelt field suggests the right name', async () => {
    const { keys } = await vault().tenant(devApplications)
    const misspelt = {
      contaners: 'containers',
      search_index: 'search_indexes',
      exipres_at: 'expires_at',
      expires: 'expires_at',
      meta: 'metadata',
    }
    for (const [sent, meant] of Object.entries(misspelt)) {
      const reply = await vault().post('/tokens', keys.general, { type: 'token', data: 1, [sent]: 1 })
      assert.equal(reply.status, 400)
      assert.match(reply.body.errors[sent][0], new RegExp(`did you mean ${meant}\\?\\)$`))
    }
  })

  test('§1.2 §2.1.2 §2.1.13 the tenant and the application are those of the key', async () => {
    const first = await vault().tenant({ ...devApplications, other: devApplications.general })
    const one = await vault().create(first.keys.general, { type: 'token', data: 1 })
    const two = await vault().create(first.keys.general, { type: 'token', data: 2 })
    const three = await vault().create(first.keys.other, { type: 'token', data: 3 })
    assert.equal(one.tenant_id, first.tenantId)
    assert.equal(one.created_by, two.created_by)
    assert.notEqual(one.created_by, three.created_by)
    assert.notEqual(one.id, two.id)
  })

  test('C1.1 §2.1.1 Location leads to the token, whatever characters its id has', async () => {
    const { keys } = await vault().tenant(devApplications)
    for (const id of [
      'a b',
      'żółw-😀',
      "it's (here)!",
      'semi;colon,',
      'a:b@c$d',
      '...',
      '%7e'.replace('%', '~'),
    ]) {
      const reply = await vault().post('/tokens', keys.general, { id, type: 'token', data: secret })
      assert.equal(reply.status, 201, reply.text)
      assert.equal(reply.headers.get('location'), `/tokens/${encodeURIComponent(id)}`)
      const read = await vault().get(reply.headers.get('location') ?? '', keys.private)
      assert.equal(read.body.id, id)
      assert.equal(read.body.data, secret)
    }
  })

  test('C8.1 C8.2 a body of exactly one MiB is stored and comes back whole', async () => {
    const { keys } = await vault().tenant(devApplications)
    const frame = JSON.stringify({ type: 'token', data: '' })
    const data = 'é'.repeat((1_048_576 - frame.length) / 2)
    const raw = JSON.stringify({ type: 'token', data })
    assert.equal(Buffer.byteLength(raw), 1_048_576)
    const created = await vault().send('POST', '/tokens', { key: keys.general, raw })
    assert.equal(created.status, 201)
    const read = await vault().get(`/tokens/${created.body.id}`, keys.private)
    assert.equal(read.body.data, data)
  })
})
