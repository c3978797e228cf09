import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryEngine } from '../rig/every-engine.ts'
import { devApplications, owner, type TestVault } from '../rig/test-vault.ts'

const number = '4242424242424242'

/** Bodies of creates as texts, to control how a number is spelt and in which order keys come. */
const same: readonly { name: string; bodies: readonly string[] }[] = [
  { name: 'the same text (§2.1.7)', bodies: ['{"type":"token","data":"x"}', '{"data":"x","type":"token"}'] },
  {
    name: 'objects whatever the order of their keys (C14.2, C7.4)',
    bodies: [
      '{"type":"token","data":{"a":1,"b":{"c":[1,2],"d":null}}}',
      '{"type":"token","data":{"b":{"d":null,"c":[1,2]},"a":1}}',
    ],
  },
  {
    name: 'numbers whatever their spelling (C14.2, C7.4)',
    bodies: ['{"type":"token","data":1}', '{"type":"token","data":1.0}', '{"type":"token","data":10e-1}'],
  },
  {
    name: 'exact numbers whatever their spelling (C14.2)',
    bodies: ['{"type":"token","data":1e400}', '{"type":"token","data":10.0e399}'],
  },
  {
    name: 'cards with the same number, whatever else they hold (C9.2, §2.1.20)',
    bodies: [
      `{"type":"card","data":{"number":"${number}"}}`,
      `{"type":"card","data":{"number":"${number}","expiration_month":1,"expiration_year":2030,"cvc":"123"}}`,
    ],
  },
  {
    name: 'numbers with and without dashes (C9.7)',
    bodies: [
      '{"type":"social_security_number","data":"078-05-1120"}',
      '{"type":"social_security_number","data":"078051120"}',
    ],
  },
  {
    name: 'values that the expression makes equal (C14.5)',
    bodies: [
      '{"type":"token","data":"abc","fingerprint_expression":"{{ data | upcase }}"}',
      '{"type":"token","data":"ABC","fingerprint_expression":"{{ data | upcase }}"}',
    ],
  },
  {
    name: 'values and metadata that render the same together (C20.2)',
    bodies: [
      '{"type":"token","data":"a","metadata":{"k":"b"},"fingerprint_expression":"{{ data }}{{ metadata.k }}"}',
      '{"type":"token","data":"ab","metadata":{},"fingerprint_expression":"{{ data }}{{ metadata.k }}"}',
    ],
  },
  {
    name: 'tokens that differ only in mask, metadata, containers, indexes and expiry (C14.1)',
    bodies: [
      '{"type":"token","data":"x"}',
      '{"type":"token","data":"x","mask":"m","metadata":{"a":"b"},"containers":["/c/"],"search_indexes":["{{data}}"],"expires_at":"2030-01-01"}',
    ],
  },
]

const different: readonly { name: string; bodies: readonly string[] }[] = [
  { name: 'two texts (§2.1.7)', bodies: ['{"type":"token","data":"x"}', '{"type":"token","data":"y"}'] },
  {
    name: 'texts that differ in letter case or composition (C14.1)',
    bodies: [
      '{"type":"token","data":"é"}',
      '{"type":"token","data":"É"}',
      '{"type":"token","data":"e\\u0301"}',
    ],
  },
  {
    name: 'values of different JSON types (C14.1, C14.3)',
    bodies: [
      '{"type":"token","data":8}',
      '{"type":"token","data":"8"}',
      '{"type":"token","data":[8]}',
      '{"type":"token","data":"[8]"}',
      '{"type":"token","data":{"a":8}}',
      '{"type":"token","data":"{\\"a\\":8}"}',
      '{"type":"token","data":true}',
      '{"type":"token","data":"true"}',
    ],
  },
  {
    name: 'tokens of different types (C14.1)',
    bodies: [
      '{"type":"token","data":"021000021"}',
      '{"type":"us_bank_routing_number","data":"021000021"}',
      '{"type":"us_bank_account_number","data":"021000021"}',
    ],
  },
  {
    name: 'numbers that are equal as doubles (C14.2)',
    bodies: [
      '{"type":"token","data":12345678901234567890}',
      '{"type":"token","data":12345678901234567891}',
      '{"type":"token","data":12345678901234567000}',
    ],
  },
  {
    name: 'arrays with another order or other element boundaries (C14.2)',
    bodies: [
      '{"type":"token","data":["1","23"]}',
      '{"type":"token","data":["12","3"]}',
      '{"type":"token","data":["23","1"]}',
    ],
  },
  {
    name: 'an empty text, list and object (C14.2)',
    bodies: ['""', '[]', '{}'].map(data => `{"type":"token","data":${data}}`),
  },
]

onEveryEngine('fingerprints', (vault, aboveStorage) => {
  test('a fingerprint is removed with the last reason for it (C14.5, C18.2)', async () => {
    const { keys } = await vault().tenant({ owner }, { fingerprintTokens: false })
    for (const [reason, withoutIt] of [
      [{ fingerprint_expression: '{{ data }}' }, { fingerprint_expression: null }],
      [{ deduplicate_token: true }, { deduplicate_token: null }],
      [{ deduplicate_token: true }, { deduplicate_token: false }],
    ]) {
      const made = await vault().create(keys.owner, { type: 'token', data: 'x', ...reason })
      assert.equal(typeof made.fingerprint, 'string')
      const kept = await vault().patch(`/tokens/${made.id}`, keys.owner, { metadata: { a: 'b' } })
      assert.equal(kept.body.fingerprint, made.fingerprint)
      const reply = await vault().patch(`/tokens/${made.id}`, keys.owner, withoutIt)
      assert.equal(reply.body.fingerprint, undefined, JSON.stringify(withoutIt))
    }
  })

  const fingerprints = async (at: TestVault, bodies: readonly string[]): Promise<string[]> => {
    const { keys } = await at.tenant(devApplications)
    const found: string[] = []
    for (const raw of bodies) {
      const reply = await at.send('POST', '/tokens', { key: keys.general, raw })
      assert.equal(reply.status, 201, reply.text)
      assert.match(reply.body.fingerprint, /^[1-9A-HJ-NP-Za-km-z]{40,44}$/)
      const read = await at.get(`/tokens/${reply.body.id}`, keys.private)
      assert.equal(read.body.fingerprint, reply.body.fingerprint)
      found.push(reply.body.fingerprint)
    }
    return found
  }

  aboveStorage(() => {
    for (const { name, bodies } of same)
      test(`${name}: the same fingerprint`, async () => {
        assert.equal(new Set(await fingerprints(vault(), bodies)).size, 1)
      })

    for (const { name, bodies } of different)
      test(`${name}: different fingerprints`, async () => {
        assert.equal(new Set(await fingerprints(vault(), bodies)).size, bodies.length)
      })
  })

  test('another tenant has different fingerprints (C14.1, §1.3)', async () => {
    const [one] = await fingerprints(vault(), ['{"type":"token","data":"x"}'])
    const [two] = await fingerprints(vault(), ['{"type":"token","data":"x"}'])
    assert.notEqual(one, two)
  })

  test('the fingerprint of a value is the same after a restart (C14.4)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const before = await vault().create(keys.general, { type: 'token', data: 'x' })
    await vault().restart()
    const after = await vault().create(keys.general, { type: 'token', data: 'x' })
    assert.equal(after.fingerprint, before.fingerprint)
  })

  aboveStorage(() => {
    test('without the tenant setting only an expression or deduplication makes a fingerprint (§2.4.11, C14.5, C12.9, C12.8)', async () => {
      const { keys } = await vault().tenant(devApplications, { fingerprintTokens: false })
      const cases = [
        { body: {}, has: false, expression: '{{ data | stringify }}' },
        { body: { deduplicate_token: false }, has: false, expression: '{{ data | stringify }}' },
        { body: { fingerprint_expression: null }, has: false, expression: '{{ data | stringify }}' },
        { body: { fingerprint_expression: '{{ data }}' }, has: true, expression: '{{ data }}' },
        { body: { deduplicate_token: true }, has: true, expression: '{{ data | stringify }}' },
      ]
      for (const { body, has, expression } of cases) {
        const created = await vault().create(keys.general, { type: 'token', data: 'x', ...body })
        const { body: read } = await vault().get(`/tokens/${created.id}`, keys.private)
        assert.equal('fingerprint' in created, has)
        assert.equal('fingerprint' in read, has)
        assert.equal(created.fingerprint_expression, expression)
      }
    })
  })

  test('the tenant setting to deduplicate makes a fingerprint too (§2.4.10, C14.5)', async () => {
    const settings = { fingerprintTokens: false, deduplicateTokens: true }
    const { keys } = await vault().tenant(devApplications, settings)
    assert.ok((await vault().create(keys.general, { type: 'token', data: 'x' })).fingerprint)
    const created = await vault().create(keys.general, { type: 'token', data: 'y', deduplicate_token: false })
    assert.equal('fingerprint' in created, false)
  })

  test('switching the setting on affects only later writes (C14.6)', async () => {
    const { keys } = await vault().tenant(
      { owner, management: { type: 'management', permissions: ['tenant:update'] } },
      { fingerprintTokens: false },
    )
    const old = await vault().create(keys.owner, { type: 'token', data: 'x' })
    const settings = { fingerprint_tokens: 'true' }
    const { status } = await vault().send('PUT', '/tenants/self', {
      key: keys.management,
      body: { name: 'Test', settings },
    })
    assert.equal(status, 200)
    const { fingerprint } = await vault().create(keys.owner, { type: 'token', data: 'x' })
    assert.ok(fingerprint)
    assert.equal('fingerprint' in (await vault().get(`/tokens/${old.id}`, keys.owner)).body, false)
    const { body } = await vault().patch(`/tokens/${old.id}`, keys.owner, { data: 'x' })
    assert.equal(body.fingerprint, fingerprint)
  })

  test('once the setting is off, new data gets no fingerprint and old data keeps its own (C14.5)', async () => {
    const { keys } = await vault().tenant({
      owner,
      management: { type: 'management', permissions: ['tenant:update'] },
    })
    const { id, fingerprint } = await vault().create(keys.owner, { type: 'token', data: 'x' })
    const { status } = await vault().send('PUT', '/tenants/self', {
      key: keys.management,
      body: { name: 'Test', settings: { fingerprint_tokens: 'false' } },
    })
    assert.equal(status, 200)
    const described = await vault().patch(`/tokens/${id}`, keys.owner, { metadata: { k: 'v' } })
    assert.equal(described.body.fingerprint, fingerprint)
    const changed = await vault().patch(`/tokens/${id}`, keys.owner, { data: 'y' })
    assert.equal('fingerprint' in changed.body, false)
    const asked = { fingerprint_expression: '{{ data }}' }
    assert.ok((await vault().patch(`/tokens/${id}`, keys.owner, asked)).body.fingerprint)
    assert.ok((await vault().patch(`/tokens/${id}`, keys.owner, { data: 'z' })).body.fingerprint)
  })

  test('the fingerprint follows the data and the expression through updates (§2.1.7, §4.5.9)', async () => {
    const { keys } = await vault().tenant({ owner })
    const x = await vault().create(keys.owner, { type: 'token', data: 'x' })
    const y = await vault().create(keys.owner, { type: 'token', data: 'y' })
    const patched = await vault().patch(`/tokens/${x.id}`, keys.owner, { data: 'y' })
    assert.equal(patched.body.fingerprint, y.fingerprint)
    const upper = await vault().patch(`/tokens/${x.id}`, keys.owner, {
      fingerprint_expression: '{{ data | upcase }}',
    })
    assert.equal(upper.body.fingerprint_expression, '{{ data | upcase }}')
    assert.notEqual(upper.body.fingerprint, y.fingerprint)
    const back = await vault().patch(`/tokens/${x.id}`, keys.owner, { fingerprint_expression: null })
    assert.equal(back.body.fingerprint_expression, '{{ data | stringify }}')
    assert.equal(back.body.fingerprint, y.fingerprint)
  })

  aboveStorage(() => {
    test('data for which the expression renders nothing is refused (C14.7, C18.5, C18.6)', async () => {
      const { keys } = await vault().tenant({ owner })
      const fingerprint_expression = '{{ data.id }}'
      const made = await vault().create(keys.owner, {
        type: 'token',
        data: { id: 'a' },
        fingerprint_expression,
      })
      const reply = await vault().patch(`/tokens/${made.id}`, keys.owner, { data: { id: null } })
      assert.equal(reply.status, 400)
      assert.deepEqual(Object.keys(reply.body.errors), ['fingerprint_expression'])
      assert.deepEqual((await vault().get(`/tokens/${made.id}`, keys.owner)).body.data, { id: 'a' })
    })
  })
})
