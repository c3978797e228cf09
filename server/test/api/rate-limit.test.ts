import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'

onOneEngine(
  'the rate limit',
  'counted in memory',
  vault => {
    const ask = (key: string): Promise<TestReply> => vault().get('/permissions', key)
    const statuses = async (key: string, times: number): Promise<number[]> => {
      const seen: number[] = []
      for (let time = 0; time < times; time++) seen.push((await ask(key)).status)
      return seen
    }

    test('a key that exceeds its limit gets 429 with Retry-After (C2.22, C2.1)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      assert.deepEqual(await statuses(keys.owner, 3), [200, 200, 200])
      const reply = await ask(keys.owner)
      assert.equal(reply.status, 429)
      assert.equal(reply.headers.get('retry-after'), '2')
      assert.deepEqual([reply.body.title, reply.body.status], ['Too Many Requests', 429])
      assert.ok(reply.headers.get('svc-trace-id'))
    })

    test('the allowance refills with time, up to the burst and no further (C2.22)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      assert.deepEqual(await statuses(keys.owner, 4), [200, 200, 200, 429])
      vault().now += 1_999
      assert.equal((await ask(keys.owner)).status, 429)
      vault().now += 1
      assert.deepEqual(await statuses(keys.owner, 2), [200, 429])
      vault().now += 4_000
      assert.deepEqual(await statuses(keys.owner, 3), [200, 200, 429])
      vault().now += 86_400_000
      assert.deepEqual(await statuses(keys.owner, 4), [200, 200, 200, 429])
    })

    test('a caller who waits as long as Retry-After says gets through (C2.22)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      await statuses(keys.owner, 3)
      vault().now += 700
      const refused = await ask(keys.owner)
      assert.equal(refused.status, 429)
      vault().now += Number(refused.headers.get('retry-after')) * 1_000
      assert.equal((await ask(keys.owner)).status, 200)
    })

    test('a clock set back takes no allowance away (C2.22)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      assert.deepEqual(await statuses(keys.owner, 3), [200, 200, 200])
      vault().now -= 3_600_000
      assert.equal((await ask(keys.owner)).status, 429)
      vault().now += 2_000
      assert.equal((await ask(keys.owner)).status, 200)
    })

    test('each key has its own allowance, even two keys of one application (C2.22)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const { id, key } = await newApplication(vault(), keys.manager, {})
      const further = granted(await vault().post(`/applications/${id}/keys`, keys.manager, {})).key
      assert.deepEqual(await statuses(key, 4), [200, 200, 200, 429])
      assert.deepEqual(await statuses(further, 4), [200, 200, 200, 429])
      assert.deepEqual(await statuses(keys.owner, 1), [200])
    })

    test('429 comes after 401 and before everything else (C3.1)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      await statuses(keys.owner, 3)
      assert.equal((await vault().get('/tenants/self', keys.owner)).status, 429, 'before 403')
      assert.equal((await vault().get('/unknown', keys.owner)).status, 429, 'before 404')
      assert.equal((await vault().send('PUT', '/tokens', { key: keys.owner })).status, 429, 'before 405')
      const text = { key: keys.owner, raw: 'x', type: 'text/plain' }
      assert.equal((await vault().send('POST', '/tokens', text)).status, 429, 'before 415')
      for (let time = 0; time < 10; time++) assert.equal((await vault().send('GET', '/tokens')).status, 401)
    })

    test('a request over the limit does nothing, and a failed one counts (C2.22)', async () => {
      const { keys } = await vault().tenant({ ...ownerAndManager, counter: ownerAndManager.owner })
      for (const status of [403, 404, 400])
        assert.equal(
          (status === 403
            ? await vault().get('/tenants/self', keys.owner)
            : status === 404
              ? await vault().get('/tokens/unknown', keys.owner)
              : await vault().post('/tokens', keys.owner, {})
          ).status,
          status,
        )
      assert.equal((await vault().post('/tokens', keys.owner, { type: 'token', data: 'x' })).status, 429)
      assert.equal(granted(await vault().get('/tokens', keys.counter)).pagination.total_items, 0)
    })

    test('endpoints that need no key have no limit (C36.1, C36.2, C36.3, C2.22)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      await statuses(keys.owner, 4)
      for (let time = 0; time < 10; time++)
        for (const path of ['/health', '/ready', '/openapi.json', '/docs']) {
          assert.equal((await vault().send('GET', path)).status, 200)
          assert.equal((await vault().get(path, keys.owner)).status, 200)
        }
    })

    test('a replay counts like any other request (C33.2)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const send = () =>
        vault().send('POST', '/tokens', {
          key: keys.owner,
          body: { type: 'token', data: 'x' },
          headers: { 'svc-idempotency-key': 'again' },
        })
      assert.deepEqual(
        [(await send()).status, (await send()).status, (await send()).status, (await send()).status],
        [201, 201, 201, 429],
      )
    })
  },
  { rateLimit: { perSecond: 0.5, burst: 3 } },
)

onOneEngine('without a rate limit', 'counted in memory', vault => {
  test('there is no limit unless one is set (C2.22)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const replies = await Promise.all(
      Array.from({ length: 300 }, () => vault().get('/permissions', keys.owner)),
    )
    assert.ok(replies.every(({ status }) => status === 200))
  })
})
