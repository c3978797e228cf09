import { fc } from '../rig/properties.ts'

/** What a client sends, and where it is cut into pieces. */
export type ByteStream = { readonly bytes: Buffer; readonly cuts: readonly number[] }

/** Nearly always the usual, so that whole requests are made, each with an oddity or two. */
const mostly = (usual: string, ...odd: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight: 24, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...odd) })

const method = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'CONNECT', 'TRACE', 'QUERY', 'post', 'BREW', 'G\0ET', ''),
  },
)

const target = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom('/tokens', '/tokens/x', '/a%2Fb?c=d', '/early', '/stream', '/', '/~a.b_c-d'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...[
        'http://vault/tokens',
        'HTTPS://vault',
        'ftp://vault/x',
        '*',
        '*x',
        'tokens',
        '',
        '//x',
        '/a b',
        '/a#b',
      ],
      ...[
        '/\x7f',
        '/\xe9',
        '/\xff\xfe',
        '/a\0b',
        '/"<>',
        '/[x]',
        '/\\',
        '/a\tb',
        '/%',
        '/%zz',
        '/{x}',
        '/`|^',
      ],
    ),
  },
)

const version = mostly(
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/0.9',
  'http/1.1',
  'HTTP/1.10',
  'HTTP/1.1 ',
  '',
)
const lineEnd = mostly('\r\n', '\n', '\r', '\r\r\n', '\r\n ', '\r\n\t', ' \r\n', '\t\r\n', '\0\r\n')

const field = (
  names: readonly string[],
  values: readonly string[],
  odd: readonly string[] = [],
): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...names),
      mostly(': ', ':', ' : ', ' :', ':  ', ':\t', '', ': \t', '\0: ', '\xe9: ', ':\r\n '),
      odd.length === 0
        ? fc.constantFrom(...values)
        : fc.oneof(fc.constantFrom(...values), fc.constantFrom(...odd)),
      lineEnd,
    )
    .map(parts => parts.join(''))

const lengths = field(
  ['Content-Length', 'content-length', 'CONTENT-LENGTH', 'Content-Length'],
  [
    '0',
    '3',
    '4',
    '5',
    '05',
    '+5',
    '-5',
    '0x5',
    '5 ',
    '5, 5',
    '5,6',
    '5;',
    '5 5',
    '',
    '9'.repeat(20),
    '1_0',
    '５',
  ],
)
const codings = field(
  ['Transfer-Encoding', 'transfer-encoding', 'Transfer-Encoding', 'Transfer_Encoding', 'TransferEncoding'],
  ['chunked', 'chunked', 'Chunked', 'identity', 'gzip, chunked', 'chunked, chunked', 'chunked,', ',chunked'],
  ['chunked, identity', 'xchunked', 'chunked;a=b', '"chunked"', 'gzip', '', '\x0bchunked', 'chunk ed'],
)
const ordinary = field(
  ['Accept', 'accept', 'SVC-API-KEY', 'X-Y', 'Content-Type', 'Cookie', 'User-Agent', 'Authorization', 'a'],
  ['x', 'a b', 'application/json', 'keep-alive', "!#$%&'*+-.^_`|~", 'x'.repeat(300)],
  ['', ' ', 'a\tb', 'a\0b', 'a\x7fb', 'a\xe9b', 'a\x01b', ' x ', 'a\rb'],
)
const connectionFields = field(
  [
    ...['Connection', 'connection', 'Keep-Alive', 'Proxy-Connection', 'Upgrade', 'Expect', 'TE', 'Trailer'],
    ...['Set-Cookie', 'HTTP2-Settings'],
  ],
  [
    'keep-alive',
    'Keep-Alive',
    'close',
    'Close',
    'upgrade',
    'keep-alive, close',
    'close, upgrade',
    'h2c',
    'websocket',
  ],
  ['100-continue', '100-Continue', 'tea', 'trailers', 'timeout=5', 'content-length', 'x, 100-continue'],
)
const strange = fc.constantFrom(
  ...[
    'no colon\r\n',
    ': no name\r\n',
    ' folded: line\r\n',
    'a b: c\r\n',
    'a\0b: c\r\n',
    '\xe9: c\r\n',
    'x_y: z\r\n',
  ],
  ...[
    'constructor: x\r\n',
    '__proto__: x\r\n',
    'toString: x\r\n',
    'hasOwnProperty: x\r\n',
    '\r: x\r\n',
    '(x): y\r\n',
  ],
  ...['Host: other\r\n', 'host:\r\n', 'Content-Length : 5\r\n', 'Transfer-Encoding : chunked\r\n'],
  ...['Content-Length:\r\n 5\r\n', 'Transfer-Encoding:\r\n\tchunked\r\n', 'X: y\rContent-Length: 5\r\n'],
  ...['X: y\nContent-Length: 5\r\n', 'X: y\n\r\nGET /hidden HTTP/1.1\r\n', 'X: y\r\n\rContent-Length: 5\r\n'],
)
/** As many or as long as a head may be, and more. */
const large = fc.constantFrom(
  `X-Long: ${'y'.repeat(7_900)}\r\n`,
  `X-Long: ${'y'.repeat(8_300)}\r\n`,
  `X-Longer: ${'y'.repeat(20_000)}\r\n`,
  Array.from({ length: 1_100 }, (_, number) => `h${number.toString(36)}:x\r\n`).join(''),
)
const host = mostly(
  'Host: vault\r\n',
  '',
  'Host: one\r\nHost: two\r\n',
  'host:vault\r\n',
  'Host:\r\n',
  'Host: a b\r\n',
)

const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n'
const chunks = fc.constantFrom(
  ...['0\r\n\r\n', '5\r\nhello\r\n0\r\n\r\n', '1\r\na\r\n2\r\nbc\r\n0\r\n\r\n', '05\r\nhello\r\n00\r\n\r\n'],
  ...['5;ext=1\r\nhello\r\n0\r\n\r\n', '5;ext="a;b\\""\r\nhello\r\n0;x\r\n\r\n', '5 \r\nhello\r\n0\r\n\r\n'],
  ...[
    '5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n',
    '0\r\nContent-Length: 5\r\nHost: y\r\n\r\n',
    'A\r\n0123456789\r\n0\r\n\r\n',
  ],
  ...[
    '5\nhello\n0\n\n',
    '5\r\nhello0\r\n\r\n',
    '5\r\nhel\r\n0\r\n\r\n',
    '0x5\r\nhello\r\n0\r\n\r\n',
    '+5\r\nhello\r\n0\r\n\r\n',
  ],
  ...[
    '-1\r\n\r\n',
    'ffffffffffffffff\r\nx',
    '5;\n\r\nhello\r\n0\r\n\r\n',
    '\r\nhello\r\n0\r\n\r\n',
    'g\r\n',
    '0\r\n',
    '5\r\nhello',
  ],
  ...[
    `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
    `5;${'x'.repeat(300)}\r\nhello\r\n0\r\n\r\n`,
  ],
)

/** A request as nearly every client sends it, from clients that repeat their fields, or with one thing about it that is odd. */
const plain = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'),
    target: mostly('/tokens', '/tokens/x', '/a%2Fb?c=d', '/early', '/stream', '/\xe9', '/a b'),
    fields: fc.oneof(
      {
        weight: 20,
        arbitrary: fc.constantFrom(
          'Host: vault\r\nSVC-API-KEY: x\r\n',
          'host:other\r\nAccept: a b\r\nConnection: Keep-Alive\r\n',
          'Host: vault\r\n',
        ),
      },
      { weight: 1, arbitrary: fc.constantFrom('', 'Host: one\r\nHost: two\r\n') },
    ),
    oddity: fc.oneof(
      { weight: 8, arbitrary: fc.constant('') },
      { weight: 5, arbitrary: ordinary },
      { weight: 1, arbitrary: lengths },
      { weight: 1, arbitrary: codings },
      { weight: 3, arbitrary: connectionFields },
      { weight: 1, arbitrary: strange },
      { weight: 1, arbitrary: large },
    ),
    isFirst: fc.boolean(),
    body: fc.constantFrom('', '', '{}', 'hello', 'x'.repeat(1_000), hidden, 'Host: vault\r\n\r\n'),
    excess: fc.oneof(
      { weight: 20, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.constantFrom(1, -1) },
    ),
    sign: mostly('', '+', '0', '0x', ' ', '-'),
  })
  .map(({ method, target, fields, oddity, isFirst, body, excess, sign }) => {
    const length = body === '' ? '' : `Content-Length: ${sign}${body.length + excess}\r\n`
    const all = isFirst ? `${oddity}${fields}${length}` : `${fields}${length}${oddity}`
    return `${method} ${target} HTTP/1.1\r\n${all}\r\n${body}`
  })

/** A request with anything that makes readers disagree. */
const odd = fc
  .record({
    before: mostly('', '\r\n', '\n', ' ', '\r\n\r\n', '\0'),
    line: fc.tuple(
      method,
      mostly(' ', '  ', '\t', ''),
      target,
      mostly(' ', '  ', '\t', ''),
      version,
      lineEnd,
    ),
    host,
    fields: fc.array(
      fc.oneof(
        { weight: 6, arbitrary: ordinary },
        { weight: 3, arbitrary: lengths },
        { weight: 3, arbitrary: codings },
        { weight: 2, arbitrary: connectionFields },
        { weight: 1, arbitrary: strange },
      ),
      { maxLength: 4 },
    ),
    more: fc.oneof({ weight: 30, arbitrary: fc.constant('') }, { weight: 1, arbitrary: large }),
    end: mostly('\r\n', '\n', '', '\r', '\r\n\r\n', ' \r\n'),
    body: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('', 'hello', 'abc', '{}', hidden) },
      { weight: 2, arbitrary: chunks },
    ),
  })
  .map(
    ({ before, line, host, fields, more, end, body }) =>
      `${before}${line.join('')}${host}${fields.join('')}${more}${end}${body}`,
  )

/** The bytes of one connection: one or several requests, whole, broken or left open; each by itself, all at once or in pieces. */
export const byteStreams = (): fc.Arbitrary<ByteStream> =>
  fc
    .record({
      requests: fc.array(fc.oneof({ weight: 1, arbitrary: odd }, { weight: 4, arbitrary: plain }), {
        minLength: 1,
        maxLength: 4,
      }),
      areApart: fc.oneof(
        { weight: 4, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) },
      ),
      cuts: fc.oneof(
        { weight: 2, arbitrary: fc.constant<number[]>([]) },
        { weight: 1, arbitrary: fc.array(fc.nat({ max: 600 }), { minLength: 1, maxLength: 3 }) },
      ),
    })
    .map(({ requests, areApart, cuts }) => {
      let end = 0
      const ends = requests.map(request => (end += request.length))
      return {
        bytes: Buffer.from(requests.join(''), 'latin1'),
        cuts: areApart ? [...cuts, ...ends] : cuts,
      }
    })
