import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import type { Log } from '../../src/domain/log.ts'
import { pace } from '../../src/domain/pace.ts'
import { loadShedding } from '../../src/http/load-shedding.ts'
import { commitSet } from '../../src/operations/writing/commit.ts'
import type { Store } from '../../src/store/port.ts'
import type { Outcome } from '../../src/store/write-set.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { owner } from '../rig/test-vault.ts'

const silent: Log = { isDebug: false, error: () => {}, info: () => {}, debug: () => {} }

/** How many connections to this port of 127.0.0.1 the kernel holds that the server has not accepted. */
const connectionsWaiting = (port: number): number => {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const listening = '0A'
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, local, , state, queues = ''] = line.trim().split(/\s+/)
    if (local === address && state === listening) return Number.parseInt(queues.split(':')[1] ?? '', 16)
  }
  throw new Error('nothing listens there')
}

describe('shedding load', () => {
  const start = (log: Log = silent) => {
    // A process that has run for a while.
    const clock = { passed: 50_000, worked: 30_000 }
    const shedding = loadShedding(log, { passedMs: () => clock.passed, workedMs: () => clock.worked })
    const isRefused = (changesAhead = 0): boolean => {
      try {
        shedding.requireRoom(changesAhead)
        return false
      } catch {
        return true
      }
    }
    const work = (ms: number): void => {
      clock.passed += ms
      clock.worked += ms
    }
    return { shedding, clock, work, isRefused }
  }
  const perTurn = pace.requestsPerLoopTurnMin

  test('C2.23 a turn of the event loop that has worked for long takes in no more requests; the next one does', () => {
    const { shedding, work, isRefused } = start()
    for (let turn = 0; turn < 3; turn++) {
      for (let n = 0; n < perTurn; n++) assert.ok(!isRefused())
      work(pace.loopTurnWorkMs)
      assert.ok(!isRefused())
      work(1)
      assert.ok(isRefused(), `turn ${turn}`)
      shedding.onLoopTurn()
    }
  })

  test('C2.23 a few slow requests turn nobody away', () => {
    const { work, isRefused } = start()
    for (let n = 0; n < perTurn; n++) {
      assert.ok(!isRefused())
      work(1_000)
    }
  })

  test('C2.23 each turn of the event loop takes in a few requests, however slow they are', () => {
    const { shedding, work, isRefused } = start()
    for (let turn = 0; turn < 3; turn++) {
      for (let n = 0; n < perTurn; n++) {
        assert.ok(!isRefused(), `turn ${turn}`)
        work(pace.loopTurnWorkMs + 1)
      }
      assert.ok(isRefused(), `turn ${turn}`)
      shedding.onLoopTurn()
    }
  })

  test('C2.23 a machine that is busy with other things turns nobody away', () => {
    const { clock, isRefused } = start()
    for (let n = 0; n < perTurn * 2; n++) {
      assert.ok(!isRefused())
      clock.passed += 1_000
    }
  })

  test('C2.23 as many requests as there is room for are worked on, and each that leaves makes room', () => {
    const { shedding, isRefused } = start()
    for (let n = 0; n < pace.requestsInFlight; n++) shedding.enter()
    assert.ok(isRefused())
    shedding.leave()
    assert.ok(!isRefused())
  })

  test('C2.23 C27.1 changes that wait for storage leave no room for more changes, but still for reads', async () => {
    const { shedding, isRefused } = start()
    for (let n = 0; n < pace.requestsAlwaysTaken; n++) shedding.enter()
    const written: ((outcome: Outcome) => void)[] = []
    const store = { commit: () => new Promise<Outcome>(resolve => written.push(resolve)) } as unknown as Store
    const slow = { store, changesWaiting: { count: 0 } }
    const effects = Array.from({ length: pace.changesWaiting / 2 }, () => ({ kind: 'deleteTenant' }) as const)
    const set = { tenant: 1, guarded: [], effects, counters: [] }
    const commits = [commitSet(slow, set), commitSet(slow, set)]
    assert.ok(!isRefused(slow.changesWaiting.count))
    commits.push(commitSet(slow, set))
    assert.ok(isRefused(slow.changesWaiting.count))
    assert.ok(!isRefused())
    shedding.leave()
    assert.ok(!isRefused(slow.changesWaiting.count), 'some requests are always taken')
    for (const resolve of written) resolve({ committed: true })
    await Promise.all(commits)
    assert.equal(slow.changesWaiting.count, 0)
  })

  test('C2.23 a long request is turned away when many queue and as many as are always taken are in progress', () => {
    const { shedding } = start()
    const isLate = (ahead: number): boolean => {
      try {
        shedding.requireShortQueue(ahead)
        return false
      } catch {
        return true
      }
    }
    for (let n = 0; n < pace.requestsAlwaysTaken - 1; n++) shedding.enter()
    assert.ok(!isLate(pace.longRequestsWaiting))
    shedding.enter()
    assert.ok(isLate(pace.longRequestsWaiting))
    assert.ok(!isLate(pace.longRequestsWaiting - 1))
  })

  test('C2.23 refusals are logged as a count now and then, not one by one', () => {
    const lines: Record<string, unknown>[] = []
    const { shedding, clock, isRefused } = start({ ...silent, error: fields => void lines.push(fields) })
    for (let n = 0; n < pace.requestsInFlight; n++) shedding.enter()
    const reported = (): unknown[] => lines.splice(0).map(({ refused }) => refused)
    for (let turns = 0; turns < 3; turns++) {
      for (let n = 0; n < 500; n++) isRefused()
      shedding.onLoopTurn()
    }
    assert.deepEqual(reported(), [500])
    for (let turns = 0; turns < 3; turns++) {
      clock.passed += pace.overloadReportIntervalMs
      shedding.onLoopTurn()
    }
    assert.deepEqual(reported(), [1_000], 'the rest, once')
  })
})

onEveryEngine('an overloaded vault', vault => {
  test('C2.23 while storage is behind with changes, reads are still taken', async () => {
    const { keys } = await vault().tenant({ owner })
    const gate = commitGate(vault())
    const body = { type: 'token', data: 'x' }
    const crowded = Array.from({ length: pace.requestsAlwaysTaken }, () =>
      vault().post('/tokens', keys.owner, body),
    )
    await gate.waiting(pace.requestsAlwaysTaken)
    const { changesWaiting } = vault().service.vault
    changesWaiting.count += pace.changesWaiting
    try {
      assert.equal((await vault().post('/tokens', keys.owner, body)).status, 503)
      assert.equal((await vault().get('/tokens', keys.owner)).status, 200)
      assert.equal((await vault().send('HEAD', '/tokens', { key: keys.owner })).status, 200)
      assert.equal((await vault().post('/tokens/search', keys.owner, { query: 'type:card' })).status, 200)
    } finally {
      changesWaiting.count -= pace.changesWaiting
      gate.open()
    }
    for (const reply of await Promise.all(crowded)) assert.equal(reply.status, 201)
  })

  test('C2.23 a crowd that connects at once waits to be accepted', {
    skip: process.platform !== 'linux' && 'only Linux tells how many wait',
  }, async () => {
    const { hostname, port } = new URL(vault().baseUrl)
    const crowd = Array.from({ length: pace.requestsInFlight }, () => connect(Number(port), hostname))
    // All of them have been started by now, and none can be accepted before this turn of the event loop ends.
    await new Promise(process.nextTick)
    const waiting = connectionsWaiting(Number(port))
    await Promise.all(crowd.map(socket => once(socket, 'connect')))
    for (const socket of crowd) socket.destroy()
    assert.equal(waiting, crowd.length)
  })

  test('C2.23 only so many pages are made at once, whatever else was asked before, and other requests go on', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, { type: 'token', data: 'x' })
    const read = async (): Promise<void> =>
      assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).status, 200)
    for (let n = 0; n < 2 * pace.pagesAtOnce; n++) await read()
    const { store } = vault()
    const { listTokens } = store
    const held: (() => void)[] = []
    store.listTokens = async (...given) => {
      await new Promise<void>(resolve => held.push(resolve))
      return listTokens.apply(store, given)
    }
    try {
      // They differ: equal ones would be made once.
      const lists = Array.from({ length: pace.pagesAtOnce + 2 }, (_, n) =>
        vault().get(`/tokens?size=${n + 1}`, keys.owner),
      )
      while (held.length < pace.pagesAtOnce) await new Promise(setImmediate)
      await read()
      await read()
      assert.equal(held.length, pace.pagesAtOnce)
      store.listTokens = listTokens
      for (const goOn of held) goOn()
      for (const reply of await Promise.all(lists)) assert.equal(reply.status, 200)
    } finally {
      store.listTokens = listTokens
      for (const goOn of held) goOn()
    }
  })

  test('C2.23 C36.1 C36.2 C4.1 further requests get 503 with Retry-After before their bodies are read, probes are answered, and all is well afterwards', async () => {
    const { keys } = await vault().tenant({ owner })
    const create = (n: number) => vault().post('/tokens', keys.owner, { type: 'token', data: n })
    const gate = commitGate(vault())
    const crowded = Array.from({ length: pace.requestsInFlight }, (_, n) => create(n))
    await gate.waiting(pace.requestsInFlight)
    for (const reply of [
      await create(-1),
      await vault().get('/tokens', keys.owner),
      await vault().send('GET', '/docs'),
      await vault().send('GET', '/nowhere'),
    ]) {
      assert.equal(reply.status, 503, reply.text)
      assert.equal(reply.headers.get('retry-after'), '1')
      assert.equal(reply.body.detail, 'The vault is overloaded, and nothing was done; try again later.')
    }
    const head = `POST /tokens HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: ${keys.owner}\r\nContent-Type: application/json`
    const [unread] = await sendRaw(vault().baseUrl, `${head}\r\nContent-Length: 10\r\n\r\n`)
    assert.equal(unread?.status, 503)
    assert.ok(!vault().log.some(line => line.includes('request failed')), 'refusals are counted, not logged')
    for (const probe of ['/health', '/ready'])
      assert.equal((await vault().send('GET', probe)).status, 200, probe)
    gate.open()
    for (const reply of await Promise.all(crowded)) assert.equal(reply.status, 201)
    const { body } = await vault().get('/tokens?size=1', keys.owner)
    assert.equal(body.pagination.total_items, pace.requestsInFlight)
  })
})
