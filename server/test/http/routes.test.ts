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
  ['§4.4.1 a name is a parameter', '/tokens/x', token('x')],
  ['C36.1 the shortest path is a path', '/', to('GET /')],
  ['C1.1 a slash at the end does not matter', '/tokens/', to('GET /tokens')],
  ['C1.1 a slash at the end of a parameter does not matter', '/tokens/x/', token('x')],
  ['C2.13 two slashes at the end do', '/tokens//', nothing],
  ['C2.13 two slashes in the middle do', '/tokens//x', nothing],
  ['C2.13 two slashes at the start do', '//tokens', nothing],
  ['C2.13 a parameter is not empty', '/applications//keys/x', nothing],
  ['C29.1 a name goes before a parameter', '/applications/key', to('GET /applications/key')],
  [
    'C29.1 a name that leads nowhere further is a parameter after all',
    '/applications/own/keys/other',
    to('GET /applications/:id/keys/:keyId', { id: 'own', keyId: 'other' }),
  ],
  ['C29.1 the longer name', '/applications/own/keys/all', to('GET /applications/own/keys/all')],
  ['C2.13 an encoded slash is part of a parameter', '/tokens/a%2Fb', token('a/b')],
  ['C2.13 an encoded slash does not separate', '/tokens%2Fx', nothing],
  ['C2.13 an encoded slash at the end is no slash at the end', '/tokens/x%2F', token('x/')],
  ['§4.4.1 letters may be encoded', '/%74okens/%C3%A9', token('é')],
  ['C2.13 nothing is decoded twice', '/tokens/%2561', token('%61')],
  ['C2.13 encoded dots are a parameter', '/tokens/%2e%2e', token('..')],
  ['C2.13 dots lead nowhere else', '/x/../tokens', nothing],
  ['C2.13 an encoded question mark is part of a parameter', '/tokens/a%3Fb', token('a?b')],
  ['C2.10 a lone percent sign cannot be read', '/tokens/%', 'unreadable'],
  ['C2.10 what is not hexadecimal cannot be read', '/tokens/%zz', 'unreadable'],
  ['C2.10 what is not UTF-8 cannot be read', '/tokens/%ff', 'unreadable'],
  ['C2.10 what leads nowhere and cannot be read is that', '/nowhere/%ff', 'unreadable'],
  ['C24.1 a query is no part of the path', '/tokens/x?a=/b', token('x')],
  ['C24.1 a query may follow a slash', '/tokens/?a=%', to('GET /tokens')],
  ['C2.13 a fragment is no part of the path', '/tokens#/x', to('GET /tokens')],
  ['C2.13 a target may name the host', 'http://vault:8080/tokens/x', token('x')],
  ['C2.13 a target may name the host in any letters', 'HTTPS://vault/tokens/', to('GET /tokens')],
  ['C2.13 a target may name the host alone', 'http://vault', to('GET /')],
  ['C2.13 a target may name the host alone, with a query', 'http://vault?a=b', to('GET /')],
  ['C2.13 another scheme leads nowhere', 'ftp://vault/tokens', nothing],
  ['C2.13 the target of OPTIONS leads nowhere', '*', nothing],
  ['C2.13 what is no path leads nowhere', '*tokens', nothing],
  ['C2.13 a name of every object is no path', '/constructor', nothing],
  ['C2.13 a name of every object is a parameter', '/tokens/__proto__', token('__proto__')],
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
    test(`C2.15 ${method} ${target} leads to ${JSON.stringify(expected)}`, () => {
      assert.deepEqual(find(method, target), expected)
    })

  test('C33.1 all spellings of a path are one, and no two paths are', () => {
    for (const spelling of ['/tokens/a', '/tokens/a/', '/tokens/%61?x', 'http://vault/tokens/a#x'])
      assert.equal(plainPath(spelling), '/tokens/a')
    assert.equal(plainPath('/tokens/a%2Fb'), '/tokens/a%2Fb')
    assert.notEqual(plainPath('/tokens/a%252Fb'), plainPath('/tokens/a%2Fb'))
    assert.equal(plainPath('/'), '/')
  })
})
