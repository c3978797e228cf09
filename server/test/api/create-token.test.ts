import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryEngine } from '../rig/every-engine.ts'
import { type Scenario, sendAndExpect } from '../rig/scenario.ts'
import { devApplications } from '../rig/test-vault.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const secret = 'Sensitive Value'

/** A single field, and how it is shown if not as it was sent. */
const kept: readonly { name: string; field: object; shown?: Record<string, unknown> }[] = [
  { name: 'containers are kept (§2.1.8, §4.2.6)', field: { containers: ['/orders/', '/eu/low/'] } },
  { name: 'metadata is kept (§2.1.9, §4.2.7)', field: { metadata: { colour: 'blue', empty: '' } } },
  { name: 'search indexes are kept (§2.1.10, §4.2.8)', field: { search_indexes: ['{{ data }}'] } },
  {
    name: 'a fingerprint expression is kept (§2.1.11, §4.2.9)',
    field: { fingerprint_expression: '{{ data | upcase }}' },
  },
  {
    name: 'an expiry is kept (§2.1.12, §4.2.11)',
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
    name: 'the created token comes back in place of the value (§1.1, §3.1, §4.2.12, §2.1.3, §2.1.21)',
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
    name: 'absent fields are left out, and a token without a mask shows no data (C5.1, C12.4, C12.10, §2.1.6)',
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
    name: 'every field that is given is kept (§1.4)',
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
    name: 'null for an optional field is the same as leaving it out (C5.3)',
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
    name: 'empty metadata is shown as empty, and an empty list of search indexes is left out (C5.3)',
    send: { type: 'token', data: secret, search_indexes: [], metadata: {} },
    expect: { status: 201, stored: 1, body: { metadata: {} }, lacks: ['search_indexes'] },
  },
  {
    name: 'without a type nothing is created (§4.2.3, §4.2.13, §7.3)',
    send: { data: secret },
    expect: { status: 400, errors: ['type'] },
  },
  {
    name: 'without data nothing is created (§4.2.4, §4.2.13)',
    send: { type: 'token' },
    expect: { status: 400, errors: ['data'] },
  },
  {
    name: 'data: null is refused (C5.4)',
    send: { type: 'token', data: null },
    expect: { status: 400, errors: ['data'] },
  },
  {
    name: 'a null type counts as a missing type (C5.3)',
    send: { type: null, data: secret },
    expect: { status: 400, errors: ['type'] },
  },
  {
    name: 'an unknown field is refused by name (C6.1, C2.6)',
    send: { type: 'token', data: secret, colour: 'ultramarine' },
    expect: { status: 400, errors: ['colour'] },
  },
  {
    name: 'an unknown field is refused even if it is null (C6.1, C5.3)',
    send: { type: 'token', data: secret, colour: null },
    expect: { status: 400, errors: ['colour'] },
  },
  {
    name: 'empty fields that client libraries of compatible services send ask for nothing (C5.3, C6.1)',
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
    name: `a field of a compatible service that is ${JSON.stringify(value)} has a value, and is unknown (C6.1)`,
    send: { type: 'token', data: secret, privacy: value },
    expect: { status: 400, errors: ['privacy'] },
  })),
  ...['token_intent_id', 'privacy', 'encrypted', 'encryption'].map(name => ({
    name: `${name} with a value is an unknown field like any other (C6.1)`,
    send: { type: 'token', data: secret, [name]: { impact_level: 'low' } },
    expect: { status: 400, errors: [name] },
  })),
  {
    name: 'fields that only answers have are refused as unknown (C6.1)',
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
    name: 'a field name with eight digits is reported by its position (C2.7)',
    send: { type: 'token', data: secret, '4242424242424242': 1, a1b2c3d4e5f6g7h8: 2 },
    expect: {
      status: 400,
      errors: ['[key 3]', '[key 4]'],
      absent: ['4242424242424242', 'a1b2c3d4e5f6g7h8'],
    },
  },
  {
    name: 'a long field name is cut at 64 characters (C2.6)',
    send: { type: 'token', data: secret, ['n'.repeat(70)]: 1 },
    expect: { status: 400, errors: ['n'.repeat(64)] },
  },
  {
    name: 'every fault is reported at once (C2.2)',
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
    name: 'an unknown type is refused (C9.9)',
    send: { type: 'passport', data: secret },
    expect: { status: 400, errors: ['type'] },
  },
  {
    name: 'the letter case of a type matters (C9.9)',
    send: { type: 'CARD', data: secret },
    expect: { status: 400, errors: ['type'] },
  },
  {
    name: 'a type of more than 50 characters is refused (C8.6)',
    send: { type: 't'.repeat(51), data: secret },
    expect: { status: 400, errors: ['type'] },
  },
]

onEveryEngine('create a token', (vault, aboveStorage) => {
  test('a token is created, listed, read, updated and deleted under base_url (§1.8, §4.0.1)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const { id } = await vault().create(keys.general, { type: 'token', data: { a: 1 } })
    assert.equal((await vault().get('/tokens', keys.private)).body.data[0].id, id)
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.private)).body.data, { a: 1 })
    assert.equal((await vault().patch(`/tokens/${id}`, keys.general, { data: { b: 2 } })).status, 200)
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.private)).body.data, { a: 1, b: 2 })
    assert.equal((await vault().delete(`/tokens/${id}`, keys.private)).status, 204)
    assert.equal((await vault().get(`/tokens/${id}`, keys.private)).status, 404)
  })

  aboveStorage(() => {
    for (const { name, send, expect } of scenarios)
      test(name, async () => {
        const { keys } = await vault().tenant(devApplications)
        const caller = { key: keys.general, counter: keys.private }
        await sendAndExpect(vault(), caller, { method: 'POST', path: '/tokens', body: send }, expect)
      })

    test('the refusal of an unknown type lists the known ones (C9.9)', async () => {
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

    test('the refusal of a misspelt field suggests the right name (C6.2)', async () => {
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
  })

  test('the tenant and the application are those of the key (§1.2, §2.1.2, §2.1.13)', async () => {
    const first = await vault().tenant({ ...devApplications, other: devApplications.general })
    const one = await vault().create(first.keys.general, { type: 'token', data: 1 })
    const two = await vault().create(first.keys.general, { type: 'token', data: 2 })
    const three = await vault().create(first.keys.other, { type: 'token', data: 3 })
    assert.equal(one.tenant_id, first.tenantId)
    assert.equal(one.created_by, two.created_by)
    assert.notEqual(one.created_by, three.created_by)
    assert.notEqual(one.id, two.id)
  })

  test('Location leads to the token, whatever characters its id has (C1.1, §2.1.1)', async () => {
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

  test('a body of exactly one MiB is stored and comes back whole (C8.1, C8.2)', async () => {
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
