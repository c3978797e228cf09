import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Permission } from '../../src/domain/access/permissions.ts'
import { pace } from '../../src/domain/pace.ts'
import type { Transform } from '../../src/domain/tokens/transform.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { owner, type TestApplication, type TestVault } from '../rig/test-vault.ts'

const reader = (transform: Transform): TestApplication => ({
  rules: [{ priority: 1, container: '/', transform, permissions: ['token:read', 'token:search'] }],
})
const writer = { permissions: ['token:create'] } as const satisfies { permissions: readonly Permission[] }

/** From now on, counts how often storage is asked for a page, and holds its answer the first so many times. */
const watchPages = ({ store }: TestVault, { heldTimes }: { heldTimes: number }) => {
  const { listTokens } = store
  let reads = 0
  const isRead = Promise.withResolvers<void>()
  const mayGoOn = Promise.withResolvers<void>()
  store.listTokens = async (...args) => {
    const time = ++reads
    const rows = await listTokens(...args)
    isRead.resolve()
    if (time <= heldTimes) await mayGoOn.promise
    return rows
  }
  return {
    /** Once storage has answered for the first time. */
    isRead: isRead.promise,
    goOn: mayGoOn.resolve,
    stop: (): number => {
      store.listTokens = listTokens
      return reads
    },
  }
}

onEveryEngine('the same pages at the same moment', vault => {
  test('C27.1 C24.10 a list shows a token that was created while an equal list was being made', async () => {
    const { keys } = await vault().tenant({ owner })
    await vault().create(keys.owner, { type: 'token', data: 'before' })
    const pages = watchPages(vault(), { heldTimes: 1 })
    const first = vault().get('/tokens', keys.owner)
    await pages.isRead
    vault().now += 1
    const { id } = await vault().create(keys.owner, { type: 'token', data: 'meanwhile' })
    const { body } = await vault().get('/tokens', keys.owner)
    pages.goOn()
    pages.stop()
    assert.deepEqual([body.pagination.total_items, body.data[0].id], [2, id])
    assert.equal((await first).status, 200)
  })

  test('C28.7 C12.1 C4.1 a crowd of callers is answered with fewer reads than requests, and everybody with the own page', async () => {
    const names = ['reveal', 'mask', 'redact'] as const
    const tenants = await Promise.all(
      ['one', 'other'].map(async data => {
        const { keys } = await vault().tenant({
          writer,
          reveal: reader('reveal'),
          mask: reader('mask'),
          redact: reader('redact'),
        })
        const mask = '{{ data | reveal_last: 1 }}'
        await vault().create(keys.writer, { type: 'token', data, mask })
        return { keys, shown: { reveal: data, mask: data.replace(/./g, 'X').slice(1) + data.slice(-1) } }
      }),
    )
    const asked = tenants.flatMap(({ keys, shown }) =>
      names.flatMap(name =>
        Array.from({ length: 20 }, (_, at) => ({
          key: keys[name],
          // Half of them list. Of those who search, half find nothing.
          searched: [undefined, 'token', undefined, 'card'][at % 4],
          data: { redact: undefined, ...shown }[name],
        })),
      ),
    )
    const pages = watchPages(vault(), { heldTimes: pace.pagesAtOnce })
    const sent = asked.map(({ key, searched }) =>
      searched === undefined
        ? vault().get('/tokens', key)
        : vault().post('/tokens/search', key, { query: `type:${searched}` }),
    )
    await pages.isRead
    // Sent later and answered, so most of the others have arrived by now, and wait for the first pages.
    await vault().send('GET', '/health')
    pages.goOn()
    const replies = await Promise.all(sent)
    const reads = pages.stop()
    for (const [at, { body }] of replies.entries()) {
      const isFound = asked[at]?.searched !== 'card'
      assert.equal(body.pagination.total_items, isFound ? 1 : 0)
      if (isFound) assert.equal(body.data[0].data, asked[at]?.data)
    }
    assert.equal(new Set(replies.map(({ headers }) => headers.get('svc-trace-id'))).size, asked.length)
    assert.ok(reads < asked.length, `${reads} reads for ${asked.length} requests`)
  })
})
