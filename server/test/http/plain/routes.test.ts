import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import fastify from 'fastify'
import type { Endpoint } from '../../../src/contract/endpoint.ts'
import { endpoints } from '../../../src/contract/endpoints.ts'
import { plainRoutes } from '../../../src/http/plain/routes.ts'
import { routerOptions } from '../../../src/http/server.ts'
import { fc } from '../../rig/properties.ts'

const declared = Object.values<Endpoint>(endpoints).map(({ id, method, path }) => ({ method, path, to: id }))

const values = [
  'an-id',
  'self',
  'tokens',
  'a.b',
  '.',
  '..',
  'a;b',
  'a:b',
  ':id',
  '*',
  "a'b",
  '(a)',
  'a@b',
  '%41',
  '',
]

const sometimes = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, arbitrary)

/** The path of an endpoint, sometimes with another part in place of one of its own, or with another method. */
const asked = fc
  .record({
    of: fc.constantFrom(...declared),
    method: sometimes(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE')),
    params: fc.array(fc.constantFrom(...values), { minLength: 4, maxLength: 4 }),
    wrong: sometimes(fc.record({ at: fc.nat(4), value: fc.constantFrom(...values) })),
    end: fc.constantFrom('', '', '', '/', '?', '?a=/b', '/?a=b', '//'),
  })
  .map(({ of, method, params, wrong, end }) => {
    const parts = of.path.split('/').map((part, at) => {
      if (at > 0 && wrong?.at === at) return wrong.value
      return part.startsWith(':') ? params[at] : part
    })
    return { method: method ?? of.method, url: `${parts.join('/')}${end}` }
  })

const agent = new Agent({ keepAlive: true })

describe('the routes of plain requests', () => {
  test('C3.1 whatever they find is what Fastify finds', async t => {
    const app = fastify({ routerOptions })
    for (const { method, path, to } of declared)
      app.route({ method, url: path, handler: async ({ params }) => ({ to, params }) })
    await app.listen({ host: '127.0.0.1', port: 0 })
    t.after(() => {
      agent.destroy()
      return app.close()
    })
    const { port } = app.server.address() as AddressInfo
    // Not by `inject` or `fetch`, which would resolve the dots in a path.
    const ask = async (method: string, path: string): Promise<string> => {
      const [answer] = await once(request({ port, method, path, agent }).end(), 'response')
      return text(answer)
    }
    const find = plainRoutes(declared)
    let found = 0
    await fc.assert(
      fc.asyncProperty(asked, async ({ method, url }) => {
        const route = find(method, url)
        if (route === undefined) return
        found++
        assert.deepEqual(JSON.parse(await ask(method, url)), route, `${method} ${url}`)
      }),
      { numRuns: 2_000 },
    )
    assert.ok(found > 700, `only ${found} led somewhere`)
  })

  test('C3.1 a path that is spelt out wins over one with a parameter', () => {
    const find = plainRoutes([
      { method: 'GET', path: '/a/:id', to: 'any' },
      { method: 'GET', path: '/a/self', to: 'own' },
    ])
    assert.deepEqual(find('GET', '/a/self'), { to: 'own', params: {} })
    assert.deepEqual(find('GET', '/a/b'), { to: 'any', params: { id: 'b' } })
  })

  test('C3.1 the endpoints of tokens are found, with and without a slash and a query behind their path', () => {
    const find = plainRoutes(declared)
    for (const { method, path, to } of declared.filter(({ path }) => /^\/(v2\/)?token/.test(path)))
      for (const end of ['', '/', '?', '?a=b', '/?a=b'])
        assert.equal(find(method, path.replaceAll(/:\w+/g, 'x') + end)?.to, to, `${method} ${path}${end}`)
  })
})
