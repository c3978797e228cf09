import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { configOf, newTenant } from '../crash/new-tenant.ts'
import { inShortRun } from '../rig/long-run.ts'
import { type Reply, Site } from '../rig/program.ts'
import { freshCall } from '../serving/fresh-call.ts'

/** Ways to put three real processes on one storage. */
const arrangements: { name: string; start: (site: Site) => Promise<string[]> }[] = [
  {
    name: 'three nodes',
    start: async site => {
      // The first creates the storage that the others share.
      const first = await site.serve()
      const others = await Promise.all([site.serve(), site.serve()])
      return [first, ...others].map(({ url }) => url)
    },
  },
  { name: 'three workers', start: async site => [(await site.serve(['--workers', '3'])).url] },
]

type Send = (
  method: string,
  path: string,
  key: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Reply>

for (const { name, start } of arrangements)
  describe(`${name} on one storage (sqlite)`, {
    skip: name === 'three workers' && inShortRun,
    timeout: 120_000,
  }, () => {
    const site = new Site()
    let urls: string[]
    let turn = 0
    before(async () => {
      urls = await start(site)
    })
    after(() => site.remove())

    /** Answered by the node whose turn it is, or by the worker that takes the connection. */
    const send: Send = (...sent) => freshCall(urls[turn++ % urls.length] ?? '', ...sent)
    const together = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: count }, (_, index) => work(index)))
    /** Sends the same request several times at once: every node gets it, and usually every worker. */
    const onEach = (...sent: Parameters<Send>): Promise<Reply[]> => together(12, () => send(...sent))
    const countBy = (replies: readonly Reply[]): Record<number, number> =>
      Object.fromEntries(
        [...Map.groupBy(replies, ({ status }) => status)].map(([status, group]) => [status, group.length]),
      )
    /** Created from this process, a fourth one on the same storage: a command would cost a process for each test. */
    const tenant = async () => {
      const { api_key, private_api_key, management_api_key } = await newTenant(configOf(site))
      return { writer: api_key, reader: private_api_key, manager: management_api_key }
    }
    const total = async (reader: string): Promise<number[]> =>
      (await onEach('GET', '/tokens?size=1', reader)).map(({ body }) => body.pagination.total_items)

    test('equal creates make one token (C15.9)', async () => {
      const { writer, reader } = await tenant()
      const twin = { type: 'token', data: 'the same', deduplicate_token: true }
      const replies = await together(32, () => send('POST', '/tokens', writer, twin))
      assert.deepEqual(countBy(replies), { 201: 32 })
      assert.equal(new Set(replies.map(({ body }) => body.id)).size, 1)
      assert.equal(replies.filter(({ body }) => !body._extras.deduplicated).length, 1)
      assert.deepEqual(new Set(await total(reader)), new Set([1]))
    })

    test('no id is given twice (C16.1, C16.4)', async () => {
      const { writer, reader } = await tenant()
      const made = await together(48, () => send('POST', '/tokens', writer, { type: 'token', data: 'x' }))
      assert.equal(new Set(made.map(({ body }) => body.id)).size, 48)
      const wanted = await together(24, index =>
        send('POST', '/tokens', writer, { id: 'the-same', type: 'token', data: index }),
      )
      assert.deepEqual(countBy(wanted), { 201: 1, 409: 23 })
      const winner = wanted.findIndex(({ status }) => status === 201)
      for (const { body } of await onEach('GET', '/tokens/the-same', reader)) assert.equal(body.data, winner)
      assert.deepEqual(new Set(await total(reader)), new Set([49]))
    })

    test('one idempotency key makes one token, wherever it arrives (§4.11.3, §4.11.5, C33.4, C33.5)', async () => {
      const { writer, reader } = await tenant()
      const once: Parameters<Send> = [
        'POST',
        '/tokens',
        writer,
        { type: 'token', data: 'x' },
        { 'svc-idempotency-key': 'one-key' },
      ]
      const replies = await together(64, () => send(...once))
      const done = replies.filter(({ status }) => status === 201)
      assert.ok(done.length >= 1)
      assert.ok(replies.every(({ status }) => status === 201 || status === 409))
      const ids = new Set([...done, ...(await onEach(...once))].map(({ body }) => body.id))
      assert.equal(ids.size, 1)
      assert.deepEqual(new Set(await total(reader)), new Set([1]))
    })

    test('patches of different fields of one token all survive (C18.8)', async () => {
      const { writer, reader } = await tenant()
      const { id } = (await send('POST', '/tokens', writer, { type: 'token', data: { kept: true } })).body
      const replies = await together(24, index =>
        send('PATCH', `/tokens/${id}`, writer, {
          data: { [`field ${index}`]: index },
          metadata: { [`key ${index}`]: String(index) },
        }),
      )
      assert.deepEqual(countBy(replies), { 200: 24 })
      for (const { body } of await onEach('GET', `/tokens/${id}`, reader)) {
        assert.equal(Object.keys(body.data).length, 25)
        assert.equal(Object.keys(body.metadata).length, 24)
      }
    })

    test('counters and monthly activity are exact after a storm of requests (C24.10, C27.1, C32.2)', async () => {
      const { writer, reader, manager } = await tenant()
      const made = await together(30, index =>
        send('POST', '/tokens', writer, {
          type: index % 3 === 0 ? 'card_number' : 'token',
          data: '4242424242424242',
        }),
      )
      await together(60, index => {
        const path = `/tokens/${made[index % 30]?.body.id}`
        if (index % 3 === 0) return send('PATCH', path, writer, { metadata: { [`k${index}`]: 'v' } })
        return index % 5 === 0 ? send('DELETE', path, reader) : send('GET', path, reader)
      })
      const listed = (await send('GET', '/tokens?size=100', reader)).body
      const living = listed.data as { type: string }[]
      assert.ok(living.length < 30 && living.length > 0)
      assert.deepEqual(new Set(await total(reader)), new Set([living.length]))
      for (const { body } of await onEach('GET', '/tenants/self/reports/usage', manager)) {
        const { metrics_by_type, monthly_active_tokens } = body.token_report
        for (const type of ['card_number', 'token'])
          assert.equal(metrics_by_type[type].count, living.filter(token => token.type === type).length, type)
        assert.equal(monthly_active_tokens, 30, 'each token once, however often it was read')
      }
    })

    const lockouts: {
      name: string
      path: (app: string, key: string) => string
      put?: object
      expect: number
    }[] = [
      { name: 'a key is revoked', path: (app, key) => `/applications/${app}/keys/${key}`, expect: 401 },
      {
        name: 'a rule is narrowed',
        path: app => `/applications/${app}`,
        put: {
          name: 'x',
          rules: [{ priority: 1, container: '/a/', transform: 'mask', permissions: ['token:read'] }],
        },
        expect: 404,
      },
      { name: 'the tenant is deleted', path: () => '/tenants/self', expect: 401 },
    ]
    for (const { name, path, put, expect } of lockouts)
      test(`when ${name} in one process, access ends in all of them at once (C27.2)`, async () => {
        const { writer, manager } = await tenant()
        const { id } = (await send('POST', '/tokens', writer, { type: 'token', data: 'x' })).body
        const application = (
          await send('POST', '/applications', manager, {
            name: 'reader',
            type: 'private',
            permissions: ['token:read'],
          })
        ).body
        const [apiKey] = (await send('GET', `/applications/${application.id}/keys`, manager)).body
        const read = (): Promise<Reply[]> => onEach('GET', `/tokens/${id}`, application.key)
        assert.deepEqual(countBy(await read()), { 200: 12 })
        const changed = await send(put ? 'PUT' : 'DELETE', path(application.id, apiKey.id), manager, put)
        assert.ok(changed.status < 300)
        assert.deepEqual(countBy(await read()), { [expect]: 12 })
      })
  })
