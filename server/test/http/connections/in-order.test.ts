import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, describe, test } from 'node:test'
import { pace } from '../../../src/domain/pace.ts'
import { inOrder } from '../../../src/http/node/in-order.ts'
import { keepWatch } from '../../../src/http/node/keep-watch.ts'
import { commitGate } from '../../rig/commit-gate.ts'
import { onSqliteAlone } from '../../rig/every-engine.ts'
import { sendRaw } from '../../rig/raw-http.ts'
import { drainTimeoutMs, owner, type TestVault } from '../../rig/test-vault.ts'

const unusual = 'TE: trailers'

onSqliteAlone('connections that Node serves', 'storage makes no difference', vault => {
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

  test('C27.1 requests sent at once are worked on in order', async () => {
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
    test(`C2.10 a request followed by ${what} is answered, and then what follows is refused`, async () => {
      const request = requestWith((await vault().tenant({ owner })).keys.owner)
      const bytes = request('POST /tokens', created, ...fields) + after
      assert.deepEqual(await statuses(bytes, 2), [201, 400])
    })

  test('C2.10 a request that announces the end of its connection gets the last answer', async () => {
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
    test(`C2.1 C4.1 ${what} is refused with a problem`, async () => {
      const [reply] = await sendRaw(vault().baseUrl, bytes)
      assert.equal(reply?.status, status)
      assert.ok(reply?.headers.get('date'))
      assert.match(String(reply?.headers.get('content-type')), /^application\/problem\+json/)
    })

  test('C2.10 a request answered before all of it has arrived is answered only once', async () => {
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
    test(`C2.10 a request ${what} is answered once if its client ends instead of sending its body`, async () => {
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
    test(`C2.10 a client that has closed its sending side gets all its answers (${first} of 51 requests sent at first)`, async () => {
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

describe('clients that do not wait for answers', () => {
  const request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
  const opened: (Socket | Server)[] = []
  afterEach(() => {
    for (const each of opened.splice(0))
      if ('close' in each) each.close()
      else each.destroy()
  })
  const bareServer = async (answer: (response: ServerResponse) => unknown, idleMs = 60_000) => {
    const server = createServer((_request, response) => answer(response))
    inOrder(server, idleMs)
    opened.push(server)
    server.on('connection', socket => opened.push(socket))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const ask = (requests: number, line = request): Socket => {
      const socket = connect(port, '127.0.0.1')
      opened.push(socket)
      socket.on('error', () => {})
      socket.write(line.repeat(requests))
      return socket
    }
    const open = async (): Promise<[Socket, Socket]> => {
      const socket = ask(0)
      const [served] = await once(server, 'connection')
      return [served, socket]
    }
    return { server, ask, open }
  }
  /** Resolves when this many answers have come. */
  const answered = async (socket: Socket, count: number): Promise<void> => {
    let come = 0
    for await (const bytes of socket) {
      come += bytes.toString('latin1').split('HTTP/1.1 200').length - 1
      if (come >= count) return
    }
    assert.fail(`the connection ended after ${come} answers`)
  }

  for (const requests of [1, 2])
    test(`C2.10 one that does not read its answers is disconnected (requests: ${requests})`, async () => {
      const { server, ask } = await bareServer(response => response.end(Buffer.alloc(20_000_000)), 100)
      ask(requests)
      const [served] = await once(server, 'connection')
      await once(served, 'close')
    })

  test('C2.10 one that asks nothing is disconnected', async () => {
    const { open } = await bareServer(response => response.end(), 100)
    const [served] = await open()
    await once(served, 'close')
  })

  for (const [what, idleMs] of [
    ['is silent', 100],
    ['leaves, with bytes that nobody wants', 60_000],
  ] as const)
    test(`C2.10 one that is refused a tunnel and then ${what} is disconnected`, async () => {
      const { server, open } = await bareServer(response => response.end(), idleMs)
      server.on('connect', ({ socket }) => {
        keepWatch(server, socket)
        socket.end()
      })
      const [served, socket] = await open()
      socket.allowHalfOpen = served.allowHalfOpen = true
      socket.write('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n')
      await once(server, 'connect')
      if (what !== 'is silent') socket.end('unwanted')
      await once(served, 'close')
    })

  test('C2.10 one that is refused when no more of its body was wanted, and leaves with more on its way, is disconnected', async () => {
    const { server, open } = await bareServer(() => {}, 60_000)
    server.on('clientError', (_error, socket) => socket.end())
    const [served, socket] = await open()
    socket.allowHalfOpen = served.allowHalfOpen = true
    // As much as Node takes before it stops reading, and then a chunk without a length.
    const most = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${most}no length\r\n`)
    await once(server, 'clientError')
    socket.end('unwanted')
    await once(served, 'close')
  })

  for (const [what, fields] of [
    ['leaves', ''],
    ['asks for an upgrade and leaves', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'],
  ] as const)
    test(`C2.10 one that ${what} in the middle of its body is disconnected`, async () => {
      const { server, open } = await bareServer(() => {}, 60_000)
      server.on('clientError', (_error, socket) => socket.end())
      Object.assign(server, { httpAllowHalfOpen: true })
      const [served, socket] = await open()
      socket.allowHalfOpen = served.allowHalfOpen = true
      socket.end(`POST / HTTP/1.1\r\nHost: x\r\n${fields}Content-Length: 3\r\n\r\nx`)
      await once(served, 'close')
    })

  test('C2.10 one that is refused in the middle of its body and then is silent is disconnected', async () => {
    const { server, open } = await bareServer(() => {}, 100)
    server.on('clientError', (_error, socket) => socket.end())
    const [served, socket] = await open()
    socket.allowHalfOpen = true
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n')
    await once(served, 'close')
  })

  test('C2.10 one whose request is still worked on stays connected when nothing has moved for a while', async () => {
    const late = (response: ServerResponse) => response.socket?.once('timeout', () => response.end())
    const { ask } = await bareServer(late, 100)
    await answered(ask(1), 1)
  })

  test('C27.1 one that has been answered before is still served in order', async () => {
    const begun: ServerResponse[] = []
    const { ask } = await bareServer(response =>
      response.req.url === '/' ? response.end() : begun.push(response),
    )
    const socket = ask(1)
    await once(socket, 'data')
    socket.write(request.replace('/', '/first') + request.replace('/', '/second'))
    const waitFor = async (count: number): Promise<void> => {
      while (begun.length < count) await new Promise(setImmediate)
    }
    await waitFor(1)
    for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
    assert.deepEqual(
      begun.map(({ req }) => req.url),
      ['/first'],
    )
    begun[0]?.end()
    await waitFor(2)
    begun[1]?.end()
  })

  test('C2.23 one that reads later gets all its answers', async () => {
    const requests = 1_000
    const { ask } = await bareServer(response => response.end(Buffer.alloc(20_000)))
    const socket = ask(requests)
    for (let n = 0; n < 20; n++) await answered(ask(1), 1)
    await answered(socket, requests)
  })

  test('C2.23 little of what they send is read while the first request waits, and everything is answered', async () => {
    const held: ServerResponse[] = []
    const { server, ask } = await bareServer(response => {
      if (response.req.url !== '/' && held.length === 0) held.push(response)
      else response.end()
    })
    const requests = 2_000
    const socket = ask(requests, request.replace('/', `/${'x'.repeat(500)}`))
    const [served] = await once(server, 'connection')
    // By the time the others are answered, all of it would have been read.
    for (let n = 0; n < 100; n++) await answered(ask(1), 1)
    assert.ok(served.bytesRead < 300_000, `${served.bytesRead} bytes were read`)
    held[0]?.end()
    await answered(socket, requests)
  })

  test('C2.23 one that Node has paused until it reads its answers is answered later', async () => {
    const { ask, open } = await bareServer(response => response.end())
    const [served, socket] = await open()
    Object.assign(served, { _paused: true })
    socket.write(request)
    for (let n = 0; n < 20; n++) await answered(ask(1), 1)
    Object.assign(served, { _paused: false }).resume()
    await answered(socket, 1)
  })

  test('C2.10 when the service stops, one that asks again is answered, and one that is silent is disconnected', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { server, open } = await bareServer(response => response.end())
    const [[silentServed, silent], [askingServed, asking]] = [await open(), await open()]
    for (const socket of [silent, asking]) {
      socket.write(request)
      await once(socket, 'data')
    }
    server.closeIdleConnections()
    asking.write(request)
    await once(asking, 'data')
    t.mock.timers.tick(pace.lastRequestMs - 1)
    const areEnding = (): boolean[] => [silentServed, askingServed].map(served => served.writableEnded)
    assert.deepEqual(areEnding(), [false, false])
    t.mock.timers.tick(1)
    assert.deepEqual(areEnding(), [true, false])
    await once(silent, 'close')
  })

  test('C2.23 what waits of one that has left is not begun', async () => {
    let begun = 0
    const { open } = await bareServer(() => begun++)
    const [served, socket] = await open()
    socket.write(request.repeat(3))
    while (begun === 0) await new Promise(setImmediate)
    socket.destroy()
    while (!served.destroyed) await new Promise(setImmediate)
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
    assert.equal(begun, 1)
  })

  test('docs/testing.md: nothing grows: a connection that has closed is forgotten', async () => {
    const { server, open } = await bareServer(response => response.end())
    const [served, socket] = await open()
    socket.write(request)
    await once(socket, 'data')
    socket.destroy()
    await once(served, 'close')
    let isRemembered = false
    served.destroySoon = () => {
      isRemembered = true
    }
    server.closeIdleConnections()
    assert.ok(!isRemembered)
  })

  for (const [what, event, line] of [
    ['something that is not HTTP', 'clientError', 'XX'],
    ['CONNECT', 'connect', 'CONNECT a:1 HTTP/1.1'],
  ] as const)
    test(`C2.10 nothing is read after ${what}`, async () => {
      const { server, open } = await bareServer(response => response.end())
      const [served, socket] = await open()
      let times = 0
      server.on(event, () => times++)
      socket.write(`${line}\r\nHost: x\r\n\r\n${'x'.repeat(10_000)}`)
      await once(server, event)
      assert.deepEqual([times, served.listenerCount('data')], [1, 0])
    })

  test('C2.23 other clients are answered in between', async () => {
    let count = 0
    const { ask } = await bareServer(response => response.end(String(count++)))
    const crowd = Array.from({ length: 20 }, () => ask(200))
    await Promise.all(crowd.map(socket => once(socket, 'connect')))
    await answered(ask(1), 1)
    const meanwhile = count
    await Promise.all(crowd.map(socket => answered(socket, 200)))
    assert.ok(meanwhile < 2_000, `${meanwhile} requests of the crowd were answered first`)
    assert.equal(count, 4_001)
  })

  test('C2.23 other clients are answered while some send their bodies in chunks of a byte', async () => {
    let chunks = 0
    const { server, ask } = await bareServer(response => {
      if (response.req.method === 'GET') response.end()
      else response.req.on('data', () => chunks++)
    })
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
    for (let n = 0; n < 10; n++) ask(1, head + '1\r\nx\r\n'.repeat(20_000))
    await once(server, 'request')
    await answered(ask(1), 1)
    assert.ok(chunks < 100_000, `${chunks} chunks were read first`)
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

  for (const [lane, ...fields] of [
    ['plain'],
    ['Node', unusual],
    ['Node, with Connection: close', 'Connection: close'],
  ])
    test(`C36.2 an answer that is on its way is sent whole, and then nothing holds up the stop (${lane})`, async () => {
      const { answer, tookMs } = await stopUnread(started(), ...fields)
      assert.ok(tookMs < drainTimeoutMs)
      const end = answer.indexOf('\r\n\r\n') + 4
      const length = Number(/content-length: (\d+)/.exec(answer.toString('latin1', 0, end))?.[1])
      assert.equal(answer.length - end, length)
    })

  for (const [status, body] of [
    [201, '{"type":"token","data":"x"}'],
    [400, '{"type":"none","data":"x"}'],
  ] as const)
    test(`docs/operating.md: an answer of a service that stops says that its connection closes (${status})`, async () => {
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
    test(`C36.2 a client that sends nothing more does not hold up the stop (${fields[0] ?? 'plain'})`, async () => {
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

  test('C36.2 clients that connect when no time is left do not hold up the stop', async () => {
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
