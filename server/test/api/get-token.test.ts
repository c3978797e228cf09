import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transform } from '../../src/domain/access/application.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { sendAndExpect } from '../rig/scenario.ts'
import { devApplications, owner, type TestApplication } from '../rig/test-vault.ts'

const number = '4242424242424242'
const card = { number, expiration_month: 12, expiration_year: 2030, cvc: '123' }
const maskedCard = { number: 'XXXXXXXXXXXX4242', expiration_month: 12, expiration_year: 2030 }

const reads = (transform: Transform): TestApplication => ({
  rules: [{ priority: 1, container: '/', transform, permissions: ['token:read'] }],
})
const readers = {
  owner,
  reveal: reads('reveal'),
  mask: reads('mask'),
  redact: reads('redact'),
  flat: { permissions: ['token:read'] },
} as const satisfies Record<string, TestApplication>
type Reader = keyof typeof readers

/** What each reader sees of one token: members that are present, and members that are not. */
const shown: readonly {
  name: string
  send: Record<string, unknown>
  views: Partial<Record<Reader, { has: Record<string, unknown>; lacks: readonly string[] }>>
}[] = [
  {
    name: 'a token without a mask (§4.4.3, C12.1, C12.4)',
    send: { type: 'token', data: 'Sensitive Value' },
    views: {
      reveal: { has: { data: 'Sensitive Value', fingerprint: /./ }, lacks: ['mask'] },
      mask: { has: { fingerprint: /./ }, lacks: ['data', 'mask'] },
      flat: { has: { fingerprint: /./ }, lacks: ['data', 'mask'] },
      redact: { has: { containers: ['/general/high/'] }, lacks: ['data', 'mask', 'fingerprint'] },
    },
  },
  {
    name: 'a token with a mask of its own (§2.1.4, §2.1.5, C12.1, C12.5)',
    send: { type: 'token', data: 'Sensitive Value', mask: '{{ data | reveal_last: 4 }}' },
    views: {
      reveal: { has: { data: 'Sensitive Value', mask: '{{ data | reveal_last: 4 }}' }, lacks: [] },
      mask: { has: { data: 'XXXXXXXXXXXalue', mask: '{{ data | reveal_last: 4 }}' }, lacks: [] },
      flat: { has: { data: 'XXXXXXXXXXXalue', mask: '{{ data | reveal_last: 4 }}' }, lacks: [] },
      redact: { has: { mask: '{{ data | reveal_last: 4 }}' }, lacks: ['data', 'fingerprint'] },
    },
  },
  {
    name: 'a card under the mask of its type (§2.1.17, §2.1.19, C12.6, C12.7)',
    send: { type: 'card', data: card },
    views: {
      reveal: { has: { data: card, mask: maskedCard }, lacks: [] },
      mask: { has: { data: maskedCard, mask: maskedCard }, lacks: [] },
      flat: { has: { data: maskedCard, mask: maskedCard }, lacks: [] },
      redact: { has: { type: 'card' }, lacks: ['data', 'mask', 'fingerprint'] },
    },
  },
  {
    name: 'a token under redact, with the rest of its fields (C12.7, C12.8)',
    send: {
      type: 'token',
      data: 'Sensitive Value',
      metadata: { k: 'v' },
      search_indexes: ['{{ data }}'],
      fingerprint_expression: '{{ data | upcase }}',
      containers: ['/a/', '/b/'],
      expires_at: '2030-01-01',
    },
    views: {
      redact: {
        has: {
          metadata: { k: 'v' },
          search_indexes: ['{{ data }}'],
          fingerprint_expression: '{{ data | upcase }}',
          containers: ['/a/', '/b/'],
          expires_at: '2030-01-01T00:00:00.000+00:00',
        },
        lacks: ['data', 'mask', 'fingerprint'],
      },
    },
  },
]

onEveryEngine('get a token', (vault, aboveStorage) => {
  aboveStorage(() => {
    for (const { name, send, views } of shown)
      test(`${name}: get and list show the same`, async () => {
        const { keys } = await vault().tenant(readers)
        const { id } = await vault().create(keys.owner, send)
        for (const [reader, { has, lacks }] of Object.entries(views)) {
          const key = keys[reader as Reader]
          const { body } = await sendAndExpect(
            vault(),
            { key, counter: keys.owner },
            { method: 'GET', path: `/tokens/${id}` },
            {
              status: 200,
              body: { id, ...has },
              lacks: [...lacks, '_extras', 'enrichments', 'modified_at', 'modified_by', 'deduplicate_token'],
              absent: reader === 'reveal' ? [] : ['Sensitive Value', number],
            },
          )
          const list = await vault().get('/tokens', key)
          assert.deepEqual(list.body.data, [body])
        }
      })
  })

  test('a get shows every field of a token (§4.4.1, §4.4.2, §2.1.14, C5.5)', async () => {
    const { keys, tenantId } = await vault().tenant({ owner })
    const send = {
      id: 'whole',
      type: 'token',
      data: { a: [1, null] },
      mask: { a: '{{ data.a[0] }}' },
      metadata: { k: 'v' },
      search_indexes: ['{{ data.a[0] }}'],
      fingerprint_expression: '{{ data.a }}',
      containers: ['/a/'],
      expires_at: '1/1/2030',
    }
    const created = await vault().create(keys.owner, send)
    const created_at = new Date(vault().now).toISOString().replace('Z', '+00:00')
    vault().now += 1_500
    await vault().patch('/tokens/whole', keys.owner, {})
    const { body } = await vault().get('/tokens/whole', keys.owner)
    assert.deepEqual(body, {
      ...send,
      tenant_id: tenantId,
      fingerprint: created.fingerprint,
      expires_at: '2030-01-01T00:00:00.000+00:00',
      created_by: created.created_by,
      created_at,
      modified_by: created.created_by,
      modified_at: new Date(vault().now).toISOString().replace('Z', '+00:00'),
    })
  })

  test('every token that cannot be read gets the same 404 (§4.4.4, C2.13, C2.14)', async () => {
    const { keys } = await vault().tenant({
      owner,
      elsewhere: {
        rules: [{ priority: 1, container: '/elsewhere/', transform: 'reveal', permissions: ['token:read'] }],
      },
    })
    const other = await vault().tenant({ owner })
    const token = { type: 'token', data: 'Sensitive Value' }
    await vault().create(keys.owner, { ...token, id: 'here' })
    await vault().create(other.keys.owner, { ...token, id: 'theirs' })
    const replies = [
      await vault().get('/tokens/unknown', keys.owner),
      await vault().get('/tokens/theirs', keys.owner),
      await vault().get('/tokens/here', keys.elsewhere),
      await vault().get('/tokens/HERE', keys.owner),
      await vault().get('/tokens/x', keys.owner),
      await vault().get(`/tokens/${'x'.repeat(2_000)}`, keys.owner),
      await vault().get(`/tokens/${'%F0%9F%98%80'.repeat(401)}`, keys.owner),
    ]
    for (const { status, body } of replies) {
      assert.equal(status, 404)
      assert.deepEqual({ ...body, trace_id: '' }, { ...replies[0]?.body, trace_id: '' })
    }
  })

  aboveStorage(() => {
    test('reading without token:read is 403, whether the token exists or not (§5.5, §4.3.5, C2.12)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const { id } = await vault().create(keys.general, { type: 'token', data: 1 })
      for (const path of [`/tokens/${id}`, '/tokens/unknown', '/tokens'])
        assert.equal((await vault().get(path, keys.general)).status, 403)
    })

    test('data comes back as it was sent, whatever it is (§1.5, C5.2, C7.3)', async () => {
      const { keys } = await vault().tenant({ owner })
      for (const raw of [
        '"\\ud800 \\udc00\\u0000"',
        '"e\\u0301 \u00e9 \ufeff"',
        '{"":{"":[]},"__proto__":{"a":1},"constructor":null}',
        '[[[[[]]]],{},0,-1,1.5,true,false,null,""]',
      ]) {
        const created = await vault().send('POST', '/tokens', {
          key: keys.owner,
          raw: `{"type":"token","data":${raw}}`,
        })
        assert.equal(created.status, 201, created.text)
        const { body } = await vault().get(`/tokens/${created.body.id}`, keys.owner)
        assert.equal(JSON.stringify(body.data), JSON.stringify(JSON.parse(raw)))
      }
    })
  })

  test('a cvc is shown for an hour and not a millisecond longer (C11.1, §2.2.7, §3.5)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, { type: 'card', data: card })
    vault().now += 3_599_999
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.owner)).body.data, card)
    vault().now += 1
    const { cvc: _gone, ...rest } = card
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.owner)).body.data, rest)
    assert.deepEqual((await vault().get('/tokens', keys.owner)).body.data[0].data, rest)
  })
})
