import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { pace } from '../../../src/domain/pace.ts'
import type { Serve } from '../../../src/http/exchange.ts'
import { type PlainLane, plainLane } from '../../../src/http/plain/lane.ts'
import { certificate } from '../../rig/certificates.ts'
import { onSqliteAlone } from '../../rig/every-engine.ts'
import { sendRaw } from '../../rig/raw-http.ts'
import { owner } from '../../rig/test-vault.ts'

const get = (path: string, ...fields: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: vault', ...fields, '', ''].join('\r\n')
const unusual = 'TE: trailers'

const { cert, key } = certificate('127.0.0.1')

for (const wire of ['TCP', 'TLS'] as const)
  describe(`the lane of plain requests, over ${wire}`, () => {
    let held: (() => void)[]
    let begun: string[]
    let opened: Socket[]
    /** What each client's socket sends over. */
    const raws = new WeakMap<Socket, Socket>()
    let server: Server
    let lane: PlainLane
    /**
     * Answers with the lane a request came by; `/held` is answered when the test says so, and with its body, `/long` at length.
     */
    const answer = (
      by: string,
      url: string | undefined,
      body: () => Promise<string>,
      send: (content: string) => void,
    ): void => {
      begun.push(url ?? '')
      const content = `${by} ${url}${url === '/long' ? '.'.repeat(8_000_000) : ''}`
      if (url === '/held') held.push(async () => send(content + (await body())))
      else send(content)
    }
    const plainly: Serve = exchange =>
      answer(
        'plain',
        exchange.url,
        async () => String(await exchange.body()),
        content => exchange.send(200, { 'content-length': content.length }, content),
      )
    beforeEach(async () => {
      held = []
      begun = []
      opened = []
      // The test may be slow.
      mock.timers.enable({ apis: ['setTimeout'] })
      const byNode: RequestListener = (request, response) =>
        answer(
          'node',
          request.url,
          () => text(request),
          content => response.writeHead(200, { 'content-length': content.length }).end(content),
        )
      const options = { keepAliveTimeout: 60_000 }
      server =
        wire === 'TCP' ? createServer(options, byNode) : createTlsServer({ ...options, cert, key }, byNode)
      lane = plainLane(server, {
        traceHeader: 'svc-trace-id',
        findRoute: (_method, url) => (url === '/nowhere' ? undefined : { to: plainly, params: {} }),
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
    })
    afterEach(() => {
      for (const socket of opened) socket.destroy()
      server.close()
      mock.timers.reset()
    })

    const open = (): Socket => {
      const { port } = server.address() as AddressInfo
      const raw = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      const socket = wire === 'TCP' ? raw : connectTls({ socket: raw, host: '127.0.0.1', ca: cert })
      raws.set(socket, raw)
      socket.setEncoding('latin1')
      opened.push(socket)
      return socket
    }
    /** Both ends of a new connection. */
    const openBoth = async (): Promise<[client: Socket, served: Socket]> => {
      const taken = once(server, wire === 'TCP' ? 'connection' : 'secureConnection')
      const client = open()
      const [served]: Socket[] = await taken
      assert.ok(served)
      opened.push(served)
      return [client, served]
    }
    const until = async (isSo: () => boolean): Promise<void> => {
      while (!isSo()) await new Promise(setImmediate)
    }
    /** Reads until this many answers have come; returns their bodies. */
    const bodies = async (socket: Socket, count: number): Promise<string[]> => {
      let read = ''
      for (;;) {
        const found = [...read.matchAll(/\r\n\r\n((?:plain|node) \/\w+?)(?=HTTP|$)/g)].map(
          match => match[1] ?? '',
        )
        if (found.length >= count) return found
        read += (await once(socket, 'data'))[0]
      }
    }

    for (const [name, other] of [
      ['anything else', get('/c', unusual)],
      ['one that leads nowhere', get('/nowhere')],
    ] as const)
      test(`C2.10 a plain request is answered in it; ${name}, and all that follows on the connection, is answered by Node`, async () => {
        const socket = open()
        const lanes: string[] = []
        for (const bytes of [get('/a'), get('/b'), other, get('/d')]) {
          socket.write(bytes)
          lanes.push(...(await bodies(socket, 1)).map(body => body.split(' ')[0] ?? ''))
        }
        assert.deepEqual(lanes, ['plain', 'plain', 'node', 'node'])
      })

    test('C2.10 requests that arrive before the previous answer are answered in order', async () => {
      const [client, served] = await openBoth()
      client.write(get('/held'))
      await until(() => held.length > 0)
      for (const path of ['/b', '/c', '/d']) client.write(get(path))
      await until(() => served.isPaused())
      held.pop()?.()
      const paths = (await bodies(client, 4)).map(body => body.split(' ')[1])
      assert.deepEqual(paths, ['/held', '/b', '/c', '/d'])
    })

    for (const [lane, fields] of [
      ['plain', []],
      ['node', [unusual]],
    ] as const)
      test(`C2.10 a request has its own body, whatever other connections bring meanwhile (${lane})`, async () => {
        const post = (path: string, body: string): string =>
          `POST ${path} HTTP/1.1\r\n${['Host: vault', 'Content-Length: 4', ...fields].join('\r\n')}\r\n\r\n${body}`
        const [socket, other] = [open(), open()]
        socket.write(post('/held', 'mine'))
        await until(() => held.length > 0)
        other.write(post('/them', 'none'))
        await bodies(other, 1)
        held.pop()?.()
        const [answered] = await once(socket, 'data')
        assert.match(answered, new RegExp(`${lane} /heldmine$`))
      })

    const headOf = (path: string, bodyBytes: number): string =>
      [`POST ${path} HTTP/1.1`, 'Host: vault', `Content-Length: ${bodyBytes}`, '', ''].join('\r\n')
    /** A new connection that has read the pieces, each by itself. */
    const openWith = async (...pieces: readonly string[]): Promise<[client: Socket, served: Socket]> => {
      const [client, served] = await openBoth()
      for (const piece of pieces) {
        const before = served.bytesRead
        client.write(piece)
        await until(() => served.bytesRead > before)
      }
      return [client, served]
    }
    const answerHeld = async (): Promise<void> => {
      await until(() => held.length > 0)
      held.pop()?.()
    }

    const apart: readonly { name: string; pieces: readonly string[]; answered: string }[] = [
      { name: 'behind its head', pieces: [headOf('/held', 4), 'body'], answered: 'plain /heldbody' },
      {
        name: 'in two pieces behind its head',
        pieces: [headOf('/held', 4), 'bo', 'dy'],
        answered: 'node /heldbody',
      },
      {
        name: 'that ends like a head',
        pieces: [headOf('/held', 37), '..Host: vault\r\nContent-Length: 37\r\n\r\n'],
        answered: 'plain /held..Host: vault\r\nContent-Length: 37\r\n\r\n',
      },
      {
        name: 'too long to wait for',
        pieces: [headOf('/held', 8_193), 'x'.repeat(8_193)],
        answered: `node /held${'x'.repeat(8_193)}`,
      },
    ]
    for (const { name, pieces, answered } of apart)
      test(`C2.10 a body ${name} is its request's`, async () => {
        const [client] = await openWith(...pieces)
        await answerHeld()
        client.end()
        const answer = await text(client)
        assert.equal(answer.slice(answer.indexOf('\r\n\r\n') + 4), answered)
      })

    test('C2.10 a client that sends each body behind its head stays in the lane', async () => {
      const [client, served] = await openBoth()
      for (const path of ['/a', '/b', '/c']) {
        const before = served.bytesRead
        client.write(headOf(path, 2))
        await until(() => served.bytesRead > before)
        client.write('{}')
        assert.deepEqual(await bodies(client, 1), [`plain ${path}`])
      }
    })

    test('C3.1 a head whose body does not follow is read by Node soon, which may refuse it', async () => {
      const [client] = await openWith(headOf('/held', 4))
      mock.timers.tick(pace.bodyFollowsMs - 1)
      assert.deepEqual(begun, [])
      mock.timers.tick(1)
      await until(() => begun.length > 0)
      client.write('body')
      await answerHeld()
      assert.match(String(await once(client, 'data')), /node \/heldbody$/)
    })

    test('C2.10 a client that closes its sending side instead of sending the body is told so', async () => {
      const [client] = await openWith(headOf('/held', 4))
      client.end()
      assert.match(await text(client), /^HTTP\/1\.1 400 /)
    })

    test('C2.10 when the service stops, a request whose body is still to come is answered', async () => {
      const [client, served] = await openWith(headOf('/held', 4))
      lane.close()
      // The test may be slow.
      served.setTimeout(0)
      client.write('body')
      await answerHeld()
      assert.match(await text(client), /\r\nConnection: close\r\n\r\n(plain|node) \/heldbody$/)
    })

    test('docs/testing.md: nothing grows: a client that leaves before its body is forgotten', async t => {
      const [client, served] = await openWith(headOf('/held', 4))
      // Not `once`, which would listen for the error.
      const closed = new Promise(resolve => served.on('close', resolve))
      raws.get(client)?.resetAndDestroy()
      await closed
      const touched = t.mock.method(served, 'setTimeout')
      mock.timers.tick(pace.bodyFollowsMs)
      assert.equal(touched.mock.callCount(), 0)
    })

    test('C2.10 a request in pieces is answered, wherever it is cut', async () => {
      const whole = get('/a')
      for (const cut of [1, 10, whole.length - 1]) {
        const socket = open()
        socket.setNoDelay(true)
        socket.write(whole.slice(0, cut))
        await new Promise(setImmediate)
        socket.write(whole.slice(cut))
        await bodies(socket, 1)
      }
    })

    test('C2.10 a client that has closed its sending side is answered, and the connection ends', async () => {
      const socket = open()
      socket.end(get('/held'))
      await until(() => held.length > 0)
      held.pop()?.()
      assert.match(await text(socket), /plain \/held$/)
    })

    test('C2.10 an answer longer than the kernel takes at once is sent whole, and then the next request is read', async () => {
      const socket = open()
      socket.write(get('/long'))
      await once(socket, 'readable')
      socket.write(get('/b'))
      let read = ''
      socket.on('data', (some: string) => {
        read += some
      })
      while (!read.endsWith('/b')) await once(socket, 'data')
      assert.ok(read.length > 8_000_000)
    })

    const idle: readonly { name: string; send?: string; isEnded: boolean }[] = [
      { name: 'that has sent nothing is closed', isEnded: true },
      { name: 'that was answered is closed', send: get('/a'), isEnded: true },
      { name: 'whose client does not read its answer is closed', send: get('/long'), isEnded: true },
      { name: 'whose request is still worked on stays open', send: get('/held'), isEnded: false },
    ]
    for (const { name, send, isEnded } of idle)
      test(`docs/operating.md: a connection ${name} when nothing has moved on it for longer than Keep-Alive announced`, async () => {
        const [socket, served] = await openBoth()
        assert.equal(served.timeout, 61_000)
        if (send !== undefined) {
          socket.write(send)
          if (isEnded) await once(socket, 'readable')
          else await until(() => held.length > 0)
        }
        served.emit('timeout')
        assert.equal(served.destroyed, isEnded)
        held.pop()?.()
        if (!isEnded) assert.deepEqual(await bodies(socket, 1), ['plain /held'])
      })

    test('C2.10 when the service stops, connections end after their next answer, or soon if nothing is asked', async () => {
      const [[silent, silentServed], [asking, askingServed], [busy]] = [
        await openBoth(),
        await openBoth(),
        await openBoth(),
      ]
      asking.write(get('/a'))
      await bodies(asking, 1)
      busy.write(get('/held'))
      await until(() => held.length > 0)
      lane.close()
      for (const served of [silentServed, askingServed]) {
        assert.equal(served.timeout, pace.lastRequestMs)
        // The test may be slow.
        served.setTimeout(0)
      }
      asking.write(get('/held'))
      await until(() => held.length === 2)
      assert.equal(askingServed.timeout, 61_000, 'the answer may be read slowly')
      asking.write(get('/a'))
      for (const answerHeld of held.splice(0)) answerHeld()
      for (const socket of [asking, busy])
        assert.match(await text(socket), /^HTTP.*\r\nConnection: close\r\n\r\nplain \/held$/s)
      assert.ok(
        !askingServed.isPaused(),
        'what comes after the last answer is dropped, so that the end of it is noticed',
      )
      silentServed.emit('timeout')
      assert.equal(await text(silent), '')
      const late = open()
      late.write(get('/late'))
      assert.deepEqual(await bodies(late, 1), ['node /late'])
    })

    test('C2.10 when the service stops, a connection whose client is still reading ends soon after the answer', async () => {
      const [client, served] = await openBoth()
      client.write(get('/long'))
      await once(client, 'readable')
      lane.close()
      assert.equal(served.timeout, 61_000)
      client.resume()
      await until(() => served.timeout === pace.lastRequestMs)
    })

    test('C2.10 a client that leaves with a reset harms nobody', async () => {
      const [client, served] = await openBoth()
      client.write(get('/held'))
      await until(() => held.length === 1)
      // Not `once`, which would listen for the error.
      const closed = new Promise(resolve => served.on('close', resolve))
      raws.get(client)?.resetAndDestroy()
      await closed
      const [other] = await openBoth()
      other.end(get('/after'))
      assert.match(await text(other), /plain \/after$/)
    })

    test('C2.10 a client that closes its sending side while its request is worked on is told that the connection ends, and it does', async () => {
      const [client, served] = await openBoth()
      client.write(get('/held'))
      await until(() => held.length === 1)
      client.end()
      await until(() => served.readableEnded)
      held.pop()?.()
      const [head] = await once(client, 'data')
      assert.match(String(head), /\r\nConnection: close\r\n\r\nplain \/held$/)
      await until(() => served.destroyed)
    })

    test('C2.23 no further request is begun while the client has not read its answer', async () => {
      const [client, served] = await openBoth()
      client.write(get('/long'))
      await once(client, 'readable')
      client.write(get('/b'))
      await until(() => served.isPaused())
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
      assert.deepEqual(begun, ['/long'])
    })

    test('C2.10 a connection with a request that Node is answering stays open, however long that takes', async () => {
      const [client, served] = await openBoth()
      client.write(get('/held', unusual))
      await until(() => held.length === 1)
      // Node would end it, too, unless somebody listens.
      server.on('timeout', () => {})
      served.emit('timeout')
      assert.ok(!served.destroyed)
    })

    test('docs/testing.md: nothing grows: a connection that has closed is forgotten', async t => {
      const [client, served] = await openBoth()
      client.destroy()
      await once(served, 'close')
      const touched = t.mock.method(served, 'setTimeout')
      lane.close()
      assert.equal(touched.mock.callCount(), 0)
    })
  })

onSqliteAlone('the lane of plain requests and Node', 'the same operations answer', vault => {
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

  /** Fingerprints differ by tenant, and not all have the same length. */
  const varying = ['date', 'content-length']

  test('docs/operating.md: an idle connection is kept for 72 seconds, and answers say so', async () => {
    for (const fields of [[], [unusual]]) {
      const [reply] = await sendRaw(vault().baseUrl, get('/health', ...fields))
      assert.equal(reply?.headers.get('keep-alive'), 'timeout=72')
    }
  })

  test('C2.10 C4.1 an answer is the same to the byte, whichever lane it comes from', async () => {
    const { keys } = await vault().tenant({ owner })
    const { keys: others } = await vault().tenant({ owner })
    for (const { line, rest = ['', ''], status } of requests) {
      const [plain, node] = await Promise.all(
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
      assert.equal(plain?.status, status, `${line}: ${plain?.text}`)
      const shown = [plain, node].map(reply => ({
        status: reply?.status,
        headers: Object.fromEntries([...(reply?.headers ?? [])].filter(([name]) => !varying.includes(name))),
        isWhole: Number(reply?.headers.get('content-length') ?? 0) === reply?.text.length,
        text: reply?.text.replace(/"(tenant_id|created_by|modified_by|fingerprint)":"[^"]+"/g, ''),
      }))
      assert.deepEqual(shown[0], shown[1], line)
    }
  })
})
