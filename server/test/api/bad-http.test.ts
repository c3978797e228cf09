import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { before, test } from 'node:test'
import { limits } from '../../src/domain/limits.ts'
import type { TestReply } from '../rig/answers.ts'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { heldBytes } from '../rig/held-bytes.ts'
import { inShortRun, isLong } from '../rig/long-run.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { countTokens } from '../rig/scenario.ts'
import { owner } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

onSqliteAlone('HTTP that no ordinary client sends', 'refused before storage is asked', vault => {
  let key: string
  before(async () => {
    key = (await vault().tenant({ owner })).keys.owner
    await vault().create(key, { id: 'a-token', type: 'token', data: 'Sensitive Value' })
  })

  const raw = (bytes: string | Uint8Array, answers = 1): Promise<TestReply[]> =>
    sendRaw(vault().baseUrl, bytes, { answers })
  const head = (line: string, ...headers: readonly string[]): string =>
    [`${line} HTTP/1.1`, 'Host: vault', `SVC-API-KEY: ${key}`, ...headers, '', ''].join('\r\n')
  const open = (): Socket => {
    const { hostname, port } = new URL(vault().baseUrl)
    return connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  }
  const statusOf = async (bytes: string | Uint8Array): Promise<number | undefined> =>
    (await raw(bytes))[0]?.status

  /** A request target, exactly as sent, and the status of a GET of it. */
  const targets: readonly { name: string; target: string; status: number }[] = [
    { name: 'dots in place of an id (C2.13)', target: '/tokens/..', status: 404 },
    { name: 'percent-encoded dots in place of an id (C2.13)', target: '/tokens/%2e%2e', status: 404 },
    { name: 'dots that lead to another path (C2.13)', target: '/tokens/../health', status: 404 },
    { name: 'dots that lead back to a known path (C2.13)', target: '/x/../tokens', status: 404 },
    { name: 'a double slash at the start (C2.13)', target: '//tokens', status: 404 },
    { name: 'a double slash at the end (C2.13)', target: '/tokens//', status: 404 },
    { name: 'a double slash after an id (C2.13)', target: '/tokens/a-token//', status: 404 },
    { name: 'upper-case letters (C2.13)', target: '/TOKENS', status: 404 },
    { name: 'an encoded slash in an id (C2.13)', target: '/tokens/a%2Fb', status: 404 },
    { name: 'an encoded slash at the end of an id (C2.13)', target: '/tokens/a-token%2F', status: 404 },
    { name: 'a backslash (C2.13)', target: '/tokens\\a-token', status: 404 },
    { name: 'a path parameter (C2.13)', target: '/tokens;x=1', status: 404 },
    { name: 'NUL at the end of an id (C2.13)', target: '/tokens/a-token%00', status: 404 },
    { name: 'NUL inside an id (C2.13)', target: '/tokens/a%00b', status: 404 },
    { name: 'a line break in an id (C2.13)', target: '/tokens/a-token%0d%0aX:%20y', status: 404 },
    { name: 'an id encoded twice (C2.13)', target: '/tokens/%2561-token', status: 404 },
    { name: 'an oversized id (C2.13)', target: `/tokens/${'x'.repeat(8_000)}`, status: 404 },
    { name: 'SQL in an id (C2.13)', target: "/tokens/a-token'%20OR%20'1'='1", status: 404 },
    { name: 'a wildcard (C2.13)', target: '/tokens/*', status: 404 },
    { name: 'an id with a percent-encoded letter (§4.4.1)', target: '/tokens/%61-token', status: 200 },
    { name: 'a lone percent sign (C2.10)', target: '/tokens/%', status: 400 },
    {
      name: 'a percent sign before letters that are not hex digits (C2.10)',
      target: '/tokens/%zz',
      status: 400,
    },
    { name: 'an incomplete encoding (C2.10)', target: '/tokens/a%2', status: 400 },
    { name: 'a byte that is not UTF-8 (C2.10)', target: '/tokens/%ff', status: 400 },
    { name: 'an overlong encoding (C2.10)', target: '/tokens/%c0%af', status: 400 },
    { name: 'an encoded surrogate (C2.10)', target: '/tokens/%ed%a0%80', status: 400 },
    { name: 'a bad encoding in a query value (C2.10)', target: '/tokens?id=%zz', status: 400 },
    { name: 'a bad encoding in a query name (C2.10)', target: '/tokens?%ff=1', status: 400 },
    { name: 'a bad encoding in a metadata key (C2.10)', target: '/tokens?metadata.%c3=x', status: 400 },
    { name: 'NUL in a filter (C24.6)', target: '/tokens?id=%00&metadata.%00=%00', status: 200 },
    { name: 'control characters in a filter (C24.6)', target: '/tokens?metadata.a=%01%7f%0a', status: 200 },
    { name: 'a second question mark belongs to the value (C6.3)', target: '/tokens?id=?x=1', status: 200 },
  ]
  for (const { name, target, status } of targets)
    test(`${name}: GET ${target.slice(0, 60)} is ${status}`, async () => {
      for (const fields of [[], ['TE: trailers']]) {
        const [reply] = await raw(head(`GET ${target}`, ...fields))
        assert.equal(reply?.status, status, fields.join())
        if (status !== 200)
          assertAbsent({ body: reply?.text ?? '' }, ['a-token', 'Sensitive', target.slice(1)])
        else if (target.includes('?')) assert.deepEqual(reply?.body.data, [], 'the filter finds nothing')
      }
    })

  test('a request without a Host is logged like any other (docs/running.md)', async () => {
    const before = vault().log.length
    const [reply] = await raw('GET /tokens HTTP/1.1\r\nSVC-TRACE-ID: without-a-host\r\n\r\n')
    assert.equal(reply?.status, 400)
    const lines = vault()
      .log.slice(before)
      .map(line => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ method, status, trace_id }) => ({ method, status, trace_id })),
      [{ method: 'GET', status: 400, trace_id: 'without-a-host' }],
    )
  })

  for (const [reader, ...headers] of [['the strict reader'], ["Node's parser", 'TE: trailers']])
    test(`a path or query that cannot be decoded is reported as such by ${reader} (C2.1, C2.10)`, async () => {
      for (const [target, what] of [
        ['/tokens/%', 'path'],
        ['/tokens/%zz', 'path'],
        ['/tokens/%ff', 'path'],
        ['/nowhere/%ff', 'path'],
        ['/tokens?id=%ff', 'query string'],
      ]) {
        const [reply] = await raw(head(`GET ${target}`, ...headers))
        const title = 'One or more validation errors occurred.'
        assert.deepEqual(
          { ...reply?.body, trace_id: '' },
          {
            type: 'about:blank',
            title,
            status: 400,
            code: 'invalid_request',
            detail: 'The member errors says what is wrong, place by place.',
            trace_id: '',
            errors: { $: [`the ${what} is not valid percent-encoded UTF-8`] },
          },
        )
      }
    })

  test('what GET does not find, DELETE and PATCH do not find either (C2.13)', async () => {
    for (const { target, status } of targets.filter(
      ({ target }) => !target.includes('?') && !target.includes('%61'),
    )) {
      assert.equal(await statusOf(head(`DELETE ${target}`)), target === '/TOKENS' ? 404 : status, target)
      const patch = head(`PATCH ${target}`, 'Content-Type: application/merge-patch+json', 'Content-Length: 2')
      assert.equal(await statusOf(`${patch}{}`), status, target)
    }
    assert.equal(await countTokens(vault(), key), 1)
  })

  /** Bytes that are not a request, or a request that goes wrong after valid headers. */
  const garbage: readonly { name: string; bytes: string | Uint8Array; status?: number }[] = [
    { name: 'a greeting', bytes: 'hello\r\n\r\n' },
    { name: 'a TLS handshake', bytes: Buffer.from('16030100a5010000a10303', 'hex') },
    { name: 'NUL bytes', bytes: Buffer.alloc(64) },
    { name: 'HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
    { name: 'a version that does not exist', bytes: 'GET /tokens HTTP/9.9\r\nHost: x\r\n\r\n' },
    { name: 'a method that does not exist', bytes: 'BREW /tokens HTTP/1.1\r\nHost: x\r\n\r\n' },
    { name: 'a method in lower case', bytes: 'get /tokens HTTP/1.1\r\nHost: x\r\n\r\n' },
    { name: 'a header without a colon', bytes: 'GET /tokens HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n' },
    {
      name: 'a header with a space in its name',
      bytes: 'GET /tokens HTTP/1.1\r\nHost: x\r\nSVC-API-KEY : y\r\n\r\n',
    },
    { name: 'a NUL in a header', bytes: 'GET /tokens HTTP/1.1\r\nHost: x\r\nX-Y: a\0b\r\n\r\n' },
    { name: 'a negative length', bytes: 'POST /tokens HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n' },
    {
      name: 'a hexadecimal length',
      bytes: 'POST /tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 0x10\r\n\r\n',
    },
    {
      name: 'a huge length',
      bytes: `POST /tokens HTTP/1.1\r\nHost: x\r\nContent-Length: ${'9'.repeat(30)}\r\n\r\n`,
    },
    {
      name: 'two different lengths',
      bytes: 'POST /tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ',
    },
    {
      name: 'a length and a chunked body',
      bytes:
        'POST /tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    },
    {
      name: 'an unknown transfer encoding',
      bytes: 'POST /tokens HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n{}',
      // The refusal of its head: of the body that cannot be read, nothing more is said.
      status: 401,
    },
    { name: 'no Host', bytes: 'GET /tokens HTTP/1.1\r\n\r\n' },
    { name: 'a target that is not a path', bytes: 'GET tokens HTTP/1.1\r\nHost: x\r\n\r\n' },
  ]
  for (const { name, bytes, status = 400 } of garbage)
    test(`${name}: answered with one problem (C2.1, C2.10, C4.1)`, async () => {
      const replies = await sendRaw(vault().baseUrl, bytes, { answers: 2, saysEnd: true })
      assert.deepEqual(
        replies.map(reply => reply.status),
        [status],
      )
      assert.equal((await vault().send('GET', '/health')).status, 200)
    })

  test('a body with malformed chunks is refused (C2.10)', async () => {
    const start = head('POST /tokens', 'Content-Type: application/json', 'Transfer-Encoding: chunked')
    for (const chunks of ['zz\r\n{}\r\n0\r\n\r\n', '2\r\n{}garbage\r\n0\r\n\r\n', '-2\r\n{}\r\n']) {
      const replies = await raw(start + chunks)
      assert.equal(replies[0]?.status, 400)
    }
    assert.equal(await countTokens(vault(), key), 1)
  })

  test('a body in chunks that is encoded once more is refused, not taken for what is inside (C2.20)', async () => {
    const chunks = '1e\r\n{"type":"token","data":"said"}\r\n0\r\n\r\n'
    for (const [encoding, status] of [
      ['gzip, chunked', 415],
      ['identity, chunked', 415],
      ['Chunked', 201],
    ] as const) {
      const start = head('POST /tokens', 'Content-Type: application/json', `Transfer-Encoding: ${encoding}`)
      const [reply] = await raw(start + chunks)
      assert.equal(reply?.status, status, encoding)
      if (status === 201) assert.equal((await vault().delete(`/tokens/${reply?.body.id}`, key)).status, 204)
    }
    assert.equal(await countTokens(vault(), key), 1)
  })

  test('pipelined requests are answered in order (C2.1)', async () => {
    const body = '{"id":"third","type":"token","data":"x"}'
    const post = head('POST /tokens', 'Content-Type: application/json', `Content-Length: ${body.length}`)
    const breath = [
      head('GET /tokens/unknown'),
      post + body,
      head('GET /health'),
      head('DELETE /tokens/unknown'),
    ]
    const replies = await raw(breath.join(''), 4)
    assert.deepEqual(
      replies.map(({ status }) => status),
      [404, 201, 200, 404],
    )
    assert.equal((await vault().delete('/tokens/third', key)).status, 204)
  })

  test('garbage after a request gets a problem of its own (C2.1)', async () => {
    const replies = await raw(`${head('GET /health')}nonsense\r\n\r\n`, 2)
    assert.equal(replies.at(-1)?.status, 400)
    assert.equal((await vault().send('GET', '/health')).status, 200)
  })

  test('a request hidden in a refused body is not carried out (C2.19, C2.13)', async () => {
    const hidden = head('DELETE /tokens/a-token')
    const requests = [
      head('POST /tokens', 'Content-Type: text/plain', `Content-Length: ${hidden.length}`),
      head(
        'PATCH /tokens/unknown',
        'Content-Type: application/merge-patch+json',
        `Content-Length: ${hidden.length}`,
      ),
      head('PUT /tokens', `Content-Length: ${hidden.length}`),
      head('GET /tokens/unknown', `Content-Length: ${hidden.length}`),
    ]
    for (const request of requests) {
      const replies = await raw(`${request}${hidden}${head('GET /tokens/unknown')}`, 2)
      assert.ok(replies.every(({ status }) => status >= 400))
    }
    assert.equal(await countTokens(vault(), key), 1)
  })

  test('methods that HTTP knows and the vault does not are 405 (C2.15)', async () => {
    for (const method of [
      'PROPFIND',
      'TRACE',
      'LOCK',
      'SEARCH',
      'PURGE',
      'QUERY',
      'LINK',
      'MKCOL',
      'REPORT',
    ]) {
      const [reply] = await raw(head(`${method} /tokens/a-token`))
      assert.equal(reply?.status, 405, method)
      assert.match(reply?.headers.get('allow') ?? '', /GET/)
      const [unknown] = await raw(`${method} /tokens HTTP/1.1\r\nHost: x\r\n\r\n`)
      assert.equal(unknown?.status, 401, method)
    }
  })

  test('a request with an unknown Expect header is answered like any other (C2.1)', async () => {
    assert.equal(await statusOf(head('GET /tokens/a-token', 'Expect: the-unexpected')), 200)
    assert.equal(await statusOf(head('GET /tokens/unknown', 'Expect: the-unexpected')), 404)
    assert.equal(await statusOf('GET /tokens HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n'), 401)
  })

  test('CONNECT is 405, with every method in Allow and the trace id that was sent (C2.15, C4.1)', async () => {
    const [reply] = await raw(head('CONNECT a:1', 'SVC-TRACE-ID: my-trace-0001'))
    assert.equal(reply?.status, 405)
    assert.deepEqual(reply.headers.get('allow')?.split(', ').sort(), [
      'DELETE',
      'GET',
      'HEAD',
      'PATCH',
      'POST',
      'PUT',
    ])
    assert.equal(reply.headers.get('svc-trace-id'), 'my-trace-0001')
  })

  test('a client that is refused a tunnel and leaves with a reset harms nobody (C2.10)', async () => {
    const socket = open()
    socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n')
    const [answer] = await once(socket, 'data')
    assert.match(String(answer), /^HTTP\/1\.1 405 /)
    socket.resetAndDestroy()
    assert.equal(await statusOf(head('GET /tokens/a-token')), 200)
  })

  test('a request to upgrade is answered without upgrading (C2.1)', async () => {
    assert.equal(
      await statusOf(head('GET /tokens/unknown', 'Connection: Upgrade', 'Upgrade: websocket')),
      404,
    )
  })

  test('an HTTP/1.0 client is answered (§4.4.1)', async () => {
    const bytes = `GET /tokens/a-token HTTP/1.0\r\nSVC-API-KEY: ${key}\r\n\r\n`
    assert.equal(await statusOf(bytes), 200)
  })

  test('bodies where none is expected do no harm and are limited in size (§4.6.1, C2.19)', async () => {
    const withBody = (line: string, body: string): string =>
      `${head(line, 'Content-Type: application/json', `Content-Length: ${body.length}`)}${body}`
    assert.equal(await statusOf(withBody('GET /tokens/a-token', '{"a":1}')), 200)
    assert.equal(await statusOf(withBody('GET /tokens/a-token', 'no json')), 200)
    await vault().create(key, { id: 'another', type: 'token', data: 1 })
    assert.equal(await statusOf(withBody('DELETE /tokens/another', '{"id":"a-token"}')), 204)
    assert.equal(await statusOf(withBody('DELETE /tokens/a-token', ' '.repeat(limits.bodyBytes + 1))), 413)
    assert.equal(await countTokens(vault(), key), 1)
  })

  test('a client that ends its side of the connection after sending is still answered, however the request is written (§4.2.1)', async () => {
    const body = '{"type":"token","data":"said"}'
    const json = 'Content-Type: application/json'
    const length = `Content-Length: ${body.length}`
    const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const forms: readonly [string, Uint8Array?][] = [
      [head('POST /tokens', json, length) + body],
      [head('POST /tokens', json, length), Buffer.from(body)],
      [head('POST /tokens', json, length, 'Connection: close') + body],
      [head('POST /tokens', json, length, 'Accept: a', 'Accept: b') + body],
      [head('POST /tokens', json, 'Transfer-Encoding: chunked') + chunked],
      [`POST /tokens HTTP/1.0\r\nSVC-API-KEY: ${key}\r\n${json}\r\n${length}\r\n\r\n${body}`],
    ]
    for (const [first, ...rest] of forms) {
      const [reply] = await sendRaw(vault().baseUrl, first, { more: () => rest.pop(), saysEnd: true })
      assert.equal(reply?.status, 201, first)
      assert.equal((await vault().delete(`/tokens/${reply.body.id}`, key)).status, 204)
    }
  })

  test('nothing from these requests reaches the log (C2.5)', () => {
    assertAbsent({ log: vault().log.join('\n') }, ['a-token', 'Sensitive Value', 'nonsense', 'unknown', key])
  })
})

onSqliteAlone('bodies of many megabytes', 'refused before storage is asked', vault => {
  const megabyte = 1_048_576
  const chunk = Buffer.alloc(65_536, ' ')

  /** Sends so many bytes, and looks at the memory when half of them are sent. */
  const sendBytes = async (headers: string, length: number, piece: Uint8Array) => {
    let sent = 0
    let heldAtHalf = 0
    const more = (): Uint8Array | undefined => {
      if (sent >= length) return undefined
      if (sent === length / 2) heldAtHalf = heldBytes()
      sent += chunk.length
      return piece
    }
    const [reply] = await sendRaw(vault().baseUrl, headers, { more })
    return { reply, heldAtHalf }
  }

  // Each path in one of the ways: whose body it is makes no difference to how it is read.
  for (const { name, framing, piece, paths } of [
    {
      name: 'with a Content-Length',
      framing: (length: number) => `Content-Length: ${length}`,
      piece: chunk,
      paths: ['POST /tokenize', 'PATCH /tokens/unknown'],
    },
    {
      name: 'in chunks',
      framing: () => 'Transfer-Encoding: chunked',
      piece: Buffer.from(`${chunk.length.toString(16)}\r\n${chunk}\r\n`),
      paths: isLong ? ['POST /tokens', 'PATCH /tokens/unknown'] : ['POST /tokens'],
    },
  ])
    test(`bodies sent ${name} are 413 and are not held in memory (C8.2, C2.19)`, {
      skip: name === 'with a Content-Length' && inShortRun,
    }, async () => {
      const { keys } = await vault().tenant({ owner })
      const send = (line: string, key: string, megabytes = 64) => {
        const type = line.startsWith('PATCH') ? 'application/merge-patch+json' : 'application/json'
        const length = megabytes * megabyte
        return sendBytes(
          `${line} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: ${key}\r\nContent-Type: ${type}\r\n${framing(length)}\r\n\r\n`,
          length,
          piece,
        )
      }
      const start = heldBytes()
      const assertLittle = (now: number, when: string): void =>
        assert.ok(now - start < 32 * megabyte, `${when}: ${Math.round((now - start) / megabyte)} MB`)
      for (const line of paths) {
        const { reply, heldAtHalf } = await send(line, keys.owner)
        assert.equal(reply?.status, 413, line)
        assert.ok(heldAtHalf > 0, line)
        assertLittle(heldAtHalf, line)
      }
      assertLittle(heldBytes(), 'afterwards')
      // C3.1: a caller without a key is not listened to at all.
      assert.equal((await send('POST /tokens', 'nonsense', 2)).reply?.status, 401)
      assert.equal(await countTokens(vault(), keys.owner), 0)
    })

  test('one byte over a megabyte is too much, however it is sent (C8.2, C2.19)', async () => {
    const { keys } = await vault().tenant({ owner })
    for (const length of [megabyte, megabyte + 1]) {
      const raw = '{"type":"token","data":"x"}'.padEnd(length)
      const status = length > megabyte ? 413 : 201
      assert.equal((await vault().send('POST', '/tokens', { key: keys.owner, raw })).status, status)
      const chunked = [
        `POST /tokens HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: ${keys.owner}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
        `${length.toString(16)}\r\n${raw}\r\n0\r\n\r\n`,
        'GET /health HTTP/1.1\r\nHost: x\r\n\r\n',
      ]
      // Whatever is still to come is read, so that a client that goes on sending gets its answer, and may go on asking.
      const replies = await sendRaw(vault().baseUrl, chunked.join(''), { answers: 2 })
      assert.deepEqual(
        replies.map(reply => reply.status),
        [status, 200],
      )
    }
    assert.equal(await countTokens(vault(), keys.owner), 2)
  })
})
