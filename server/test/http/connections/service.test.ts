import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { commitGate } from '../../rig/commit-gate.ts'
import { onSqliteAlone } from '../../rig/every-engine.ts'
import { sendRaw } from '../../rig/raw-http.ts'
import { drainTimeoutMs, owner, type TestVault } from '../../rig/test-vault.ts'

/** Makes a request one that Node reads. */
const unusual = 'TE: trailers'

onSqliteAlone('connections of the service', 'storage makes no difference', vault => {
  const requestWith =
    (key: string) =>
    (line: string, body?: string, ...fields: readonly string[]): string => {
      const type = line.startsWith('PATCH') ? 'application/merge-patch+json' : 'application/json'
      const content = body === undefined ? [] : [`Content-Type: ${type}`, `Content-Length: ${body.length}`]
      const head = [`${line} HTTP/1.1`, 'Host: vault', `SVC-API-KEY: ${key}`, ...content, ...fields]
      return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
    }
  const statuses = async (bytes: string, answers: number): Promise<number[]> =>
    (await sendRaw(vault().baseUrl, bytes, { answers })).map(({ status }) => status)

  test('requests sent at once are worked on in order (C27.1)', async () => {
    const request = requestWith((await vault().tenant({ owner })).keys.owner)
    const path = '/tokens/in-order'
    const all = [
      request('POST /tokens', '{"id":"in-order","type":"token","data":"x"}'),
      request(`PATCH ${path}`, '{"data":"y"}'),
      request(`GET ${path}`),
      request(`DELETE ${path}`),
      request(`GET ${path}`),
    ]
    assert.deepEqual(await statuses(all.join(''), all.length), [201, 200, 200, 204, 404])
  })

  const created = '{"type":"token","data":"x"}'
  for (const [what, after, ...fields] of [
    ['something that is not HTTP', 'XX\r\n\r\n'],
    ['a stray brace', '}'],
    [
      'a request with two lengths',
      'POST /tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
  ] as const)
    test(`a request followed by ${what} is answered, and then what follows is refused (C2.10)`, async () => {
      const request = requestWith((await vault().tenant({ owner })).keys.owner)
      const bytes = request('POST /tokens', created, ...fields) + after
      assert.deepEqual(await statuses(bytes, 2), [201, 400])
    })

  test('a request that announces the end of its connection gets the last answer (C2.10)', async () => {
    const request = requestWith((await vault().tenant({ owner })).keys.owner)
    const bytes = `${request('POST /tokens', created, 'Connection: close')}XX\r\n\r\n`
    assert.deepEqual(await statuses(bytes, 2), [201])
  })

  for (const [what, bytes, status] of [
    ['a request with two hosts', 'GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['another version of HTTP', 'GET /health HTTP/2.0\r\nHost: a\r\n\r\n', 400],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['something that is not HTTP', 'XX\r\n\r\n', 400],
  ] as const)
    test(`${what} is refused with a problem (C2.1, C4.1)`, async () => {
      const [reply] = await sendRaw(vault().baseUrl, bytes)
      assert.equal(reply?.status, status)
      assert.ok(reply?.headers.get('date'))
      assert.match(String(reply?.headers.get('content-type')), /^application\/problem\+json/)
    })

  test('a request answered before all of it has arrived is answered only once (C2.10)', async () => {
    const head = 'POST /tokens HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
    const { hostname, port } = new URL(vault().baseUrl)
    const socket = connect(Number(port), hostname)
    socket.write(`${head}1\r\nx\r\n`)
    const [first] = await once(socket, 'data')
    assert.match(String(first), /^HTTP\/1\.1 401 /)
    socket.write('no chunk\r\n')
    assert.equal((await buffer(socket)).toString(), '')
  })

  for (const [what, isKnown, status] of [
    ['that is refused without it', false, 401],
    ['that needs it', true, 400],
  ] as const)
    test(`a request ${what} is answered once if its client ends instead of sending its body (C2.10)`, async () => {
      const { keys } = await vault().tenant({ owner })
      const request = requestWith(isKnown ? keys.owner : 'unknown')
      const [head = ''] = request('POST /tokens', created).split(created)
      const replies = await sendRaw(vault().baseUrl, head, { answers: 2, saysEnd: true })
      assert.deepEqual(
        replies.map(reply => reply.status),
        [status],
      )
    })

  for (const first of [1, 51])
    test(`a client that has closed its sending side gets all its answers (${first} of 51 requests sent at first) (C2.10)`, async () => {
      const { keys } = await vault().tenant({ owner })
      const request = requestWith(keys.owner)
      const gate = commitGate(vault())
      const { hostname, port } = new URL(vault().baseUrl)
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
      socket.write(request('POST /tokens', created).repeat(first))
      await gate.waiting(1)
      socket.end(request('POST /tokens', created).repeat(51 - first))
      // By the time other requests are answered, it has arrived. They are as long as what waits, and must not get into it.
      for (let n = 0; n < 3; n++)
        assert.deepEqual(await statuses(request('POST /tokens', 'x'.repeat(20_000)), 1), [400])
      gate.open()
      const answers = (await buffer(socket)).toString('latin1').split('HTTP/1.1 201 ').length - 1
      assert.equal(answers, 51)
    })
})

const isListening = (port: number, host: string): Promise<boolean> =>
  new Promise(resolve => {
    const probe = connect(port, host)
    probe.once('connect', () => resolve(true))
    probe.once('error', () => resolve(false))
    probe.once('connect', () => probe.destroy())
  })

onSqliteAlone('a service that stops', 'storage makes no difference', started => {
  /** Stops the service while a client has not read a long answer, and lets it read from then on. */
  const stopUnread = async (
    vault: TestVault,
    ...fields: readonly string[]
  ): Promise<{ answer: Buffer; tookMs: number }> => {
    const { keys } = await vault.tenant({ owner })
    const data = 'x'.repeat(900_000)
    for (let n = 0; n < 12; n++) await vault.create(keys.owner, { type: 'token', data })
    const { hostname, port } = new URL(vault.baseUrl)
    const socket = connect(Number(port), hostname)
    const head = ['GET /tokens HTTP/1.1', 'Host: vault', `SVC-API-KEY: ${keys.owner}`, ...fields]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    await once(socket, 'readable')
    const begun = performance.now()
    const closed = vault.close()
    while (await isListening(Number(port), hostname)) {}
    const [answer] = await Promise.all([buffer(socket), closed])
    const tookMs = performance.now() - begun
    await vault.openOn(vault.engine)
    return { answer, tookMs }
  }

  for (const [reader, ...fields] of [
    ['the strict reader'],
    ["Node's parser", unusual],
    ["Node's parser, with Connection: close", 'Connection: close'],
  ])
    test(`an answer that is on its way is sent whole, and then nothing holds up the stop (${reader}) (C36.2)`, async () => {
      const { answer, tookMs } = await stopUnread(started(), ...fields)
      assert.ok(tookMs < drainTimeoutMs)
      assert.equal(answer.toString('latin1').split('"id":').length - 1, 12)
      assert.ok(answer.subarray(-5).equals(Buffer.from('0\r\n\r\n')), 'the last chunk')
    })

  for (const [status, body] of [
    [201, '{"type":"token","data":"x"}'],
    [400, '{"type":"none","data":"x"}'],
  ] as const)
    test(`an answer of a service that stops says that its connection closes (${status}) (docs/running.md)`, async () => {
      const { keys } = await started().tenant({ owner })
      const { hostname, port } = new URL(started().baseUrl)
      const socket = connect(Number(port), hostname)
      const fields = [`SVC-API-KEY: ${keys.owner}`, 'Content-Type: application/json', 'Expect: 100-continue']
      const head = ['POST /tokens HTTP/1.1', 'Host: vault', ...fields, `Content-Length: ${body.length}`]
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      assert.match(String(await once(socket, 'data')), /^HTTP\/1\.1 100 /)
      const closed = started().close()
      while (await isListening(Number(port), hostname)) {}
      socket.write(body)
      const [answer] = await Promise.all([buffer(socket), closed])
      await started().openOn(started().engine)
      assert.match(answer.toString(), new RegExp(`^HTTP/1\\.1 ${status} `))
      assert.match(answer.toString(), /\r\nconnection: close\r\n/i)
    })

  for (const fields of [[], [unusual]])
    test(`a client that sends nothing more does not hold up the stop (${fields[0] ?? 'plain'}) (C36.2)`, async () => {
      const { hostname, port } = new URL(started().baseUrl)
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
      socket.on('error', () => {})
      socket.write(['GET /health HTTP/1.1', 'Host: vault', ...fields, '', ''].join('\r\n'))
      await once(socket, 'data')
      const begun = performance.now()
      await started().close()
      const tookMs = performance.now() - begun
      socket.destroy()
      await started().openOn(started().engine)
      assert.ok(tookMs < drainTimeoutMs)
    })

  test('clients that connect when no time is left do not hold up the stop (C36.2)', async () => {
    const { hostname, port } = new URL(started().baseUrl)
    const sockets = Array.from({ length: 50 }, () => {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on('error', () => {})
      socket.write('GET /nowhere HTTP/1.1\r\nHost: ')
      return socket
    })
    await started().service.close(0)
    for (const socket of sockets) socket.destroy()
    await started().openOn(started().engine)
  })
})

onSqliteAlone('the two readers', 'the same operations answer', vault => {
  const body = (content: string): string[] => [
    'Content-Type: application/json',
    `Content-Length: ${content.length}`,
    '',
    content,
  ]
  const json = '{"id": "an-id", "type": "token", "data": "x", "deduplicate_token": true}'
  const requests: readonly { line: string; rest?: readonly string[]; status: number }[] = [
    { line: 'POST /tokens', rest: body(json), status: 201 },
    { line: 'POST /tokens', rest: body(json), status: 201 },
    { line: 'POST /tokens', rest: body('{'), status: 400 },
    { line: 'POST /tokens', rest: ['Content-Type: text/plain', 'Content-Length: 1', '', 'x'], status: 415 },
    { line: 'GET /tokens/an-id', status: 200 },
    { line: 'GET /tokens?size=1&type=token', status: 200 },
    { line: 'GET /tokens/%zz', status: 400 },
    { line: 'GET /nowhere', status: 404 },
    { line: 'PUT /tokens', rest: ['Content-Length: 0', '', ''], status: 405 },
    { line: 'GET /docs', status: 200 },
    { line: 'DELETE /tokens/an-id', status: 204 },
  ]

  /** Fingerprints differ by tenant, and not all have the same length. Each answer has a record of its own. */
  const varying = ['date', 'content-length', 'svc-audit']

  test('an answer is the same to the byte, whichever reader has read the request (C2.10, C4.1)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { keys: others } = await vault().tenant({ owner })
    for (const { line, rest = ['', ''], status } of requests) {
      const [strict, node] = await Promise.all(
        [[keys.owner], [others.owner, unusual]].map(async ([key, ...fields]) => {
          const head = [
            `${line} HTTP/1.1`,
            'Host: vault',
            `SVC-API-KEY: ${key}`,
            'SVC-TRACE-ID: a-trace-id',
            ...fields,
          ]
          const [reply] = await sendRaw(vault().baseUrl, [...head, ...rest].join('\r\n'))
          return reply
        }),
      )
      assert.equal(strict?.status, status, `${line}: ${strict?.text}`)
      const shown = [strict, node].map(reply => ({
        status: reply?.status,
        headers: Object.fromEntries([...(reply?.headers ?? [])].filter(([name]) => !varying.includes(name))),
        isWhole: Number(reply?.headers.get('content-length') ?? 0) === reply?.text.length,
        text: reply?.text.replace(/"(tenant_id|created_by|modified_by|fingerprint)":"[^"]+"/g, ''),
      }))
      assert.deepEqual(shown[0], shown[1], line)
    }
  })
})
