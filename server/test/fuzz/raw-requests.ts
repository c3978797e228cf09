import { fc } from '../rig/properties.ts'

/** Parts of bytes that look like HTTP. `{key}` stands for a key that may do everything. */
const lines = [
  'GET /tokens HTTP/1.1',
  'GET /health HTTP/1.1',
  'POST /tokens HTTP/1.1',
  'PATCH /tokens/fuzz-1 HTTP/1.1',
  'DELETE /tokens/x HTTP/1.0',
  'BREW /tokens HTTP/1.1',
  'GET  /tokens HTTP/1.1',
  'GET /tokens/%00 HTTP/1.1',
  'GET //tokens HTTP/1.1',
  'GET http://elsewhere/tokens HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'CONNECT a:1 HTTP/1.1',
  'HEAD /tokens HTTP/1.1',
  'GET /tokens HTTP/2.0',
  'get /tokens http/1.1',
  '',
  '\0',
]
const headers = [
  'Host: x',
  'Host: y',
  'SVC-API-KEY: {key}',
  'svc-api-key: other',
  'SVC-API-KEY : {key}',
  'Content-Type: application/json',
  'Content-Type: application/merge-patch+json',
  'Content-Length: 30',
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Content-Length: 0x10',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding:\tchunked',
  'Expect: 100-continue',
  'Expect: tea',
  'Connection: close',
  'Connection: upgrade',
  'Upgrade: h2c',
  'Cookie: a=b',
  ' folded: line',
  'no colon',
  ': empty',
  'X: \u00ff',
  `X-Long: ${'y'.repeat(9_000)}`,
  `X-Longer: ${'y'.repeat(20_000)}`,
]
const bodies = [
  '',
  '{"type":"token","data":"short"}',
  '1f\r\n{"type":"token","data":"short"}\r\n0\r\n\r\n',
  'ffffffffffffffff\r\nx',
  '-1\r\n\r\n',
  '5;ext=1\r\n12345\r\n0\r\ntrailer: x\r\n\r\n',
  'GET /health HTTP/1.1\r\nHost: x\r\n\r\n',
  '\r\n\r\n\r\n',
]

/** The bytes of one connection: requests one after another, whole, broken or left open. */
export const rawConnections = (): fc.Arbitrary<string> => {
  const one = fc
    .record({
      line: fc.constantFrom(...lines),
      headers: fc.array(fc.constantFrom(...headers), { maxLength: 7 }),
      end: fc.constantFrom('\r\n\r\n', '\r\n\r\n', '\r\n\r\n', '\n\n', '\r\n', ''),
      body: fc.constantFrom(...bodies),
    })
    .map(parts => [parts.line, ...parts.headers].join('\r\n') + parts.end + parts.body)
  return fc.array(one, { minLength: 1, maxLength: 4 }).map(all => all.join(''))
}
