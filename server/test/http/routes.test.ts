import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { VaultError } from '../../src/domain/errors.ts'
import { plainPath, RouteTable } from '../../src/http/routes.ts'

const routes = new RouteTable(
  [
    'GET /',
    'GET /tokens',
    'POST /tokens',
    'POST /tokens/search',
    'GET /tokens/:id',
    'PATCH /tokens/:id',
    'GET /applications/key',
    'DELETE /applications/:id',
    'GET /applications/:id/keys/:keyId',
    'GET /applications/own/keys/all',
  ].map(to => {
    const [method = '', path = ''] = to.split(' ')
    return { method, path, to }
  }),
)

type Found = { to: string; params: Record<string, string> } | { allowed: readonly string[] } | 'unreadable'

const find = (method: string, target: string): Found => {
  const found = routes.find(method, target)
  if ('to' in found) return { to: found.to, params: { ...found.params } }
  if ('allowed' in found) return { allowed: found.allowed }
  assert.ok(found.refusal instanceof VaultError)
  return 'unreadable'
}

const nothing: Found = { allowed: [] }
const to = (route: string, params: Record<string, string> = {}): Found => ({ to: route, params })
const token = (id: string): Found => to('GET /tokens/:id', { id })

const targets: readonly [rule: string, target: string, Found][] = [
  ['a name is a parameter (§4.4.1)', '/tokens/x', token('x')],
  ['the shortest path is a path (C36.1)', '/', to('GET /')],
  ['a slash at the end does not matter (C1.1)', '/tokens/', to('GET /tokens')],
  ['a slash at the end of a parameter does not matter (C1.1)', '/tokens/x/', token('x')],
  ['two slashes at the end do (C2.13)', '/tokens//', nothing],
  ['two slashes in the middle do (C2.13)', '/tokens//x', nothing],
  ['two slashes at the start do (C2.13)', '//tokens', nothing],
  ['a parameter is not empty (C2.13)', '/applications//keys/x', nothing],
  ['a name goes before a parameter (C29.1)', '/applications/key', to('GET /applications/key')],
  [
    'a name that leads nowhere further is a parameter after all (C29.1)',
    '/applications/own/keys/other',
    to('GET /applications/:id/keys/:keyId', { id: 'own', keyId: 'other' }),
  ],
  ['the longer name (C29.1)', '/applications/own/keys/all', to('GET /applications/own/keys/all')],
  ['an encoded slash is part of a parameter (C2.13)', '/tokens/a%2Fb', token('a/b')],
  ['an encoded slash does not separate (C2.13)', '/tokens%2Fx', nothing],
  ['an encoded slash at the end is no slash at the end (C2.13)', '/tokens/x%2F', token('x/')],
  ['letters may be encoded (§4.4.1)', '/%74okens/%C3%A9', token('é')],
  ['nothing is decoded twice (C2.13)', '/tokens/%2561', token('%61')],
  ['encoded dots are a parameter (C2.13)', '/tokens/%2e%2e', token('..')],
  ['dots lead nowhere else (C2.13)', '/x/../tokens', nothing],
  ['an encoded question mark is part of a parameter (C2.13)', '/tokens/a%3Fb', token('a?b')],
  ['a lone percent sign cannot be read (C2.10)', '/tokens/%', 'unreadable'],
  ['what is not hexadecimal cannot be read (C2.10)', '/tokens/%zz', 'unreadable'],
  ['what is not UTF-8 cannot be read (C2.10)', '/tokens/%ff', 'unreadable'],
  ['what leads nowhere and cannot be read is that (C2.10)', '/nowhere/%ff', 'unreadable'],
  ['a query is no part of the path (C24.1)', '/tokens/x?a=/b', token('x')],
  ['a query may follow a slash (C24.1)', '/tokens/?a=%', to('GET /tokens')],
  ['a fragment is no part of the path (C2.13)', '/tokens#/x', to('GET /tokens')],
  ['a target may name the host (C2.13)', 'http://vault:8080/tokens/x', token('x')],
  ['a target may name the host in any letters (C2.13)', 'HTTPS://vault/tokens/', to('GET /tokens')],
  ['a target may name the host alone (C2.13)', 'http://vault', to('GET /')],
  ['a target may name the host alone, with a query (C2.13)', 'http://vault?a=b', to('GET /')],
  ['another scheme leads nowhere (C2.13)', 'ftp://vault/tokens', nothing],
  ['the target of OPTIONS leads nowhere (C2.13)', '*', nothing],
  ['what is no path leads nowhere (C2.13)', '*tokens', nothing],
  ['a name of every object is no path (C2.13)', '/constructor', nothing],
  ['a name of every object is a parameter (C2.13)', '/tokens/__proto__', token('__proto__')],
]

describe('the table of routes', () => {
  for (const [rule, target, expected] of targets)
    test(`${rule}: GET ${target}`, () => {
      assert.deepEqual(find('GET', target), expected)
      // Without the body, which is for the answer to leave out.
      assert.deepEqual(find('HEAD', target), expected)
    })

  for (const [method, target, expected] of [
    ['POST', '/tokens', to('POST /tokens')],
    ['DELETE', '/tokens', { allowed: ['GET', 'POST'] }],
    ['post', '/tokens', { allowed: ['GET', 'POST'] }],
    ['HEAD', '/tokens/search', token('search')],
    ['DELETE', '/tokens/search', { allowed: ['POST', 'GET', 'PATCH'] }],
    ['DELETE', '/applications/key', to('DELETE /applications/:id', { id: 'key' })],
    ['PUT', '/applications/key', { allowed: ['GET', 'DELETE'] }],
    ['PUT', '/nowhere', nothing],
  ] as const)
    test(`${method} ${target} leads to ${JSON.stringify(expected)} (C2.15)`, () => {
      assert.deepEqual(find(method, target), expected)
    })

  test('all spellings of a path are one, and no two paths are (C33.1)', () => {
    for (const spelling of ['/tokens/a', '/tokens/a/', '/tokens/%61?x', 'http://vault/tokens/a#x'])
      assert.equal(plainPath(spelling), '/tokens/a')
    assert.equal(plainPath('/tokens/a%2Fb'), '/tokens/a%2Fb')
    assert.notEqual(plainPath('/tokens/a%252Fb'), plainPath('/tokens/a%2Fb'))
    assert.equal(plainPath('/'), '/')
  })
})
