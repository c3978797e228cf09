import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Announcements, hearMaxMs } from '../../src/cli/workers/announcements.ts'
import type { Store } from '../../src/store/port.ts'
import { trustMs } from '../../src/store/postgres/grants-watch.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { emptyDatabase, settingsOf } from '../rig/postgres-databases.ts'

describe('processes of one machine that share a database (postgres)', () => {
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let store: Store
  const told = Promise.withResolvers<void>()
  const heard = Promise.withResolvers<void>()
  let announce: (() => void) | undefined

  before(async () => {
    database = await emptyDatabase()
    store = await openPostgres(settingsOf(database.url), {
      tellGrantsChanged: () => {
        told.resolve()
        return heard.promise
      },
      onGrantsChanged: listener => {
        announce = listener
      },
    })
  })
  after(async () => {
    await store.close()
    await database.drop()
  })

  test('a change to grants is answered only once the neighbours have heard of it (C27.2)', async () => {
    const tenant = {
      id: crypto.randomUUID(),
      sealed: new Uint8Array(8),
      keys: [],
      applications: [],
      apiKeys: [],
    }
    await store.createTenant(tenant, madeTenantLog())
    const [row] = await store.listTenants()
    assert.ok(row)
    let isAnswered = false
    const change = store
      .commit({
        tenant: row.tenant,
        guarded: [{ kind: 'reviseTenant', ifRevision: row.revision }],
        effects: [],
        counters: [],
        log: null,
      })
      .then(outcome => {
        isAnswered = true
        return outcome
      })
    await told.promise
    assert.equal((await store.getTenant(row.tenant))?.revision, row.revision + 1, 'it is written down')
    assert.equal(isAnswered, false)
    heard.resolve()
    assert.deepEqual(await change, { committed: true })
  })

  test('a neighbour that was too busy to hear of a change relies on nothing once the change is answered (C27.2)', t => {
    assert.ok(trustMs < hearMaxMs)
    const before = store.grantsEpoch()
    assert.equal(store.grantsEpoch(), before)
    const now = performance.now()
    t.mock.method(performance, 'now', () => now + hearMaxMs)
    assert.notEqual(store.grantsEpoch(), before)
    assert.notEqual(store.grantsEpoch(), store.grantsEpoch())
  })

  test('a change announced by a neighbour invalidates what was remembered (C27.2)', () => {
    const before = store.grantsEpoch()
    assert.equal(store.grantsEpoch(), before)
    announce?.()
    assert.notEqual(store.grantsEpoch(), before)
  })
})

describe('announcements', () => {
  const listener = () => {
    const sent: number[] = []
    return { sent, send: ({ announcement }: { announcement: number }) => sent.push(announcement) }
  }

  test('one is complete once all have heard it or are gone (C27.2)', async () => {
    const [one, other] = [listener(), listener()]
    const news = new Announcements()
    let isTold = false
    const telling = news.tell([one, other]).then(() => {
      isTold = true
    })
    const [first = 0] = one.sent
    assert.deepEqual(other.sent, [first])
    news.heard(first, one)
    news.heard(first + 1, other)
    await Promise.resolve()
    assert.equal(isTold, false)
    news.left(other)
    await telling
    await news.tell([])
  })
})
