import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { newApiKeyText } from '../../src/crypto/api-key.ts'
import { limits } from '../../src/domain/limits.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { sendAndExpect } from '../rig/scenario.ts'
import { owner } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const token = { type: 'token', data: 'Sensitive Value' }

onOneEngine('keys', 'refused before storage is asked', vault => {
  /** Storage is asked for a key only if its form and its checksum are right. */
  const wrongKeys: readonly { name: string; headers: Record<string, string>; isLookedUp?: true }[] = [
    { name: 'no key', headers: {} },
    { name: 'an empty key', headers: { 'svc-api-key': '' } },
    { name: 'a malformed key', headers: { 'svc-api-key': 'Sensitive-Value' } },
    { name: 'an unknown key', headers: { 'svc-api-key': newApiKeyText('private') }, isLookedUp: true },
    {
      name: 'a key with a wrong checksum',
      headers: {
        'svc-api-key': `${newApiKeyText('private').slice(0, -6)}${newApiKeyText('private').slice(-6)}`,
      },
    },
    {
      name: 'a header with two keys',
      headers: { 'svc-api-key': `${newApiKeyText('private')}, ${newApiKeyText('private')}` },
    },
    { name: 'a very long key', headers: { 'svc-api-key': 'key_private_'.repeat(500) } },
    { name: 'a key in another header', headers: { authorization: `Bearer ${newApiKeyText('private')}` } },
  ]
  for (const { name, headers, isLookedUp = false } of wrongKeys)
    test(`${name} is 401 on every path, before anything else is checked (C2.11, C3.1, C30.3, §5.1)`, async t => {
      const lookUps = t.mock.method(vault().store, 'findApiKey').mock
      const requests: readonly { method: string; path: string; raw?: string; type?: string }[] = [
        { method: 'GET', path: '/tokens' },
        { method: 'GET', path: '/tokens/unknown' },
        { method: 'GET', path: '/nowhere' },
        { method: 'PUT', path: '/tokens' },
        { method: 'POST', path: '/tokens', raw: '{not json' },
        { method: 'POST', path: '/tokens', raw: '<xml/>', type: 'text/xml' },
        { method: 'POST', path: '/tokenize', raw: ' '.repeat(limits.bodyBytes + 1) },
        { method: 'PATCH', path: '/tokens/unknown', raw: '{}' },
        { method: 'DELETE', path: '/tokens/unknown' },
        { method: 'OPTIONS', path: '/tokens' },
        { method: 'GET', path: '/tokens/%zz' },
        { method: 'DELETE', path: '/nowhere/%ff' },
        { method: 'GET', path: `/tokens/${'x'.repeat(9_000)}` },
      ]
      for (const { method, path, ...rest } of requests) {
        const reply = await vault().send(method, path, { ...rest, headers })
        assert.equal(reply.status, 401, `${method} ${path}`)
        assert.equal(reply.headers.get('www-authenticate'), 'ApiKey header="SVC-API-KEY"')
        assertAbsent(
          { body: reply.text, log: vault().log.join('\n') },
          Object.values(headers).filter(Boolean),
        )
      }
      assert.equal(lookUps.callCount(), isLookedUp ? requests.length : 0)
    })

  test('a key must match exactly (C2.11)', async () => {
    const { keys } = await vault().tenant({ owner })
    assert.equal((await vault().get('/tokens', keys.owner)).status, 200)
    for (const key of [
      keys.owner.toUpperCase(),
      `${keys.owner}x`,
      keys.owner.slice(0, -1),
      keys.owner.replace('private', 'public'),
    ])
      assert.equal((await vault().get('/tokens', key)).status, 401)
  })

  test('the same key sent twice is refused (C2.11)', async () => {
    const { keys } = await vault().tenant({ owner })
    const header = `SVC-API-KEY: ${keys.owner}\r\n`
    const [reply] = await sendRaw(
      vault().baseUrl,
      `GET /tokens HTTP/1.1\r\nHost: x\r\n${header}${header}\r\n`,
    )
    assert.equal(reply?.status, 401)
  })
})

onOneEngine('the order of refusals', 'each refusal is the same on any storage', vault => {
  const card = { type: 'card', data: { number: '4242424242424242' }, id: 'a-card', containers: ['/a/'] }
  let keys: Record<'owner' | 'reader' | 'limited', string>
  before(async () => {
    const { keys: made } = await vault().tenant({
      owner,
      reader: { permissions: ['token:read'] },
      limited: {
        rules: [
          { priority: 1, container: '/a/', transform: 'mask', permissions: ['token:create', 'token:update'] },
        ],
      },
    })
    keys = made
    await vault().create(keys.owner, card)
    await vault().create(keys.owner, { ...card, id: 'b-card', containers: ['/b/'] })
  })

  const tooLong = ' '.repeat(limits.bodyBytes + 1)
  /** Requests with two faults, and the one that is answered. */
  const orders: readonly {
    name: string
    by?: 'owner' | 'reader' | 'limited'
    method: string
    path: string
    body?: unknown
    raw?: string
    type?: string
    status: number
  }[] = [
    {
      name: '403 before 415',
      by: 'reader',
      method: 'POST',
      path: '/tokens',
      raw: '<xml/>',
      type: 'text/xml',
      status: 403,
    },
    { name: '403 before 413', by: 'reader', method: 'POST', path: '/tokens', raw: tooLong, status: 403 },
    {
      name: '403 before 400 for invalid JSON',
      by: 'reader',
      method: 'POST',
      path: '/tokenize',
      raw: '{',
      status: 403,
    },
    {
      name: '403 before 400 for the query',
      by: 'reader',
      method: 'DELETE',
      path: '/tokens/a-card?x=1',
      status: 403,
    },
    {
      name: '403 before 404 for an oversized id',
      by: 'reader',
      method: 'PATCH',
      path: `/tokens/${'x'.repeat(9_000)}`,
      body: {},
      status: 403,
    },
    { name: '403 before 404', by: 'reader', method: 'PATCH', path: '/tokens/unknown', body: {}, status: 403 },
    { name: '405 before 415', method: 'PUT', path: '/tokens', raw: 'x', type: 'text/plain', status: 405 },
    {
      name: '415 before 400 for invalid JSON',
      method: 'POST',
      path: '/tokens',
      raw: '{',
      type: 'text/plain',
      status: 415,
    },
    {
      name: '415 before 404',
      method: 'PATCH',
      path: '/tokens/unknown',
      raw: '{}',
      type: 'application/json',
      status: 415,
    },
    {
      name: '413 before 400 for invalid JSON',
      method: 'POST',
      path: '/tokens',
      raw: `{${tooLong}`,
      status: 413,
    },
    { name: '413 before 404', method: 'PATCH', path: '/tokens/unknown', raw: tooLong, status: 413 },
    {
      name: '400 before 403 for the containers',
      by: 'limited',
      method: 'POST',
      path: '/tokens',
      body: { ...token, type: 'none', containers: ['/b/'] },
      status: 400,
    },
    {
      name: '400 for an id before 403 for the containers',
      by: 'limited',
      method: 'POST',
      path: '/tokens',
      body: { ...token, id: '{{ data | slice: 0 }}', containers: ['/b/'] },
      status: 400,
    },
    {
      name: '400 before 403 for the containers, in a patch',
      by: 'limited',
      method: 'PATCH',
      path: '/tokens/a-card',
      body: { containers: ['/b/'], expires_at: 'never' },
      status: 400,
    },
    { name: '400 before 404', method: 'PATCH', path: '/tokens/unknown', body: { data: null }, status: 400 },
    { name: '400 for a query before 404', method: 'GET', path: '/tokens/unknown?x=1', status: 400 },
    {
      name: '403 for the containers before 404',
      by: 'limited',
      method: 'PATCH',
      path: '/tokens/unknown',
      body: { containers: ['/b/'] },
      status: 403,
    },
    {
      name: '403 for the containers before 409',
      by: 'limited',
      method: 'POST',
      path: '/tokens',
      body: { ...token, id: 'a-card', containers: ['/b/'] },
      status: 403,
    },
    {
      name: '404 before 400 for the merged value',
      by: 'limited',
      method: 'PATCH',
      path: '/tokens/b-card',
      body: { data: { number: '1' } },
      status: 404,
    },
    {
      name: '403 for the container of the type before 400 for the merged value',
      by: 'limited',
      method: 'PATCH',
      path: '/tokens/a-card',
      body: { containers: null, data: { number: null } },
      status: 403,
    },
    {
      name: '400 for the merged value before deduplication',
      method: 'PATCH',
      path: '/tokens/b-card',
      body: { data: { cvv: '1' }, containers: ['/a/'], deduplicate_token: true },
      status: 400,
    },
    {
      name: 'deduplication before 409',
      method: 'POST',
      path: '/tokens',
      body: { ...card, id: 'b-card', deduplicate_token: true },
      status: 201,
    },
    {
      name: '400 for invalid containers before 404',
      method: 'PATCH',
      path: '/tokens/unknown',
      body: { containers: ['none'] },
      status: 400,
    },
    {
      name: '409 last of all',
      method: 'POST',
      path: '/tokens',
      body: { ...card, id: 'b-card' },
      status: 409,
    },
  ]
  for (const { name, by = 'owner', method, path, status, ...send } of orders)
    test(`${name} (C3.1)`, async () => {
      await sendAndExpect(
        vault(),
        { key: keys[by], counter: keys.owner },
        { method, path, ...send },
        { status },
      )
    })
})
