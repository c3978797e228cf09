import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted, type TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'

const shop = 'https://shop.example'
const app = 'http://localhost:3000'
const players = {
  ...ownerAndManager,
  page: { type: 'public', permissions: ['token:create'] },
  private: { permissions: ['token:create', 'token:read'] },
} as const
const token = { type: 'token', data: 'x' }

const corsHeaders = ({ headers }: TestReply): [string, string][] =>
  [...headers].filter(([name]) => name.startsWith('access-control-'))

const preflight = (origin: string, more: Record<string, string> = {}) => ({
  headers: { origin, 'access-control-request-method': 'POST', ...more },
})

onOneEngine('CORS when off', 'storage knows nothing of browsers', vault => {
  test('with no origins set, no answer has a CORS header and a preflight needs a key like any request (C4.6)', async () => {
    const { keys } = await vault().tenant(players)
    const asked = await vault().send('OPTIONS', '/tokens', preflight(shop))
    assert.equal(asked.status, 401)
    assert.deepEqual(corsHeaders(asked), [])
    for (const key of Object.values(keys)) {
      const reply = await vault().send('POST', '/tokens', { key, body: token, headers: { origin: shop } })
      assert.deepEqual(corsHeaders(reply), [])
    }
    const withKey = await vault().send('OPTIONS', '/tokens', { key: keys.page, ...preflight(shop) })
    assert.deepEqual(corsHeaders(withKey), [])
    assert.equal(withKey.status, 405)
  })
})

onOneEngine(
  'CORS',
  'storage knows nothing of browsers',
  vault => {
    test('a preflight from an allowed origin needs no key (C4.6)', async () => {
      for (const origin of [shop, app])
        for (const path of ['/tokens', '/tokenize', '/tokens/some-id']) {
          const reply = await vault().send('OPTIONS', path, preflight(origin))
          assert.equal(reply.status, 204)
          assert.equal(reply.text, '')
          assert.equal(reply.headers.get('access-control-allow-origin'), origin)
          assert.equal(reply.headers.get('access-control-allow-methods'), 'POST, PATCH')
          const allowed = reply.headers.get('access-control-allow-headers')?.split(', ') ?? []
          for (const name of ['content-type', 'svc-api-key', 'svc-idempotency-key', 'svc-trace-id', '*'])
            assert.ok(allowed.includes(name), name)
          // Within that time the browser does not ask again before each request.
          assert.equal(reply.headers.get('access-control-max-age'), '600')
          assert.equal(reply.headers.get('vary'), 'origin')
          assert.equal(reply.headers.get('access-control-allow-credentials'), null)
          assert.equal(reply.headers.get('cache-control'), 'no-store')
          assert.ok(reply.headers.get('svc-trace-id'))
        }
    })

    for (const origin of [
      'https://evil.example',
      'https://shop.example.evil.example',
      'https://evil-shop.example',
      'https://sub.shop.example',
      'http://shop.example',
      'https://shop.example:8443',
      'https://shop.example/',
      'HTTPS://SHOP.EXAMPLE',
      'http://localhost',
      'null',
      '*',
    ])
      test(`the origin ${origin} is not allowed (C4.6)`, async () => {
        const { keys } = await vault().tenant(players)
        const asked = await vault().send('OPTIONS', '/tokens', preflight(origin))
        assert.equal(asked.status, 401)
        assert.deepEqual(corsHeaders(asked), [])
        const reply = await vault().send('POST', '/tokens', {
          key: keys.page,
          body: token,
          headers: { origin },
        })
        assert.equal(reply.status, 201, 'the server does not judge, the browser does')
        assert.deepEqual(corsHeaders(reply), [])
      })

    test('the page may read the answers to public keys, including refusals (C4.6)', async () => {
      const { keys } = await vault().tenant(players)
      const send = (method: string, path: string, more: object = {}) =>
        vault().send(method, path, { key: keys.page, headers: { origin: shop }, ...more })
      const replies: [number, TestReply][] = [
        [201, await send('POST', '/tokens', { body: token })],
        [200, await send('POST', '/tokenize', { body: 'x' })],
        [400, await send('POST', '/tokens', { body: {} })],
        [403, await send('GET', '/tokens')],
        [404, await send('GET', '/unknown')],
        [405, await send('PUT', '/tokens', { body: token })],
        [415, await send('POST', '/tokens', { body: token, type: 'text/plain' })],
      ]
      for (const [status, reply] of replies) {
        assert.equal(reply.status, status)
        assert.equal(reply.headers.get('access-control-allow-origin'), shop, `${status}`)
        assert.equal(reply.headers.get('vary'), 'origin')
        assert.match(
          reply.headers.get('access-control-expose-headers') ?? '',
          /location, retry-after, svc-trace-id, idempotent-replayed/,
        )
        assert.equal(reply.headers.get('access-control-allow-credentials'), null)
      }
      const other = await vault().send('POST', '/tokens', {
        key: keys.page,
        body: token,
        headers: { origin: app },
      })
      assert.equal(other.headers.get('access-control-allow-origin'), app, 'the one that asked, not another')
      assert.deepEqual(
        corsHeaders(await vault().post('/tokens', keys.page, token)),
        [],
        'no origin, no header',
      )
    })

    test('the page may not read the answers to other keys or to no key (C4.6)', async () => {
      const { keys } = await vault().tenant(players)
      const headers = { origin: shop }
      for (const key of [keys.private, keys.owner, keys.manager, 'key_public_x', undefined])
        for (const [method, path] of [
          ['POST', '/tokens'],
          ['GET', '/tokens'],
          ['GET', '/tenants/self'],
          ['GET', '/applications/key'],
        ] as const) {
          const reply = await vault().send(method, path, {
            headers,
            ...(key !== undefined && { key }),
            ...(method === 'POST' && { body: token }),
          })
          assert.deepEqual(corsHeaders(reply), [])
        }
      for (const path of ['/health', '/openapi.json'])
        assert.deepEqual(corsHeaders(await vault().send('GET', path, { headers })), [])
    })

    test('a key whose application is deleted loses its CORS headers at once (C4.6)', async () => {
      const { keys } = await vault().tenant(players)
      const send = () =>
        vault().send('POST', '/tokens', { key: keys.page, body: token, headers: { origin: shop } })
      assert.equal((await send()).headers.get('access-control-allow-origin'), shop)
      const { id } = granted(await vault().get('/applications/key', keys.page))
      granted(await vault().delete(`/applications/${id}`, keys.manager))
      const refused = await send()
      assert.equal(refused.status, 401)
      assert.deepEqual(corsHeaders(refused), [])
    })

    test('an OPTIONS request that is not a preflight needs a key like any other (C4.6)', async () => {
      const reply = await vault().send('OPTIONS', '/tokens', { headers: { origin: shop } })
      assert.equal(reply.status, 401)
      assert.deepEqual(corsHeaders(reply), [])
      const withoutOrigin = await vault().send('OPTIONS', '/tokens', {
        headers: { 'access-control-request-method': 'POST' },
      })
      assert.equal(withoutOrigin.status, 401)
    })

    test('a preflight creates nothing (C4.6)', async () => {
      const { keys } = await vault().tenant(players)
      await vault().send('OPTIONS', '/tokens', { key: keys.page, ...preflight(shop) })
      assert.equal(granted(await vault().get('/tokens', keys.owner)).pagination.total_items, 0)
    })
  },
  { corsOrigins: [shop, app] },
)

onOneEngine(
  'CORS and the rate limit',
  'storage knows nothing of browsers',
  vault => {
    test('the page can read a 429, and preflights are not limited (C4.6, C2.22)', async () => {
      const { keys } = await vault().tenant(players)
      const send = () =>
        vault().send('POST', '/tokens', { key: keys.page, body: token, headers: { origin: shop } })
      assert.equal((await send()).status, 201)
      const refused = await send()
      assert.equal(refused.status, 429)
      assert.equal(refused.headers.get('access-control-allow-origin'), shop)
      for (let time = 0; time < 5; time++)
        assert.equal((await vault().send('OPTIONS', '/tokens', preflight(shop))).status, 204)
    })
  },
  { corsOrigins: [shop], rateLimit: { perSecond: 1, burst: 1 } },
)

onOneEngine(
  'CORS with another header prefix',
  'storage knows nothing of browsers',
  vault => {
    test('the preflight and the answers use the configured header prefix (C4.5, C4.6)', async () => {
      const { keys } = await vault().tenant(players)
      const send = (method: string, headers: Record<string, string>) =>
        fetch(`${vault().baseUrl}/tokens`, {
          method,
          headers: { origin: shop, 'content-type': 'application/json', ...headers },
          ...(method === 'POST' && { body: JSON.stringify(token) }),
        })
      const asked = await send('OPTIONS', preflight(shop).headers)
      assert.match(asked.headers.get('access-control-allow-headers') ?? '', /acme-api-key/)
      assert.doesNotMatch(asked.headers.get('access-control-allow-headers') ?? '', /svc/)
      const made = await send('POST', { 'acme-api-key': keys.page })
      assert.equal(made.status, 201)
      assert.match(made.headers.get('access-control-expose-headers') ?? '', /acme-trace-id/)
      assert.ok(made.headers.get('acme-trace-id'))
      const without = await send('POST', { 'svc-api-key': keys.page })
      assert.equal(without.status, 401)
      assert.equal(without.headers.get('www-authenticate'), 'ApiKey header="ACME-API-KEY"')
    })
  },
  { corsOrigins: [shop], headerPrefix: 'acme' },
)
