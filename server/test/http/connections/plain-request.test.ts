import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { duplexPair } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { PlainRequestReader } from '../../../src/http/connections/plain-request.ts'
import { fc } from '../../rig/properties.ts'

type Seen = {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: Record<string, unknown>
  readonly body: string
}

const broken = 'broken'

/** The requests that Node's own server finds in the bytes. */
const asNode = async (bytes: Buffer): Promise<(Seen | typeof broken)[]> => {
  const seen: (Seen | typeof broken)[] = []
  const server = createServer({ requireHostHeader: false }, async (request, response) => {
    const { method, url, headers } = request
    seen.push({ method, url, headers: { ...headers }, body: (await buffer(request)).toString('latin1') })
    response.end()
  })
  server.on('clientError', (_error, socket) => {
    seen.push(broken)
    socket.destroy()
  })
  const [client, connection] = duplexPair()
  server.emit('connection', connection)
  client.end(bytes)
  await buffer(client).catch(() => {})
  server.close()
  return seen
}

const asPlain = (bytes: Buffer, reader = new PlainRequestReader()): Seen | 'head' | undefined => {
  const request = reader.read(bytes)
  if (typeof request !== 'object') return request
  const { method, url, headers, bodyStart } = request
  assert.ok(Object.isFrozen(headers), 'later requests of the connection may share them')
  return { method, url, headers: { ...headers }, body: bytes.toString('latin1', bodyStart) }
}

const mostly = <T>(usual: T, ...unusual: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 30, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...unusual) },
  )

const lineEnd = mostly('\r\n', '\n', '\r', '\r\n ', '\r\n\t', ' \r\n', '\0\r\n')
const name = fc.constantFrom(
  ...['Accept', 'accept', 'SVC-API-KEY', 'X-Y', 'Content-Type', 'Connection', 'Expect', 'Upgrade', 'TE'],
  ...[
    'Transfer-Encoding',
    'Trailer',
    'Keep-Alive',
    'Content-Length',
    'Host',
    'Cookie',
    'Set-Cookie',
    'x_y',
    'constructor',
    '',
    'a b',
    'é',
  ],
)
const value = fc.oneof(
  fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map(code => String.fromCharCode(code)),
    maxLength: 8,
  }),
  fc.constantFrom(
    'keep-alive',
    'close',
    'chunked',
    '100-continue',
    'trailers',
    '0',
    '3',
    '+3',
    '03',
    '3, 3',
    'a\tb',
    'a\0b',
    'a\x7fb',
    'aéb',
  ),
)
const field = fc
  .tuple(name, mostly(': ', ':', ' : ', ':  ', ':\t', ''), value, lineEnd)
  .map(parts => parts.join(''))
const target = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."/abz09-._~%?&=+:,;@!$*()'"), maxLength: 8 }).map(rest => `/${rest}`),
  fc.constantFrom('*', '', 'http://host/tokens', '/a b', '/#x', '/é', '/\x7f', '//', '/\\', '/[x]', '/"'),
)
/** Requests as clients send them, with an occasional part that no client sends. */
const wire = fc
  .record({
    method: mostly(
      'POST',
      'GET',
      'PATCH',
      'PUT',
      'DELETE',
      'HEAD',
      'OPTIONS',
      'CONNECT',
      'post',
      'PURGE',
      '',
    ),
    target,
    version: mostly('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'http/1.1', 'HTTP/1.1 '),
    firstEnd: lineEnd,
    host: mostly('Host: vault\r\n', '', 'Host: one\r\nHost: two\r\n', 'host:vault\r\n'),
    fields: fc.array(field, { maxLength: 3 }),
    body: fc.constantFrom('', '{}', 'abc', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    /** How far the stated length exceeds the actual one. */
    excess: mostly(0, 1, -1),
    saysLength: mostly(true, false),
    blank: mostly('\r\n', '\n', '', '\r\n\r\n'),
    before: mostly('', '\r\n', ' '),
  })
  .map(({ method, target, version, firstEnd, host, fields, body, excess, saysLength, blank, before }) =>
    Buffer.from(
      `${before}${method} ${target} ${version}${firstEnd}${host}${fields.join('')}${
        saysLength ? `Content-Length: ${body.length + excess}\r\n` : ''
      }${blank}${body}`,
      'latin1',
    ),
  )

/** Requests that differ in a few details, if at all; sometimes two, one after the other. */
const similar = fc
  .array(
    fc
      .record({
        line: mostly(
          'POST /tokens HTTP/1.1\r\n',
          'GET /tokens HTTP/1.1\r\n',
          `GET /${'a'.repeat(8_200)} HTTP/1.1\r\n`,
          'POST /a b HTTP/1.1\r\n',
          '\r\n',
          '',
        ),
        fields: mostly('Host: vault\r\n', 'Host: other\r\n', 'Host: vault\r\nTE: trailers\r\n', ''),
        rest: fc.oneof(
          fc.constantFrom('\r\n', 'Content-Length: 4\r\n\r\nabcd', 'Content-Length: 4\r\n\r\n\r\n\r\n'),
          fc.constantFrom('Content-Length: 4\r\n\r\n', 'Content-Length: 8193\r\n\r\n'),
          fc.constantFrom('Content-Length: 04\r\n\r\nabcd', 'Content-Length: 4\r\n\r\nabc', '\r\nabcd'),
          // A body that ends like the head of another request.
          fc.constantFrom(
            'Content-Length: 16\r\n\r\nHost: vault\r\n\r\n..',
            'Content-Length: 15\r\n\r\nHost: vault\r\n\r\n',
          ),
        ),
      })
      .map(({ line, fields, rest }) => `${line}${fields}${rest}`),
    { minLength: 1, maxLength: 2 },
  )
  .map(texts => Buffer.from(texts.join('')))

describe('a plain request', () => {
  test('is read as Node reads it; what Node refuses or reads as two requests is never plain (C2.10)', async () => {
    let plain = 0
    await fc.assert(
      fc.asyncProperty(wire, async bytes => {
        const seen = asPlain(bytes)
        if (typeof seen !== 'object') return
        plain++
        assert.deepEqual(await asNode(bytes), [seen])
      }),
      { numRuns: 4_000 },
    )
    assert.ok(plain > 300, `only ${plain} were plain`)
  })

  test('is known by its head alone only if Node reads the head and its body as one request (C2.10)', async () => {
    let heads = 0
    await fc.assert(
      fc.asyncProperty(wire, async bytes => {
        const head = bytes.subarray(0, bytes.indexOf('\r\n\r\n') + 4)
        const reader = new PlainRequestReader()
        if (reader.read(head) !== 'head') return
        heads++
        const [, length] = /\r\ncontent-length: *(\d+)\r\n/i.exec(head.toString('latin1')) ?? []
        const whole = Buffer.concat([head, Buffer.alloc(Number(length), '.')])
        assert.deepEqual(await asNode(whole), [asPlain(whole, reader)])
      }),
      { numRuns: 4_000 },
    )
    assert.ok(heads > 300, `only ${heads} were heads`)
  })

  test('is read as if it were the first of its connection, whatever came before it (C2.10)', () => {
    let again = 0
    fc.assert(
      fc.property(fc.array(similar, { minLength: 2, maxLength: 12 }), requests => {
        const reader = new PlainRequestReader()
        const seen = requests.map(bytes => asPlain(bytes, reader))
        assert.deepEqual(
          seen,
          requests.map(bytes => asPlain(bytes)),
        )
        again += Math.max(0, seen.filter(request => typeof request === 'object').length - 1)
      }),
      { numRuns: 4_000 },
    )
    assert.ok(again > 300, `only ${again} followed another one`)
  })

  test('nothing grows: a connection remembers a few short variants of its fields (docs/testing.md)', () => {
    const reader = new PlainRequestReader()
    const read = (...fields: readonly string[]): unknown => {
      const request = reader.read(Buffer.from(head(...fields)))
      return typeof request === 'object' ? request.headers : undefined
    }
    const [first, again] = [read('X: 0'), read('X: 0')]
    assert.ok(first !== undefined && again === first)
    for (let variant = 1; variant < 8; variant++) read(`X: ${variant}`)
    assert.equal(read('X: 0'), first)
    read('X: 8')
    assert.notEqual(read('X: 0'), first)
    const long = `X: ${'y'.repeat(1_024)}`
    assert.notEqual(read(long), read(long))
  })

  const head = (...fields: readonly string[]): string =>
    ['POST /tokens HTTP/1.1', 'Host: vault', ...fields, '', ''].join('\r\n')
  const cases: readonly { name: string; text: string; isPlain: boolean | 'head' }[] = [
    { name: 'with a body of the stated length', text: `${head('Content-Length: 2')}{}`, isPlain: true },
    { name: 'without a body', text: head(), isPlain: true },
    { name: 'that keeps its connection', text: head('Connection: Keep-Alive'), isPlain: true },
    { name: 'that closes its connection', text: head('Connection: close'), isPlain: false },
    { name: 'whose short body is to come', text: head('Content-Length: 8192'), isPlain: 'head' },
    { name: 'whose long body is to come', text: head('Content-Length: 8193'), isPlain: false },
    {
      name: 'whose body is to be asked for',
      text: head('Expect: 100-continue', 'Content-Length: 2'),
      isPlain: false,
    },
    { name: 'with half a head', text: 'POST /tokens HTTP/1.1\r\nHost: vault\r\n', isPlain: false },
    { name: 'with half a body', text: `${head('Content-Length: 2')}{`, isPlain: false },
    { name: 'followed by more bytes', text: `${head('Content-Length: 2')}{}G`, isPlain: false },
    { name: 'with a chunked body', text: `${head('Transfer-Encoding: chunked')}0\r\n\r\n`, isPlain: false },
    { name: 'with the same header twice', text: head('Accept: a', 'Accept: b'), isPlain: false },
    { name: 'with two lengths', text: head('Content-Length: 0', 'Content-Length: 0'), isPlain: false },
    { name: 'with a sign in its length', text: `${head('Content-Length: +2')}{}`, isPlain: false },
    { name: 'with an Expect header', text: head('Expect: 100-continue'), isPlain: false },
    { name: 'with a long head', text: head(`X: ${'y'.repeat(9_000)}`), isPlain: false },
    { name: 'without a host', text: 'GET / HTTP/1.1\r\nAccept: a\r\n\r\n', isPlain: false },
    { name: 'with a header named constructor', text: head('constructor: x'), isPlain: false },
  ]
  for (const { name, text, isPlain } of cases)
    test(`a request ${name} is ${isPlain ? 'plain' : 'not plain'} (C2.10)`, () => {
      const seen = asPlain(Buffer.from(text))
      assert.equal(typeof seen === 'object' || (seen ?? false), isPlain)
    })
})
