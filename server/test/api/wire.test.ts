import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/domain/limits.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { countTokens, sendAndExpect } from '../rig/scenario.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const token = { type: 'token', data: 'Sensitive Value' }

onOneEngine('the wire', 'storage knows nothing of HTTP', vault => {
  test('an unknown route is 404, and says so (C2.13)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const path of ['/nowhere', '/token', '/tokens/a/b', '/v3/tokens', '/tokenize/x', '/index.html']) {
      const reply = await vault().get(path, keys.owner)
      assert.deepEqual([reply.status, reply.body.code], [404, 'no_such_route'], path)
      assert.match(reply.body.detail, /^There is no such path/)
    }
  })

  test('a wrong method is 405, and Allow names the right ones (C2.15)', async () => {
    const { keys } = await vault().tenant({ owner })
    const wrong: readonly [path: string, methods: readonly string[], allow: readonly string[]][] = [
      ['/tokens', ['PUT', 'PATCH', 'DELETE', 'OPTIONS'], ['GET', 'HEAD', 'POST']],
      ['/tokens/some', ['POST', 'PUT', 'OPTIONS'], ['DELETE', 'GET', 'HEAD', 'PATCH']],
      ['/tokens/some?x=1', ['POST'], ['DELETE', 'GET', 'HEAD', 'PATCH']],
      ['/tokenize', ['GET', 'PUT', 'PATCH', 'DELETE'], ['POST']],
      ['/health', ['POST', 'DELETE'], ['GET', 'HEAD']],
      ['/openapi.json', ['PUT'], ['GET', 'HEAD']],
    ]
    assert.equal((await vault().send('PUT', '/openapiXjson', { key: keys.owner })).status, 404)
    for (const [path, methods, allow] of wrong)
      for (const method of methods) {
        const reply = await vault().send(method, path, { key: keys.owner })
        assert.equal(reply.status, 405, `${method} ${path}`)
        assert.deepEqual(reply.headers.get('allow')?.split(', ').sort(), allow)
      }
  })

  test('a trailing slash makes no difference to a path (C33.1, C2.15)', async () => {
    const { keys } = await vault().tenant({ owner })
    const send = (method: string, path: string, options = {}) =>
      vault().send(method, path, { key: keys.owner, ...options })
    const first = { body: token, headers: { 'svc-idempotency-key': 'slash-or-not' } }
    const created = await send('POST', '/tokens/', first)
    assert.equal(created.status, 201)
    const again = await send('POST', '/tokens', first)
    assert.equal(again.body.id, created.body.id, 'the idempotency key is that of the same path')
    assert.equal((await send('POST', '/tokenize/', { body: 'x' })).status, 200)
    assert.equal((await send('GET', '/tokens/?type=token')).body.pagination.total_items, 2)
    assert.equal((await send('GET', `/tokens/${created.body.id}/`)).body.id, created.body.id)
    const refused = await send('DELETE', '/tokens/')
    assert.equal(refused.status, 405)
    assert.equal(refused.headers.get('allow'), 'POST, GET, HEAD')
    assert.equal((await send('DELETE', `/tokens/${created.body.id}/`)).status, 204)
  })

  test('a path is the same with a host before it, a fragment behind it or percent-encoded letters (C33.1, C2.15)', async () => {
    const { keys } = await vault().tenant({ owner })
    const key = 'however-it-is-written'
    const headers = { 'svc-idempotency-key': key }
    const created = await vault().send('POST', '/tokens', { key: keys.owner, body: token, headers })
    assert.equal(created.status, 201)
    const body = JSON.stringify(token)
    const hosts = [`${vault().baseUrl}/tokens`, 'HTTP://elsewhere/tokens/']
    for (const target of ['/%74okens', ...hosts, '/tokens#a', '/tokens/#a?b']) {
      const lines = [`Host: x`, `SVC-API-KEY: ${keys.owner}`, `SVC-IDEMPOTENCY-KEY: ${key}`]
      const type = ['Content-Type: application/json', `Content-Length: ${body.length}`]
      const [again] = await sendRaw(
        vault().baseUrl,
        `POST ${target} HTTP/1.1\r\n${[...lines, ...type].join('\r\n')}\r\n\r\n${body}`,
      )
      assert.equal(again?.body.id, created.body.id, target)
      const [refused] = await sendRaw(
        vault().baseUrl,
        `PUT ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`,
      )
      assert.equal(refused?.status, 405, target)
    }
    assert.equal((await vault().send('PUT', '/tokens/a%2Fb', { key: keys.owner })).status, 405)
    assert.equal((await vault().send('PUT', '/tokens/a/b', { key: keys.owner })).status, 404)
  })

  test('HEAD answers as GET does, without a body (C1.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token)
    for (const path of ['/tokens', `/tokens/${id}`]) {
      const reply = await vault().send('HEAD', path, { key: keys.owner })
      assert.deepEqual([reply.status, reply.text], [200, ''])
    }
    assert.equal((await vault().send('HEAD', '/tokens/unknown', { key: keys.owner })).status, 404)
  })

  test('answers are JSON in UTF-8 (§0.1, C1.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const created = await vault().post('/tokens', keys.owner, { ...token, metadata: { k: 'ü😀' } })
    assert.equal(created.headers.get('content-type'), 'application/json; charset=utf-8')
    assert.deepEqual(created.body.metadata, { k: 'ü😀' })
  })

  test('POST accepts only application/json, whatever its parameters and letter case (§4.1.1, §4.2.1, C2.20)', async () => {
    const { keys } = await vault().tenant({ owner })
    const raw = JSON.stringify(token)
    for (const path of ['/tokens', '/tokenize']) {
      for (const type of [
        'application/json',
        'Application/JSON',
        'application/json;charset=UTF-8',
        'application/json ; x="y"',
      ])
        assert.ok((await vault().send('POST', path, { key: keys.owner, raw, type })).status < 300, type)
      for (const type of [
        'text/plain',
        'application/merge-patch+json',
        'application/x-www-form-urlencoded',
        'application/jsonx',
        'json',
        '',
      ]) {
        const reply = await vault().send('POST', path, { key: keys.owner, raw, type })
        assert.equal(reply.status, 415, type)
        assert.match(reply.body.detail, /application\/json/)
      }
      const bare = await vault().send('POST', path, { key: keys.owner })
      assert.equal(bare.status, 415)
    }
    assert.equal(await countTokens(vault(), keys.owner), 8)
  })

  test('the Content-Type does not matter where no body is expected or none is sent (C2.20)', async () => {
    const manager = { type: 'management', permissions: ['application:update'] } as const
    const { keys } = await vault().tenant({ owner, manager })
    for (const type of ['application/json, application/json', 'json', '/', 'a b/c', '', 'text/x-odd; a=b']) {
      const { id } = await vault().create(keys.owner, token)
      const deleted = await vault().send('DELETE', `/tokens/${id}`, { key: keys.owner, raw: 'some', type })
      assert.equal(deleted.status, 204, type)
      const made = await vault().send('POST', '/applications/unknown/keys', {
        key: keys.manager,
        raw: '',
        type,
      })
      assert.equal(made.status, 404, type)
    }
  })

  test('a compressed body is refused, not decompressed (C2.20)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const encoding of ['gzip', 'br', 'deflate', 'GZIP, identity']) {
      const headers = { 'content-encoding': encoding }
      const reply = await vault().send('POST', '/tokens', { key: keys.owner, body: token, headers })
      assert.equal(reply.status, 415, encoding)
    }
    const headers = { 'content-encoding': 'identity' }
    assert.equal(
      (await vault().send('POST', '/tokens', { key: keys.owner, body: token, headers })).status,
      201,
    )
  })

  test('endpoints without query parameters refuse every one (C6.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token)
    for (const [method, path, body] of [
      ['POST', '/tokens', token],
      ['POST', '/tokenize', token],
      ['GET', `/tokens/${id}`, undefined],
      ['PATCH', `/tokens/${id}`, {}],
      ['DELETE', `/tokens/${id}`, undefined],
    ] as const)
      await sendAndExpect(
        vault(),
        { key: keys.owner, counter: keys.owner },
        { method, path: `${path}?dry_run=ultramarine&12345678=x`, body },
        { status: 400, errors: ['dry_run', '[key 2]'], absent: ['ultramarine', '12345678'] },
      )
  })

  test('positions are those in the body as sent, wherever JavaScript would put a key (C2.7)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token)
    const { id: cardId } = await vault().create(keys.owner, {
      type: 'card',
      data: { number: '4242424242424242', cvc: '123' },
    })
    const card = '"type":"card","data":{"number":"4242424242424242","12345678":"1"}'
    const token1 = '"type":"token","data":1'
    const long = 'x'.repeat(1_025)
    for (const [method, path, raw, ...errors] of [
      ['POST', '/tokens', `{${card}}`, 'data[key 2]'],
      ['POST', '/tokens', `{"a":1,"12345678":2,${card}}`, 'a', '[key 2]'],
      ['POST', '/tokens', `{"a1234567":1,${token1}}`, 'a1234567'],
      [
        'POST',
        '/tokens',
        '{"type":"token","data":1e400,"metadata":{"a":"x","7":"y","12345678":5}}',
        'metadata[key 3]',
      ],
      [
        'POST',
        '/tokens',
        '{"type":"token","data":1,"metadata":{"a":"x","a":"y","12345678" :5}}',
        'metadata[key 2]',
      ],
      [
        'POST',
        '/tokens',
        `{"type":"token","data":1,"metadata":{"a":"x","12345678":"${long}"}}`,
        'metadata[key 2]',
      ],
      ['POST', '/tokens', '{"type":"token","data":1,"mask":{"a":"x","12345678":"{{"}}', 'mask[key 2]'],
      ['POST', '/tokenize', '{"a":"x","7":"y","12345678":{"type":"zz","data":1}}', '[key 3].type'],
      [
        'POST',
        '/tokenize',
        String.raw`{"a":"x","b":"y","\u00312345678":{"type":"zz","data":1}}`,
        '[key 3].type',
      ],
      [
        'POST',
        '/tokenize',
        String.raw`{"a":"x","b":"y","1234567\u0038":{"type":"zz","data":1}}`,
        '[key 3].type',
      ],
      ['POST', '/tokens', `{"mask":null,"id":null,${token1},"12345678":2}`, '[key 5]'],
      ['POST', '/tokenize', `[{"mask":null,${token1},"12345678":2}]`, '[0][key 4]'],
      ['PATCH', `/tokens/${id}`, '{"metadata":{"a":"x","12345678":5}}', 'metadata[key 2]'],
      ['PATCH', `/tokens/${id}`, `{"metadata":{"a":null,"12345678":"${long}"}}`, 'metadata[key 2]'],
      ['PATCH', `/tokens/${id}`, `{"metadata":{"b":"ok","12345678":"${long}"}}`, 'metadata[key 2]'],
      ['PATCH', `/tokens/${cardId}`, '{"mask":{"k12345678":"{{ data.cvc }}"}}', 'mask[key 1]'],
      ['PATCH', `/tokens/${cardId}`, '{"data":{"k12345678":1}}', 'data[key 1]'],
    ] as const) {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
      const reply = await vault().send(method, path, { key: keys.owner, raw, type })
      assert.equal(reply.status, 400, reply.text)
      assert.deepEqual(Object.keys(reply.body.errors).sort(), errors.toSorted(), raw)
    }
  })

  test('two faults at one place are both reported (C2.2)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { body } = await vault().get('/tokens?size=0&size=5', keys.owner)
    assert.deepEqual(body.errors, {
      size: ['must not be repeated', `must be a whole number from 1 to ${limits.pageSizeMax}`],
    })
  })

  test('a key is named as it was sent, whatever a JSON pointer would make of it (C2.2)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const name of ['~1', '~0', '~01', 'a/b', '~']) {
      const reply = await vault().post('/tokens', keys.owner, { ...token, metadata: { [name]: 5 } })
      assert.deepEqual(Object.keys(reply.body.errors), [`metadata.${name}`])
    }
  })

  test('of a large body only the first fault is looked for, so that none costs more than another (C2.2, C8.2)', async () => {
    const { keys } = await vault().tenant({ owner })
    const faulty = (length: number) => ({ type: 5, data: 'x'.repeat(length), containers: 5, metadata: 5 })
    const faults = async (length: number): Promise<number> => {
      const reply = await vault().post('/tokens', keys.owner, faulty(length))
      assert.equal(reply.status, 400)
      return Object.keys(reply.body.errors).length
    }
    assert.equal(await faults(1), 3)
    assert.equal(await faults(100_000), 1)
  })

  test('a body with thousands of faults gets only some of them reported (C2.2)', async () => {
    const { keys } = await vault().tenant({ owner })
    const body = { type: 'token', data: 'x', mask: Array.from({ length: 2_500 }, () => '{{') }
    const reply = await vault().post('/tokens', keys.owner, body)
    assert.equal(reply.status, 400)
    assert.equal(Object.keys(reply.body.errors).length, limits.errorsPerAnswer)
  })

  test('headers or a URL that are too large are 431 (C2.16)', async () => {
    const { keys } = await vault().tenant({ owner })
    const [reply] = await sendRaw(
      vault().baseUrl,
      `GET /tokens HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: ${keys.owner}\r\nX-Much: ${'4242'.repeat(20_000)}\r\n\r\n`,
    )
    assert.equal(reply?.status, 431)
    assert.equal(reply?.body.detail, 'The URL and headers together are over the limit of 16384 bytes.')
    assert.ok(!reply?.text.includes('4242'))
    const long = await sendRaw(
      vault().baseUrl,
      `GET /tokens?id=${'4242'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    )
    assert.equal(long[0]?.status, 431)
  })

  test('a bug is 500 with the trace id; neither the answer nor the log shows the data involved (C2.17, C2.5, §7.5)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { store } = vault().service.vault
    const { getToken } = store
    store.getToken = async () => {
      throw new TypeError('cannot read 4242424242424242 of "Sensitive Value"')
    }
    try {
      const reply = await vault().get('/tokens/secret-id-17', keys.owner)
      assert.equal(reply.status, 500)
      assert.deepEqual(Object.keys(reply.body).sort(), [
        'code',
        'detail',
        'status',
        'title',
        'trace_id',
        'type',
      ])
      const log = vault().log.join('\n')
      assertAbsent({ body: reply.text, log }, ['4242424242424242', 'Sensitive Value', 'secret-id-17'])
      const line = vault().log.find(text => text.includes(reply.body.trace_id) && text.includes('"error"'))
      assert.match(line ?? '', /TypeError/)
    } finally {
      store.getToken = getToken
    }
  })

  test('of hundreds of unknown query parameters only some are named (C6.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const query = Array.from({ length: 500 }, (_, index) => `unknown${index}=x`).join('&')
    for (const path of ['/tokens', '/v2/tokens', '/applications/key', '/permissions']) {
      const reply = await vault().get(`${path}?${query}`, keys.owner)
      assert.equal(reply.status, 400)
      assert.equal(Object.keys(reply.body.errors).length, 50, path)
    }
  })

  test('unavailable storage is 503 with Retry-After, nothing is half-done, and the vault recovers (C2.23)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { store } = vault().service.vault
    const { commit } = store
    store.commit = async () => {
      throw new StoreUnavailableError('disk of "Sensitive Value" is full')
    }
    try {
      for (const path of ['/tokens', '/tokenize']) {
        const reply = await vault().post(path, keys.owner, token)
        assert.equal(reply.status, 503)
        assert.equal(reply.headers.get('retry-after'), '1')
        assertAbsent({ body: reply.text, log: vault().log.join('\n') }, ['Sensitive Value'])
      }
    } finally {
      store.commit = commit
    }
    assert.equal(await countTokens(vault(), keys.owner), 0)
    await vault().create(keys.owner, token)
  })

  test('logs hold the route and the trace id, and nothing that was sent (C2.5, C2.8, C2.9)', async () => {
    const { keys } = await vault().tenant({ owner })
    const from = vault().log.length
    const secrets = [
      'secret-id-17',
      'ultramarine',
      'Sensitive Value',
      'chosen_key',
      'blue-value',
      'unheard-of',
    ]
    await vault().create(keys.owner, { ...token, id: 'secret-id-17', metadata: { chosen_key: 'blue-value' } })
    const trace = 'my-trace-0001'
    await vault().send('GET', '/tokens/secret-id-17', { key: keys.owner, headers: { 'svc-trace-id': trace } })
    await vault().get('/tokens?metadata.chosen_key=blue-value&ultramarine=1', keys.owner)
    await vault().get('/unheard-of', keys.owner)
    await vault().get('/tokens/%zzultramarine', keys.owner)
    await vault().send('POST', '/tokens', { key: keys.owner, raw: '{"chosen_key": Sensitive Value' })
    await vault().delete('/tokens/secret-id-17', keys.owner)
    const log = vault().log.slice(from)
    assertAbsent({ log: log.join('\n') }, [...secrets, ...Object.values(keys)])
    const line = JSON.parse(log.find(text => text.includes(trace)) ?? '{}')
    assert.deepEqual([line.route, line.method, line.status], ['/tokens/:id', 'GET', 200])
  })

  /** A trace id that was sent: does the answer have the same one? */
  const traces: readonly { sent: string; isKept: boolean }[] = [
    { sent: 'abcdefgh', isKept: true },
    { sent: 'A.b_c-9'.padEnd(64, 'x'), isKept: true },
    { sent: '6b9a7f0e-7f3c-4a55-9d0c-0f5f6a0c1d2e', isKept: true },
    { sent: 'order-12345678901', isKept: true },
    { sent: 'order-123456789012', isKept: false },
    { sent: '4242424242424242', isKept: false },
    { sent: 'abcdefg', isKept: false },
    { sent: 'x'.repeat(65), isKept: false },
    { sent: 'has a blank', isKept: false },
    { sent: 'slash/es-not', isKept: false },
    { sent: 'quote"d-not', isKept: false },
    { sent: '', isKept: false },
  ]
  for (const { sent, isKept } of traces)
    test(`the trace id ${JSON.stringify(sent)} is ${isKept ? 'kept' : 'replaced'} (C4.1, C4.2)`, async () => {
      const { keys } = await vault().tenant({ owner })
      const headers = { 'svc-trace-id': sent }
      for (const [method, path, key] of [
        ['GET', '/tokens', keys.owner],
        ['GET', '/tokens/unknown', keys.owner],
        ['GET', '/tokens', ''],
        ['GET', '/health', ''],
        ['POST', '/tokenize', keys.owner],
      ] as const) {
        const reply = await vault().send(method, path, { key, headers })
        assert.equal(reply.headers.get('svc-trace-id') === sent, isKept)
        if (!isKept && sent.length > 5) assert.ok(!reply.headers.get('svc-trace-id')?.includes(sent))
      }
    })

  test('each answer has a new trace id and may not be cached (C4.2, C4.3)', async () => {
    const traces = new Set<string | null>()
    for (let at = 0; at < 5; at++)
      traces.add((await vault().send('GET', '/health')).headers.get('svc-trace-id'))
    assert.equal(traces.size, 5)
  })

  test('CORS is off by default (C4.6)', async () => {
    const { keys } = await vault().tenant({ owner })
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' }
    for (const method of ['OPTIONS', 'GET']) {
      const reply = await vault().send(method, '/tokens', {
        ...(method === 'GET' && { key: keys.owner }),
        headers,
      })
      for (const name of reply.headers.keys()) assert.ok(!name.startsWith('access-control-'), name)
    }
  })
})

const prefixed = (vault: () => TestVault): void => {
  test('the operator chooses the header prefix (C4.5)', async () => {
    const { keys } = await vault().tenant({ owner })
    const send = (headers: Record<string, string>) => fetch(`${vault().baseUrl}/tokens`, { headers })
    const known = await send({ 'acme-api-key': keys.owner, 'acme-trace-id': 'my-trace-0001' })
    assert.deepEqual([known.status, known.headers.get('acme-trace-id')], [200, 'my-trace-0001'])
    assert.equal(known.headers.get('svc-trace-id'), null)
    const unknown = await send({ 'svc-api-key': keys.owner })
    assert.equal(unknown.status, 401)
    assert.equal(unknown.headers.get('www-authenticate'), 'ApiKey header="ACME-API-KEY"')
  })

  test("the documentation names the operator's headers (C4.5, C36.3)", async () => {
    for (const path of ['/openapi.json', '/docs']) {
      const text = await (await fetch(vault().baseUrl + path)).text()
      assert.match(text, /ACME-API-KEY/)
      assert.doesNotMatch(text, /SVC/)
    }
  })
}
onOneEngine('headers with another prefix', 'storage knows nothing of HTTP', prefixed, {
  headerPrefix: 'acme',
})
