import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isUnder, readDestinationPattern } from '../../../src/domain/outbound/destination-pattern.ts'
import {
  joinDestination,
  readDestinationUrl,
  targetOf,
} from '../../../src/domain/outbound/destination-url.ts'

const ports = new Set([8_443])
const read = (text: string) => {
  const { url, fault } = readDestinationUrl(text, ports)
  assert.ok(url !== undefined, `${text}: ${fault}`)
  return url
}

describe('URLs of destinations', () => {
  const good: Readonly<Record<string, { origin: string; target: string }>> = {
    'https://api.example.com': { origin: 'https://api.example.com', target: '/' },
    'https://API.Example.com:443/V1': { origin: 'https://api.example.com', target: '/V1' },
    'https://api.example.com:8443/v1/?a=1&b[]=x|y&u=https://x.example/%2F..': {
      origin: 'https://api.example.com:8443',
      target: '/v1/?a=1&b[]=x|y&u=https://x.example/%2F..',
    },
    'HTTPS://xn--bcher-kva.example/%41?': { origin: 'https://xn--bcher-kva.example', target: '/%41?' },
    'https://a_b.1.co/x..y/.../.well-known/a;b=c': {
      origin: 'https://a_b.1.co',
      target: '/x..y/.../.well-known/a;b=c',
    },
    [`https://a.example/${'x'.repeat(2_030)}`]: {
      origin: 'https://a.example',
      target: `/${'x'.repeat(2_030)}`,
    },
  }
  for (const [text, { origin, target }] of Object.entries(good))
    test(`${text.slice(0, 60)} is taken as it is (U10)`, () => {
      const url = read(text)
      assert.equal(url.origin, origin)
      assert.equal(targetOf(url), target)
      assert.equal(new URL(text).hostname, url.host)
    })

  const hosts = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.0.0.1.',
    '127.0.0.0x1',
    '1.0x',
    '169.254.169.254',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[fe80::1%25eth0]',
    '::1',
    '①②⑦.0.0.1',
    '１２７.0.0.1',
    '127。0。0。1',
    '127%2e0.0.1',
    'localhost',
    'metadata',
    'api.example.com.',
    '.example.com',
    'api..example.com',
    '-a.example.com',
    'a-.example.com',
    'bücher.example',
    'api.example.com\t',
    'api.example.com%00.evil.example',
    '',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(125)}example`,
    'a.example:',
    'a.example:0',
    'a.example:80',
    'a.example:0443',
    'a.example:65979',
    'a.example:443:443',
    'a.example:+443',
    'user@a.example',
    'user:secret@a.example',
    'a.example@127.0.0.1',
    '*.example.com',
  ]
  const bad = [
    ...hosts.map(host => `https://${host}/x`),
    'http://a.example/',
    'ftp://a.example/',
    '//a.example/',
    'https:/a.example/',
    'https:a.example',
    'https:\\\\a.example\\',
    ' https://a.example/',
    'https://a.example/ ',
    'https://a.exam\nple/',
    'https://a.example/\r\nHost: b',
    'https://a.example/#part',
    'https://a.example/?a#part',
    'https://a.example/{{ id }}',
    'https://a.example/?id={{ id }}',
    'https://a.example/é',
    'https://a.example/../x',
    'https://a.example/x/..',
    'https://a.example/x/./y',
    'https://a.example/%2e%2E/x',
    'https://a.example/.%2e/x',
    'https://a.example/%252e%252e/x',
    'https://a.example/..;/x',
    'https://a.example/..%3bx/y',
    'https://a.example//x',
    'https://a.example/x//',
    'https://a.example/x%2fy',
    'https://a.example/x%252Fy',
    'https://a.example/x%5Cy',
    'https://a.example/x\\y',
    'https://a.example/?x\\y',
    'https://a.example/x%00',
    'https://a.example/x%0d%0ay',
    'https://a.example/%',
    'https://a.example/%2',
    `https://a.example/${'x'.repeat(2_031)}`,
    '',
  ]
  for (const text of bad)
    test(`${JSON.stringify(text.slice(0, 60))} is refused, and nothing of it repeated (U10)`, () => {
      const { fault = '' } = readDestinationUrl(text, ports)
      assert.match(fault, /^must /)
      for (const part of text.split(/[/:.]+/).filter(part => part.length > 6 && !/example|https/.test(part)))
        assert.ok(!fault.includes(part))
    })
})

describe('what an invocation adds', () => {
  const joined = (base: string, suffix: string, query?: string): string | undefined => {
    const url = joinDestination(read(base), suffix, query)
    return url && url.origin + targetOf(url)
  }
  const cases: readonly [
    base: string,
    suffix: string,
    query: string | undefined,
    joined: string | undefined,
  ][] = [
    ['https://a.example', '', undefined, 'https://a.example/'],
    ['https://a.example/v1/', '', '', 'https://a.example/v1/'],
    ['https://a.example/v1/', '/x', 'b=2', 'https://a.example/v1/x?b=2'],
    ['https://a.example/v1', '/', undefined, 'https://a.example/v1/'],
    ['https://a.example/v1?a=1', '/x%20y', 'b={{ id }}&a=2', 'https://a.example/v1/x%20y?a=1&b={{ id }}&a=2'],
    ['https://a.example/', '/{{ id }}', undefined, undefined],
    ['https://a.example/', '/{{id}}', undefined, 'https://a.example/{{id}}'],
    ...[
      '/..',
      '/../x',
      '/%2e%2e/x',
      '//x',
      '/x//y',
      '/%2f',
      '/%5c',
      '/\\x',
      '/%00',
      '/x\n',
      'x',
      '.evil.example',
    ].map((suffix): [string, string, undefined, undefined] => [
      'https://a.example/v1',
      suffix,
      undefined,
      undefined,
    ]),
  ]
  for (const [base, suffix, query, whole] of cases)
    test(`${base} and ${JSON.stringify(suffix)} and ${query} are ${whole} (U10)`, () => {
      assert.equal(joined(base, suffix, query), whole)
    })
})

describe('destinations of a rule', () => {
  const under = (pattern: string, url: string): boolean => {
    const { url: read1, fault } = readDestinationPattern(pattern, ports)
    assert.ok(read1 !== undefined, `${pattern}: ${fault}`)
    return isUnder(read1, read(url))
  }
  const v1 = 'https://api.example.com/v1/'
  const any = 'https://*.example.com/'
  const hits: readonly [pattern: string, url: string][] = [
    [v1, 'https://api.example.com/v1/'],
    [v1, 'https://api.example.com/v1/charges?x=1'],
    [v1, 'https://API.EXAMPLE.COM:443/v1/x'],
    ['https://api.example.com/', 'https://api.example.com'],
    ['https://api.example.com:8443/', 'https://api.example.com:8443/x'],
    [any, 'https://a.example.com/x'],
    [any, 'https://a.b.example.com'],
  ]
  for (const [pattern, url] of hits)
    test(`${url} is under ${pattern} (U10.6)`, () => {
      assert.ok(under(pattern, url))
    })
  const misses: readonly [pattern: string, url: string][] = [
    ...[
      'https://api.example.com/v1',
      'https://api.example.com/v1x/',
      'https://api.example.com/v1?/v1/',
      'https://api.example.com/V1/',
      'https://api.example.com/v2/v1/',
      'https://api.example.com/x?/v1/',
      'https://api.example.com/%761/',
      'https://api.example.com/v1;/x',
      'https://api.example.com/v1%20/x',
      'https://api.example.com:8443/v1/',
      'https://api.example.com.evil.example/v1/',
      'https://evil-api.example.com/v1/',
      'https://evilapi.example.com/v1/',
      'https://www.api.example.com/v1/',
      'https://example.com/v1/',
      'https://api.example.co/v1/',
      'https://api-example.com/v1/',
      'https://xn--api-example-com.com/v1/',
    ].map((url): [string, string] => [v1, url]),
    ...[
      'https://example.com/',
      'https://aexample.com/',
      'https://a.example.com:8443/',
      'https://example.com.evil.example/',
      'https://a.example.com.evil.example/',
      'https://a.example.org/',
    ].map((url): [string, string] => [any, url]),
    ['https://api.example.com:8443/', 'https://api.example.com/'],
  ]
  for (const [pattern, url] of misses)
    test(`${url} is not under ${pattern} (U10.6)`, () => {
      assert.ok(!under(pattern, url))
    })
  const neverRead = [
    'https://api.example.com/v1',
    'https://api.example.com',
    'https://api.example.com/?x/',
    'https://api.example.com/v1/../',
    'https://api.example.com/v1/%2e%2e/',
    'https://api.example.com//',
    'https://api.example.com/#/',
    'https://*/',
    'https://*.com/',
    'https://*.example.com',
    'https://*.example.com/v1/',
    'https://*.example.com:8443/',
    'https://**.example.com/',
    'https://a.*.example.com/',
    'https://*api.example.com/',
    'https://api.example.com/*/',
    'https://*.0.0.1/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://user@api.example.com/',
    'https://api.example.com:99/',
    'http://api.example.com/',
    '*',
  ]
  for (const text of neverRead)
    test(`${text} is no destination of a rule (U10.6)`, () => {
      assert.match(readDestinationPattern(text, ports).fault ?? '', /^must |^with /)
    })
})
