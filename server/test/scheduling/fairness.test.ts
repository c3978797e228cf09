import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, mock, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { MessageChannel } from 'node:worker_threads'
import { SignsOfLife } from '../../src/cli/workers/signs-of-life.ts'
import { Scheduler, Work } from '../../src/scheduling/scheduler.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { devApplications, owner, type TestVault } from '../rig/test-vault.ts'

const crowd = 300

const until = async (isSo: () => boolean): Promise<void> => {
  const begun = performance.now()
  while (!isSo()) {
    assert.ok(performance.now() - begun < 20_000, String(isSo))
    await nextIteration()
  }
}

/** A card whose mask takes most of what one mask may. */
const masked = {
  type: 'card',
  data: { number: '4242424242424242', expiration_year: 2030 },
  mask: "{{ data.expiration_year | pad_left: 15000 | split: '' | size }}",
}
const long = { type: 'token', data: 'y'.repeat(20_000), search_indexes: ['{{ data | upcase | size }}'] }
const thousand = Array.from({ length: 1_000 }, (_, at) => ({ type: 'token', data: `${at}` }))

/** What the attacker asks for, each of it dear. */
const attacks: readonly { name: string; path: string; body: (at: number) => unknown }[] = [
  { name: 'creates with the heaviest mask', path: '/tokens', body: () => masked },
  {
    name: 'searches that open tokens',
    path: '/tokens/search',
    body: at => ({ query: `type:token AND NOT data:zz${at}`, size: 100 }),
  },
  { name: 'tokenizes of a thousand', path: '/tokenize', body: () => thousand },
]

onOneEngine('beside a crowd that asks for all there is', 'turns are given out above storage', started => {
  type Party = { readonly key: string; readonly tenant: number }
  let attacker: Party
  let neighbour: Party
  let id: string
  /** Turns that were given, and works that have begun, by tenant. */
  const turns = new Map<unknown, number>()
  const begun = new Map<unknown, number>()
  const queued: unknown[] = []
  /** How many turns the attacker had while a work of the neighbour waited for one. */
  const waits: number[] = []
  const since = new WeakMap<Work, number>()

  const party = async (vault: TestVault): Promise<Party> => {
    const { tenantId, keys } = await vault.tenant({ owner, ...devApplications })
    return { key: keys.owner, tenant: await vault.tenantNumber(tenantId) }
  }
  const countIn = (counts: Map<unknown, number>, tenant: unknown): number => counts.get(tenant) ?? 0

  before(async () => {
    // The machine has other work, too, which is nobody's turn.
    mock.method(performance, 'now', () => {
      const { user, system } = process.threadCpuUsage()
      return (user + system) / 1_000
    })
    attacker = await party(started())
    neighbour = await party(started())
    assert.equal((await started().post('/tokenize', attacker.key, Array(40).fill(long))).status, 200)
    id = (await started().create(neighbour.key, { type: 'token', data: 'x' })).id
    const { start } = Work.prototype
    mock.method(Work.prototype, 'start', function (this: Work, slice: number) {
      const tenant = this.queue.tenant.id
      if (tenant === neighbour.tenant)
        waits.push(countIn(turns, attacker.tenant) - (since.get(this) ?? Number.NaN))
      turns.set(tenant, countIn(turns, tenant) + 1)
      if (!this.hasBegun) begun.set(tenant, countIn(begun, tenant) + 1)
      start.call(this, slice)
    })
    const { ask } = Scheduler.prototype
    mock.method(Scheduler.prototype, 'ask', function (this: Scheduler, work: Work) {
      queued.push(work.queue.tenant.id)
      since.set(work, countIn(turns, attacker.tenant))
      ask.call(this, work)
    })
  })
  after(() => mock.restoreAll())

  /** Connections that each send the request once more whenever it is answered. Returns how they all leave. */
  const flood = async (attack: (typeof attacks)[number]): Promise<() => Promise<void>> => {
    const { hostname, port } = new URL(started().baseUrl)
    const sockets = Array.from({ length: crowd }, () => connect(Number(port), hostname))
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    // The server takes one connection in each iteration of the event loop.
    for (let turn = 0; turn < 2 * crowd; turn++) await nextIteration()
    for (const [at, socket] of sockets.entries()) {
      const body = JSON.stringify(attack.body(at))
      const head = [
        `POST ${attack.path} HTTP/1.1`,
        'Host: vault',
        `SVC-API-KEY: ${attacker.key}`,
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
      ]
      const bytes = `${head.join('\r\n')}\r\n\r\n${body}`
      socket.setEncoding('latin1').on('error', () => {})
      socket.on('data', (text: string) => {
        if (text.startsWith('HTTP/1.1 ')) socket.write(bytes)
      })
      socket.write(bytes)
    }
    const { scheduler } = started().service.vault
    const before = countIn(turns, attacker.tenant)
    await until(() => scheduler.state.waiting > crowd / 3 && countIn(turns, attacker.tenant) > before + 10)
    return async () => {
      for (const socket of sockets) socket.resetAndDestroy()
      await until(() => scheduler.state.waiting === 0)
    }
  }

  for (const attack of attacks)
    test(`a neighbour waits for a few turns at most, probes for none, and what the crowd leaves behind is not done: ${attack.name} (C37.1, C37.2, C37.4, C37.5, C37.6, C37.7)`, async t => {
      const vault = started()
      const { scheduler } = vault.service.vault
      const leave = await flood(attack)
      t.after(leave)
      waits.length = 0
      for (let round = 0; round < 5; round++)
        for (const reply of [
          await vault.get(`/tokens/${id}`, neighbour.key),
          await vault.post('/tokens', neighbour.key, { type: 'token', data: 'x' }),
          await vault.post('/tokens/search', neighbour.key, { query: 'type:token' }),
        ])
          assert.ok(reply.status === 200 || reply.status === 201, `${reply.status}`)
      // In one line with the crowd, each would wait for some two hundred. A pause for garbage may fall into anybody's turn.
      const few = waits.filter(turns => turns <= 2).length
      assert.ok(
        waits.length >= 15 && few > 0.8 * waits.length && Math.max(...waits) < crowd / 4,
        waits.join(),
      )

      const asked = queued.length
      for (const probe of ['/health', '/ready']) assert.equal((await vault.send('GET', probe)).status, 200)
      assert.deepEqual(
        queued.slice(asked).filter(tenant => tenant !== attacker.tenant),
        [],
      )

      const worker = {}
      const signs = new SignsOfLife<object>()
      const { port1, port2 } = new MessageChannel()
      port2.on('message', () => signs.heard(worker))
      for (let question = 0; question < 20; question++) {
        signs.asked(worker)
        port1.postMessage('are you there?')
        await nextIteration()
        await nextIteration()
        assert.equal(signs.isHanging(worker), false)
      }
      port1.close()

      assert.ok(scheduler.state.waiting > crowd / 4, `${scheduler.state.waiting} wait`)
      const before = countIn(begun, attacker.tenant)
      await leave()
      const late = countIn(begun, attacker.tenant) - before
      assert.ok(late < 40, `${late} were begun after their clients had left`)
      await until(() => vault.service.memory.held === 0)
      const left = countIn(turns, attacker.tenant)
      assert.equal((await vault.get(`/tokens/${id}`, neighbour.key)).status, 200)
      for (let turn = 0; turn < 50; turn++) await nextIteration()
      assert.equal(countIn(turns, attacker.tenant), left)
      assert.equal(scheduler.state.waiting, 0)
    })
})
