import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onEveryEngine } from '../rig/every-engine.ts'

onEveryEngine('search tokens by cursor', vault => {
  const query = 'metadata.k:red AND NOT type:card'
  const path = '/v2/tokens/search'

  /** A new tenant with five tokens that the query finds, `token-4` the newest. */
  const filled = async (): Promise<string> => {
    const { keys } = await vault().tenant(ownerAndManager)
    for (let n = 0; n < 5; n++) {
      vault().now += 1_000
      const token = { id: `token-${n}`, type: 'token', data: 'x', metadata: { k: 'Red' } }
      granted(await vault().post('/tokens', keys.owner, token))
    }
    return keys.owner
  }
  const ids = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id)

  test('pages follow one another, whatever is created or deleted between them (C25.1, C25.2)', async () => {
    const key = await filled()
    const first = granted(await vault().post(path, key, { query, size: 2, start: null }))
    assert.deepEqual(Object.keys(first.pagination), ['page_size', 'next'])
    assert.deepEqual(ids(first), ['token-4', 'token-3'])
    assert.deepEqual(ids(granted(await vault().post(path, key, { query, size: 2, start: '' }))), ids(first))
    granted(
      await vault().post('/tokens', key, { id: 'late', type: 'token', data: 'x', metadata: { k: 'red' } }),
    )
    assert.equal((await vault().delete('/tokens/token-3', key)).status, 204)
    assert.equal((await vault().delete('/tokens/token-1', key)).status, 204)
    const last = granted(await vault().post(path, key, { query, size: 2, start: first.pagination.next }))
    assert.deepEqual(last.pagination, { page_size: 2 })
    assert.deepEqual(ids(last), ['token-2', 'token-0'])
  })

  test('a cursor is valid only for its query and its tenant, and not for a list (C25.3)', async () => {
    const key = await filled()
    const { next } = granted(await vault().post(path, key, { query, size: 1 })).pagination
    const list = granted(await vault().get('/v2/tokens?size=1', key)).pagination.next
    const refused = [
      await vault().post(path, key, { query: 'metadata.k:red', start: next }),
      await vault().post(path, await filled(), { query, start: next }),
      await vault().post(path, key, { query, start: `${next}A` }),
      await vault().post(path, key, { query, start: list }),
      await vault().get(`/v2/tokens?start=${next}`, key),
    ]
    for (const { status, body, text } of refused) {
      assert.equal(status, 400)
      assert.deepEqual(Object.keys(body.errors), ['start'])
      assert.ok(!text.includes(next))
    }
    assert.deepEqual(ids(granted(await vault().post(path, key, { query, start: next, size: 1 }))), [
      'token-3',
    ])
  })

  test('tokens that redact hides from a search leave no gap on a page (C26.7, C25.1)', async () => {
    const both = ['token:read', 'token:search'] as const
    const { keys } = await vault().tenant({
      ...ownerAndManager,
      partly: {
        rules: [
          { priority: 1, container: '/open/', transform: 'mask', permissions: both },
          { priority: 2, container: '/hidden/', transform: 'redact', permissions: both },
        ],
      },
    })
    const places = { oldest: '/open/', older: '/hidden/', newer: '/hidden/', newest: '/open/' }
    for (const [id, container] of Object.entries(places)) {
      vault().now += 1_000
      const token = { id, type: 'token', data: 'x', containers: [container], search_indexes: ['{{ data }}'] }
      granted(await vault().post('/tokens', keys.owner, token))
    }
    const first = granted(await vault().post(path, keys.partly, { query: 'data:x', size: 1 }))
    assert.deepEqual(ids(first), ['newest'])
    const { next } = first.pagination
    const last = granted(await vault().post(path, keys.partly, { query: 'data:x', size: 1, start: next }))
    assert.deepEqual(last, { pagination: { page_size: 1 }, data: last.data })
    assert.deepEqual(ids(last), ['oldest'])
  })

  test('bad input is refused at its field (C26.9, C6.3, C24.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const wrong: [body: object, field: string][] = [
      [{ query: 'NOT type:card' }, 'query'],
      [{ query: 'type:' }, 'query'],
      [{ query: 'type:card', size: 101 }, 'size'],
      [{ query: 'type:card', page: 2 }, 'page'],
      [{ query: 'type:card', start: 5 }, 'start'],
      [{ size: 1 }, 'query'],
    ]
    for (const [body, field] of wrong) {
      const reply = await vault().post(path, keys.owner, body)
      assert.equal(reply.status, 400, JSON.stringify(body))
      assert.deepEqual(Object.keys(reply.body.errors), [field])
    }
  })
})
