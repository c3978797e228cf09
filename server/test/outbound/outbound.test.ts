import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { limits } from '../../src/domain/limits.ts'
import { readDestinationUrl } from '../../src/domain/outbound/destination-url.ts'
import { isPublic } from '../../src/outbound/addresses.ts'
import { connect } from '../../src/outbound/connect.ts'
import { type Outbound, type OutboundCall, openOutbound } from '../../src/outbound/outbound.ts'
import { OutboundError, type OutboundFailure } from '../../src/outbound/outbound-error.ts'
import type { OutboundSettings } from '../../src/outbound/outbound-rules.ts'
import { trusting } from '../../src/outbound/trust.ts'
import { type Certificate, certificate } from '../rig/certificates.ts'
import { answerBytes, Destination, ok, type Reply } from '../rig/destination.ts'
import { DnsServer } from '../rig/dns-server.ts'

const ca = certificate('Test CA')
const issued = (name: string, issuer = ca): Certificate => certificate(name, issuer)
const name = 'api.partner.example'

/** Quick, so that destinations that hang end a test soon. */
const quick: OutboundCall['limits'] = {
  dnsMs: 250,
  connectMs: 400,
  firstByteMs: 1_000,
  betweenBytesMs: 250,
  totalMs: 3_000,
  answerBytes: 1 << 20,
  wireBytes: 2 << 20,
}

const inAnotherProcess = { dnsMs: 5_000, connectMs: 5_000, firstByteMs: 5_000, totalMs: 9_000 }

describe('calls of other servers', () => {
  let dns: DnsServer
  let destination: Destination
  let outbound: Outbound
  /** Listens on the same port of an address that is not allowed. */
  let forbidden: Server
  let forbiddenSeen = 0

  const settings = (): OutboundSettings => ({
    allow: [{ network: '127.0.0.1', port: destination.port }],
    deny: [],
    ports: [destination.port],
    dns: [dns.address],
    ca: ca.cert,
    ownHost: undefined,
  })
  const open = (more: Partial<OutboundSettings> = {}): Outbound => openOutbound({ ...settings(), ...more })
  before(async () => {
    dns = await DnsServer.start()
    destination = await Destination.start(issued(name))
    forbidden = createServer((socket: Socket) => {
      forbiddenSeen++
      socket.destroy()
    })
    forbidden.listen(destination.port, '127.0.0.2')
    await once(forbidden, 'listening')
    outbound = open()
  })
  after(() => {
    outbound.close()
    destination.stop()
    forbidden.close()
    dns.stop()
  })
  beforeEach(() => {
    dns.set(name, { a: ['127.0.0.1'] })
    destination.reply = ok('fine')
    destination.requests.length = 0
  })

  const sending = (more: Partial<OutboundCall> & { host?: string } = {}): OutboundCall => {
    const { host = name, ...rest } = more
    const { url } = readDestinationUrl(
      `https://${host}:${destination.port}/v1?x=1`,
      new Set([destination.port]),
    )
    assert.ok(url)
    const headers: [string, string][] = [['Host', host]]
    return {
      tenant: 1,
      scope: { kind: 'proxy', id: 'one' },
      url,
      method: 'GET',
      headers,
      body: undefined,
      limits: quick,
      ...rest,
    }
  }
  const send = (more?: Partial<OutboundCall> & { host?: string }) => outbound.send(sending(more))
  const failing = async (
    failure: OutboundFailure,
    work: Promise<unknown>,
    more: { sent: boolean; status?: number } = { sent: false },
  ): Promise<void> => {
    await assert.rejects(work, (error: unknown) => {
      assert.ok(error instanceof OutboundError, String(error))
      assert.deepEqual(
        { failure: error.failure, sent: error.sent, status: error.status },
        { failure, status: undefined, ...more },
      )
      assert.doesNotMatch(error.message, /\d/)
      return true
    })
  }

  test('a call arrives as it was given, and its answer comes back with every header (U13.4)', async () => {
    destination.reply = answerBytes('{"done":1}', { status: '418 Whatever', headers: ['X-A: 1', 'X-A: 2'] })
    const body = Buffer.from('{"a":1}')
    const answer = await send({
      method: 'POST',
      headers: [
        ['Host', name],
        ['X-Twice', 'a'],
        ['x-twice', 'b'],
        ['Content-Length', String(body.length)],
      ],
      body,
    })
    assert.equal(answer.status, 418)
    assert.equal(answer.body.toString(), '{"done":1}')
    assert.deepEqual(answer.headers.slice(0, 2), [
      ['X-A', '1'],
      ['X-A', '2'],
    ])
    const [request] = destination.requests
    assert.equal(request?.line, 'POST /v1?x=1 HTTP/1.1')
    assert.deepEqual(request?.headers, [
      ['Host', name],
      ['X-Twice', 'a'],
      ['x-twice', 'b'],
      ['Content-Length', '7'],
    ])
    assert.deepEqual(request?.body, body)
  })

  test('calls of one scope share a connection; those of other tenants, proxies, kinds and origins do not (U16.3)', async () => {
    dns.set('www.partner.example', { a: ['127.0.0.1'] })
    const scope = { kind: 'proxy', id: 'shared' } as const
    await send({ scope })
    const { connections } = destination
    const resolved = dns.asked.get(name)
    await send({ scope })
    await send({ scope })
    assert.equal(destination.connections, connections)
    assert.equal(dns.asked.get(name), resolved)
    const others: Partial<OutboundCall>[] = [
      { tenant: 2, scope },
      { scope: { ...scope, id: 'other' } },
      { scope: { ...scope, kind: 'webhook' } },
    ]
    for (const other of others) await send(other)
    assert.equal(destination.connections, connections + others.length)
    await failing('tls', send({ scope, host: 'www.partner.example' }))
    assert.equal(destination.connections, connections + others.length + 1)
  })

  test('connecting goes on while the record is stored, and no byte leaves before it is (U20.1)', async () => {
    const stored = Promise.withResolvers<void>()
    const { connections, bytes } = destination
    const answer = send({ scope: { kind: 'proxy', id: 'recorded' }, beforeFirstByte: () => stored.promise })
    while (destination.connections === connections) await new Promise(resolve => setImmediate(resolve))
    await new Promise(resolve => setTimeout(resolve, 50))
    assert.equal(destination.bytes, bytes)
    stored.resolve()
    assert.equal((await answer).status, 200)
    const failed = new Error('no record')
    await assert.rejects(
      send({ scope: { kind: 'proxy', id: 'unrecorded' }, beforeFirstByte: () => Promise.reject(failed) }),
      failed,
    )
    await assert.rejects(
      send({ scope: { kind: 'proxy', id: 'recorded' }, beforeFirstByte: () => Promise.reject(failed) }),
      failed,
    )
    assert.equal(destination.requests.length, 1)
  })

  describe('addresses', () => {
    const never: Readonly<Record<string, { a?: string[]; aaaa?: string[]; cname?: string }>> = {
      'a private address': { a: ['10.0.0.1'] },
      'this machine': { a: ['127.0.0.2'] },
      'the metadata service of clouds': { a: ['169.254.169.254'] },
      'an allowed and a forbidden address': { a: ['127.0.0.1', '127.0.0.2'] },
      'a forbidden and an allowed address': { a: ['127.0.0.2', '127.0.0.1'] },
      'a public address, and this machine by IPv6': { a: ['93.184.215.14'], aaaa: ['::1'] },
      'an allowed address, and this machine by IPv6': { a: ['127.0.0.1'], aaaa: ['::1'] },
      'IPv4 in IPv6': { aaaa: ['::ffff:127.0.0.2'] },
      'a translated address': { aaaa: ['64:ff9b::7f00:1'] },
      'a 6to4 address': { aaaa: ['2002:7f00:1::'] },
      'a Teredo address': { aaaa: ['2001:0:7f00:1::1'] },
      'a link-local address': { aaaa: ['fe80::1'] },
      'a unique local address': { aaaa: ['fd00::1'] },
      'the unspecified address': { a: ['0.0.0.0'], aaaa: ['::'] },
      'an alias of a private name': { cname: 'intern.example', a: ['192.168.1.1'] },
    }
    for (const [what, answer] of Object.entries(never))
      test(`a name that resolves to ${what} is not called (U17.2)`, async () => {
        const host = 'hostile.example'
        const { bytes } = destination
        dns.set(host, answer)
        for (const kind of ['proxy', 'webhook'] as const)
          await failing('address', send({ host, scope: { kind, id: 'one' } }))
        assert.deepEqual([forbiddenSeen, destination.bytes], [0, bytes])
      })

    test('a name that changes its address between calls is judged each time that something connects (U17.2)', async () => {
      const host = name
      dns.set(host, { a: ['127.0.0.1'] }, { a: ['127.0.0.2'] })
      dns.asked.delete(host)
      destination.reply = answerBytes('bye', { headers: ['Connection: close'] })
      const scope = { kind: 'proxy', id: 'rebinding' } as const
      assert.equal((await send({ scope })).status, 200)
      await failing('address', send({ scope }))
      await failing('address', send({ scope }))
      assert.equal(forbiddenSeen, 0)
    })

    test('whom it reached is looked at once more before anything is said (U17.2)', async () => {
      let asked = 0
      const { bytes } = destination
      const connecting = {
        resolve: async () => [{ address: '127.0.0.1', family: 4 as const }],
        judge: () => (++asked === 1 ? ('public' as const) : undefined),
        trusted: trusting(ca.cert),
      }
      const { signal } = new AbortController()
      await failing(
        'address',
        connect(
          connecting,
          { host: name, port: destination.port },
          { notHost: undefined, limits: quick, signal },
        ),
      )
      assert.deepEqual([asked, destination.bytes], [2, bytes])
    })

    test('outboundDeny is stronger than outboundAllow, and outboundAllow opens no port (U17.7)', async () => {
      const allow = [{ network: '127.0.0.0/8', port: undefined }]
      const denying = open({ allow, deny: ['127.0.0.1/32'] })
      await failing('address', denying.send(sending()))
      const noPort = open({ allow, ports: [] })
      await failing('address', noPort.send(sending()))
      const otherPort = open({ allow: [{ network: '127.0.0.1', port: 443 }] })
      await failing('address', otherPort.send(sending()))
      const all = open({ allow, ownHost: name })
      assert.equal((await all.send(sending())).status, 200)
      for (const each of [denying, noPort, otherPort, all]) each.close()
    })

    test("the vault's own name is called only where the operator allows its address (U17.5)", async () => {
      let judged: 'public' | 'allowed' = 'public'
      const connecting = {
        resolve: async () => [{ address: '127.0.0.1', family: 4 as const }],
        judge: () => judged,
        trusted: trusting(ca.cert),
      }
      const { signal } = new AbortController()
      const reach = () =>
        connect(connecting, { host: name, port: destination.port }, { notHost: name, limits: quick, signal })
      await failing('address', reach())
      judged = 'allowed'
      const socket = await reach()
      socket.destroy()
    })

    const publicOnes = ['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0']
    const morePublic = ['192.0.1.0', '198.17.255.255', '198.20.0.0', '223.255.255.255', '168.63.129.15']
    const publicIpv6 = ['2600::1', '2a00:1450::1', '2001:200::', '2001:4860:4860::8888', '3ffe::1']
    for (const address of [...publicOnes, ...morePublic, ...publicIpv6])
      test(`${address} is public (U17.3, U17.4)`, () => assert.ok(isPublic(address)))
    const privateOnes = [
      '0.0.0.0',
      '0.255.255.255',
      '10.255.255.255',
      '100.64.0.0',
      '100.127.255.255',
      '127.255.255.255',
      '168.63.129.16',
      '169.254.0.0',
      '172.16.0.0',
      '172.31.255.255',
      '192.0.0.255',
      '192.0.2.1',
      '192.31.196.1',
      '192.52.193.1',
      '192.88.99.1',
      '192.168.255.255',
      '192.175.48.1',
      '198.18.0.0',
      '198.19.255.255',
      '198.51.100.1',
      '203.0.113.1',
      '224.0.0.1',
      '240.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:8.8.8.8',
      '::8.8.8.8',
      '64:ff9b::8.8.8.8',
      '100::1',
      'fc00::1',
      'fe80::1',
      'fe80::1%eth0',
      '2600::1%eth0',
      'ff02::1',
      '2001::1',
      '2001:1ff:ffff::',
      '2001:db8::1',
      '2002::1',
      '2620:4f:8000::1',
      '3fff::1',
      '3fff:fff::1',
      '4000::1',
      'example.com',
      '127.1',
      '2130706433',
      '',
    ]
    for (const address of privateOnes)
      test(`${address || 'an empty text'} is not public (U17.3, U17.4)`, () => assert.ok(!isPublic(address)))
  })

  describe('names', () => {
    for (const answer of ['silent', 'nxdomain', 'servfail', {}] as const)
      test(`a name that answers ${JSON.stringify(answer)} fails in time (U16.1)`, async () => {
        dns.set('nobody.example', answer)
        const begun = performance.now()
        await failing('dns', send({ host: 'nobody.example' }))
        assert.ok(performance.now() - begun < 2_000)
      })

    test('an alias is followed to the addresses that came with it (U17.2)', async () => {
      dns.set(name, { cname: 'edge.partner.example', a: ['127.0.0.1'] })
      assert.equal((await send({ scope: { kind: 'proxy', id: 'alias' } })).status, 200)
    })
  })

  describe('certificates', () => {
    const past = { from: new Date('2020-01-01'), until: new Date('2021-01-01') }
    const bad: Readonly<Record<string, { of: Certificate; tls?: object }>> = {
      'another name': { of: issued('other.example') },
      'expired certificate': { of: certificate(name, ca, past) },
      'self-signed certificate': { of: certificate(name) },
      'certificate of an unknown authority': { of: issued(name, certificate('Other CA')) },
      'TLS 1.1': {
        of: issued(name),
        tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' },
      },
    }
    for (const [what, { of, tls }] of Object.entries(bad))
      test(`a destination with ${what} is told nothing (U15.2)`, async () => {
        const other = await Destination.start(of, { ...(tls && { tls }) })
        const careful = open({ allow: [{ network: '127.0.0.1', port: undefined }], ports: [other.port] })
        const variable = process.env.NODE_TLS_REJECT_UNAUTHORIZED
        process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
        try {
          await failing('tls', careful.send({ ...sending(), url: { ...sending().url, port: other.port } }))
          assert.deepEqual([other.bytes, other.connections], [0, 1])
        } finally {
          if (variable === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
          careful.close()
          other.stop()
        }
      })

    test('a destination that speaks no TLS, or is silent, or refuses, fails in time (U16.1)', async () => {
      const cases: [OutboundFailure, (socket: Socket) => void][] = [
        ['tls', socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
        ['tls', socket => socket.destroy()],
        ['timeout', () => {}],
      ]
      for (const [failure, answer] of cases) {
        const server = createServer(answer).listen(0, '127.0.0.1')
        await once(server, 'listening')
        const address = server.address()
        assert.ok(typeof address === 'object' && address !== null)
        const { port } = address
        const plain = open({ allow: [{ network: '127.0.0.1', port: undefined }], ports: [port] })
        await failing(failure, plain.send({ ...sending(), url: { ...sending().url, port } }))
        plain.close()
        server.close()
      }
      const nobody = open({ allow: [{ network: '127.0.0.1', port: undefined }], ports: [1] })
      await failing('connect', nobody.send({ ...sending(), url: { ...sending().url, port: 1 } }))
      nobody.close()
    })
  })

  describe('answers', () => {
    const head = 'HTTP/1.1 200 OK\r\n'
    const zeros = Buffer.alloc(64 << 20)
    const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } }
    const encoded = (body: Buffer, encoding: string): Buffer =>
      answerBytes(body, { headers: [`Content-Encoding: ${encoding}`] })
    const chunked = (size: number): string => `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`
    const drip =
      (text: string): Reply =>
      socket => {
        const timer = setInterval(() => socket.write(text), 50)
        socket.on('close', () => clearInterval(timer))
      }
    const flood =
      (start: string, text: string): Reply =>
      socket => {
        socket.write(start)
        const more = (): void => {
          while (!socket.destroyed && socket.write(text));
          if (!socket.destroyed) socket.once('drain', more)
        }
        more()
      }
    const hostile: Readonly<
      Record<string, { reply: Reply; fails: OutboundFailure; status?: number; method?: string }>
    > = {
      'nothing at all': { reply: () => {}, fails: 'timeout' },
      'a head that never ends': { reply: drip('HTTP/1.1'), fails: 'answer' },
      'headers, one by one': { reply: drip('X: 1\r\n'), fails: 'answer' },
      'a good head, header by header': {
        reply: socket => {
          socket.write(head)
          drip('X: 1\r\n')
        },
        fails: 'timeout',
      },
      'a body that stops': { reply: `${head}Content-Length: 9\r\n\r\nx`, fails: 'timeout', status: 200 },
      'a body, byte by byte': {
        reply: (socket, request) => {
          socket.write(`${head}Content-Length: 99\r\n\r\n`)
          const dripping = drip('x')
          if (typeof dripping === 'function') dripping(socket, request)
        },
        fails: 'timeout',
        status: 200,
      },
      'an endless body': { reply: flood(`${head}\r\n`, 'x'.repeat(65_536)), fails: 'answer', status: 200 },
      'an endless body of chunks': {
        reply: flood(`${head}Transfer-Encoding: chunked\r\n\r\n`, chunked(8_192)),
        fails: 'answer',
        status: 200,
      },
      'an endless body of chunks of one byte': {
        reply: flood(`${head}Transfer-Encoding: chunked\r\n\r\n`, chunked(1).repeat(1_000)),
        fails: 'answer',
        status: 200,
      },
      'more on the wire than in the body': {
        reply: flood(
          `${head}Transfer-Encoding: chunked\r\n\r\n`,
          `400;${'x'.repeat(8_192)}\r\n${'x'.repeat(1_024)}\r\n`,
        ),
        fails: 'answer',
        status: 200,
      },
      'an endless head': { reply: flood(head, `X: ${'x'.repeat(999)}\r\n`), fails: 'answer' },
      'endless informational answers': {
        reply: flood('', 'HTTP/1.1 103 Early Hints\r\nX: 1\r\n\r\n'),
        fails: 'answer',
      },
      'nine informational answers': {
        reply: `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(9)}${ok('late')}`,
        fails: 'answer',
      },
      'another protocol': {
        reply: 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
        fails: 'answer',
      },
      'no HTTP': { reply: 'SSH-2.0-OpenSSH_9.0\r\n', fails: 'answer' },
      'a status beyond all': { reply: 'HTTP/1.1 999 ?\r\nContent-Length: 0\r\n\r\n', fails: 'answer' },
      'two lengths': { reply: `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, fails: 'answer' },
      'a length and chunks': {
        reply: `${head}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
        fails: 'answer',
      },
      'an end in the middle': {
        reply: socket => socket.end(`${head}Content-Length: 9\r\n\r\nx`),
        fails: 'answer',
        status: 200,
      },
      'an end before the head': { reply: socket => socket.end('HTTP/1.1 200'), fails: 'connect' },
      'a reset': { reply: socket => socket.destroy(), fails: 'connect' },
      'a gzip bomb': { reply: encoded(gzipSync(zeros), 'gzip'), fails: 'answer', status: 200 },
      'a brotli bomb': {
        reply: encoded(brotliCompressSync(zeros, quickly), 'br'),
        fails: 'answer',
        status: 200,
      },
      'two layers': { reply: encoded(gzipSync(gzipSync('x')), 'gzip, gzip'), fails: 'answer', status: 200 },
      'two layers in two headers': {
        reply: answerBytes('x', { headers: ['Content-Encoding: gzip', 'Content-Encoding: br'] }),
        fails: 'answer',
        status: 200,
      },
      'another encoding': { reply: encoded(Buffer.from('x'), 'zstd'), fails: 'answer', status: 200 },
      'what is not gzip': { reply: encoded(Buffer.from('hello'), 'gzip'), fails: 'answer', status: 200 },
      'half of a gzip': {
        reply: encoded(gzipSync('hello hello').subarray(0, 15), 'gzip'),
        fails: 'answer',
        status: 200,
      },
      'more than fits': { reply: ok('x'.repeat((1 << 20) + 1)), fails: 'answer', status: 200 },
    }
    for (const [what, { reply, fails, status }] of Object.entries(hostile))
      test(`a destination that answers ${what} ends in time and memory (U14.3, U16.1)`, async () => {
        destination.reply = reply
        const begun = performance.now()
        const { rss } = process.memoryUsage()
        await failing(fails, send({ scope: { kind: 'proxy', id: what } }), {
          sent: true,
          ...(status !== undefined && { status }),
        })
        assert.ok(performance.now() - begun < 5_000)
        assert.ok(process.memoryUsage().rss - rss < 64 << 20)
        assert.equal(outbound.inFlight, 0)
        assert.equal(destination.requests.length, 1)
      })

    test('one layer of gzip or brotli comes back decoded, eight informational answers are passed over (U14.3)', async () => {
      destination.reply = Buffer.concat([
        Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'.repeat(8)),
        encoded(gzipSync('unpacked'), 'gzip'),
      ])
      const plain = await send()
      assert.equal(plain.body.toString(), 'unpacked')
      assert.ok(!plain.headers.some(([header]) => /encoding/i.test(header)))
      destination.reply = encoded(brotliCompressSync('unpacked'), 'BR')
      assert.equal((await send()).body.toString(), 'unpacked')
      destination.reply = ok('x'.repeat(1 << 20))
      assert.equal((await send()).body.length, 1 << 20)
      // In pieces, of which the first is the longest.
      const pieces = ['x'.repeat(5_000), ...Array.from({ length: 8_000 }, (_, at) => `${at},`)]
      const framed = pieces.map(piece => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')
      destination.reply = `${head}Transfer-Encoding: chunked\r\n\r\n${framed}0\r\n\r\n`
      assert.equal((await send()).body.toString(), pieces.join(''))
    })

    test('proxies that the environment names see nothing (U17.6)', async () => {
      let seen = 0
      const proxy = createServer(socket => {
        seen++
        socket.destroy()
      }).listen(0, '127.0.0.1')
      await once(proxy, 'listening')
      const address = proxy.address()
      assert.ok(typeof address === 'object' && address !== null)
      const proxyUrl = `http://127.0.0.1:${address.port}`
      destination.reply = ok('fine')
      const script = `
        const { openOutbound } = await import(${JSON.stringify(import.meta.resolve('../../src/outbound/outbound.ts'))})
        const outbound = openOutbound(${JSON.stringify(settings())})
        const { status } = await outbound.send(${JSON.stringify({ ...sending(), limits: { ...quick, ...inAnotherProcess } })})
        outbound.close()
        process.stdout.write(String(status))`
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
        env: { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxyUrl, https_proxy: proxyUrl, ALL_PROXY: proxyUrl },
      })
      assert.deepEqual([stdout, seen], ['200', 0])
      proxy.close()
    })

    for (const status of [301, 302, 303, 307, 308])
      test(`${status} to the metadata service is passed back, and nothing follows it (U13.4)`, async () => {
        const location = 'http://169.254.169.254/latest/meta-data/'
        destination.reply = answerBytes('', { status: `${status} Moved`, headers: [`Location: ${location}`] })
        const answer = await send()
        assert.equal(answer.status, status)
        assert.deepEqual(answer.headers[0], ['Location', location])
      })

    test('trailers are left behind (U13.3)', async () => {
      destination.reply = `${head}Transfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n1\r\nx\r\n0\r\nX-Late: 1\r\n\r\n`
      const answer = await send()
      assert.equal(answer.body.toString(), 'x')
      assert.ok(!answer.headers.some(([header]) => header === 'X-Late'))
    })

    test('who has left ends the call (U16.1)', async () => {
      destination.reply = () => {}
      const gone = new AbortController()
      const asked = send({ signal: gone.signal })
      while (destination.requests.length === 0) await new Promise(resolve => setImmediate(resolve))
      gone.abort(new Error('gone'))
      await assert.rejects(asked, /gone/)
      assert.equal(outbound.inFlight, 0)
    })
  })

  test('who leaves takes the connection along that was being made, so there are never more of these than calls (U16.2)', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = silent.address()
    assert.ok(typeof address === 'object' && address !== null)
    const { port } = address
    const patient = open({ allow: [{ network: '127.0.0.1', port }], ports: [port] })
    const gone = new AbortController()
    const reached = once(silent, 'connection')
    const { url } = sending()
    const asked = patient.send({
      ...sending({ signal: gone.signal, limits: { ...quick, connectMs: 3_000 } }),
      url: { ...url, port, origin: `https://${name}:${port}` },
    })
    const [socket] = await reached
    socket.on('error', () => {}).resume()
    gone.abort(new Error('gone'))
    const left = performance.now()
    await assert.rejects(asked, /gone/)
    await once(socket, 'close')
    assert.ok(performance.now() - left < 2_000, 'it was still being made')
    patient.close()
    silent.close()
  })

  test('a tenant has 64 calls under way, all have 256, and each kind counts for itself (U16.2)', async () => {
    destination.reply = () => {}
    const gone = new AbortController()
    const asked: Promise<unknown>[] = []
    const patient = { ...quick, firstByteMs: 60_000, totalMs: 60_000, connectMs: 60_000, dnsMs: 60_000 }
    const hang = (tenant: number): void => {
      asked.push(send({ tenant, signal: gone.signal, limits: patient }).catch(() => {}))
    }
    for (let call = 0; call < limits.callsPerTenant; call++) hang(1)
    await failing('busy', send())
    for (const tenant of [2, 3, 4]) for (let call = 0; call < limits.callsPerTenant; call++) hang(tenant)
    assert.equal(outbound.inFlight, limits.callsPerProcess)
    await failing('busy', send({ tenant: 5 }))
    const webhook = send({ tenant: 1, scope: { kind: 'webhook', id: 'x' }, signal: gone.signal })
    webhook.catch(() => {})
    assert.equal(outbound.inFlight, limits.callsPerProcess + 1)
    gone.abort(new Error('over'))
    await Promise.all([...asked, webhook.catch(() => {})])
    assert.equal(outbound.inFlight, 0)
    destination.reply = ok('fine')
    const scope = { kind: 'proxy', id: 'afterwards' } as const
    assert.equal((await send({ scope, limits: patient })).status, 200)
  })
})
