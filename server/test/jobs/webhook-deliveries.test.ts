import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import type { VaultEvent } from '../../src/domain/events/event.ts'
import { limits } from '../../src/domain/limits.ts'
import { pace } from '../../src/domain/pace.ts'
import { Secret } from '../../src/domain/secret.ts'
import { attemptDelays } from '../../src/domain/webhooks/schedule.ts'
import { openDelivery } from '../../src/operations/delivering/delivery-rows.ts'
import type { Service } from '../../src/service.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { engines } from '../rig/engines.ts'
import { readFeed } from '../rig/feed-pages.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { putWebhook, removeWebhook } from '../rig/put-webhook.ts'
import { newSecret, type Receiver, Receivers, verify, webhookFor } from '../rig/receivers.ts'
import { secondNode } from '../rig/second-node.ts'
import { tamper } from '../rig/tamper.ts'
import { TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'
import { untilGrantsHeard } from '../rig/until-grants-heard.ts'

const text = { type: 'token', data: 'Canary Value' }
const hourMs = 3_600_000
const dayMs = 24 * hourMs
let webhooks = 0

for (const engine of engines)
  describe(`deliveries to webhooks (${engine.name})`, () => {
    let receivers: Receivers
    let vault: TestVault
    let receiver: Receiver
    let other: Receiver
    let tenantId: string
    let keys: Record<keyof typeof ownerAndManager, string>
    let webhook: string
    let secret: string
    before(async () => {
      receivers = await Receivers.start(2)
      const [one, two] = receivers.all
      assert.ok(one && two)
      ;[receiver, other] = [one, two]
      // The published library compares with the clock of the machine.
      vault = await TestVault.start({ engine, now: Date.now(), settings: { outbound: receivers.outbound } })
    })
    after(async () => {
      await vault.stop()
      receivers.stop()
    })
    beforeEach(async () => {
      ;({ tenantId, keys } = await vault.tenant(ownerAndManager))
      for (const each of receivers.all) {
        each.take()
        each.answers(204)
      }
      webhook = `webhook-${++webhooks}`
      secret = newSecret()
      await put()
    })
    afterEach(async () => {
      await remove().catch(() => undefined)
      await look()
    })

    const put = (more: Parameters<typeof webhookFor>[2] = {}, to = receiver, id = webhook) =>
      untilGrantsHeard(vault, () => putWebhook(vault, tenantId, webhookFor(to, id, { secret, ...more })))
    const remove = (id = webhook) => untilGrantsHeard(vault, () => removeWebhook(vault, tenantId, id))
    /** What a second brings: a look, and everything that follows from it. */
    const look = async (service: Service = vault.service) => {
      await service.delivering.runAll()
      await service.delivering.settled()
    }
    const later = async (ms: number) => {
      vault.now += ms
      await look()
    }
    /** Two looks: one stores what the other has done. */
    const lookTwice = async () => {
      await look()
      await look()
    }
    const create = async (): Promise<string> => (await vault.create(keys.owner, text)).id
    const stored = async () => {
      const owner = { tenantNumber: await vault.tenantNumber(tenantId), keys: { tenantId } }
      const rows = await vault.store.listDeliveries(owner.tenantNumber, webhook, '', 10_000)
      return rows.map(row => ({ ...openDelivery(vault.service.vault, owner, row), dueAt: row.dueAt }))
    }
    const tokensOf = (from = receiver) =>
      from.deliveries.map(({ event }) => (event.data.token as { id: string }).id)

    test('what happens after it was made is told once to the webhook that names its type, signed, without a value (E4.1, E1.5)', async () => {
      await create()
      await look()
      assert.deepEqual(receiver.types, [], 'a webhook begins where it is first seen')
      const { id } = await vault.create(keys.owner, { ...text, metadata: { canary: 'Canary' } })
      await vault.get(`/tokens/${id}`, keys.owner)
      await vault.delete(`/tokens/${id}`, keys.owner)
      granted(await vault.send('PUT', '/tenants/self', { key: keys.manager, body: { name: 'Canary' } }))
      await look()
      await look()
      assert.deepEqual(receiver.types.toSorted(), ['token.created', 'token.deleted'])
      const { events } = await readFeed(vault, keys.manager, 'type=token.*')
      const deliveries = receiver.take()
      const inOrder = (of: readonly VaultEvent[]) => of.toSorted((one, two) => (one.id < two.id ? -1 : 1))
      assert.deepEqual(inOrder(deliveries.map(({ event }) => event)), inOrder(events.slice(1)))
      for (const delivery of deliveries) {
        assert.equal(delivery.headers['webhook-id'], delivery.event.id)
        assert.equal(delivery.headers['content-type'], 'application/json')
        assert.deepEqual(Object.keys(JSON.parse(delivery.body)), ['event', 'delivered_at'])
        assert.equal(Date.parse(delivery.deliveredAt), vault.now)
        verify(delivery, secret)
        assert.throws(() => verify(delivery, newSecret()))
        assert.throws(() => verify({ ...delivery, body: `${delivery.body} ` }, secret))
        assertAbsent({ body: delivery.body }, ['Canary', secret, ...Object.values(keys)])
      }
      assert.deepEqual(await stored(), [])
    })

    test('a webhook that was made is told what is committed from then on, with the secret it was shown (E3.1, E4.1)', async () => {
      await remove()
      await create()
      const events = ['token.created', 'webhook.*']
      const made = await untilGrantsHeard(vault, async () =>
        granted(await vault.post('/webhooks', keys.manager, { name: 'x', url: other.url, events })),
      )
      const id = await create()
      await look()
      // They go out beside each other, so either may be first.
      const told = other.deliveries.map(({ event: { data } }) => data.token ?? data.webhook)
      assert.deepEqual(told.map(about => (about as { id: string }).id).toSorted(), [id, made.id].toSorted())
      for (const delivery of other.take()) verify(delivery, made.secret)
      const path = `/webhooks/${made.id}`
      const { secret: next } = await untilGrantsHeard(vault, async () =>
        granted(await vault.post(`${path}/secret`, keys.manager, { grace_hours: 0 })),
      )
      await create()
      await look()
      for (const delivery of other.take()) {
        verify(delivery, next)
        assert.throws(() => verify(delivery, made.secret))
      }
      await untilGrantsHeard(vault, () => vault.delete(path, keys.manager))
      await create()
      await look()
      assert.deepEqual(other.types, [])
    })

    test('two secrets sign until the older one ends (E4.1)', async () => {
      await look()
      const next = newSecret()
      const until = vault.now + hourMs
      await put({ secrets: [{ value: new Secret(next) }, { value: new Secret(secret), until }] })
      await create()
      await look()
      const [during] = receiver.take()
      assert.ok(during)
      for (const each of [secret, next]) verify(during, each)
      const { now } = vault
      vault.now = until
      await create()
      await look()
      const [after] = receiver.take()
      assert.ok(after)
      // The published library compares with the clock of the machine, so what is verified says that it is of now.
      assert.equal(after.headers['webhook-signature']?.split(' ').length, 1)
      vault.now = now
      await put({ secrets: [{ value: new Secret(next) }, { value: new Secret(secret), until: now }] })
      await create()
      await look()
      const [last] = receiver.take()
      assert.ok(last)
      verify(last, next)
      assert.throws(() => verify(last, secret))
    })

    const failures: readonly {
      name: string
      fail: () => void
      attempt: Record<string, unknown>
      factors?: readonly [number, number]
    }[] = [
      {
        name: 'a 500',
        fail: () => receiver.answers(500),
        attempt: { status: 500, error: 'status' },
      },
      {
        name: 'a redirect, which is not followed',
        fail: () => receiver.answers(307, `Location: ${other.url}`),
        attempt: { status: 307, error: 'status' },
      },
      {
        name: 'a 429 that asks for less than the delay',
        fail: () => receiver.answers(429, 'Retry-After: 1'),
        attempt: { status: 429, error: 'status' },
        factors: [1, 1],
      },
      {
        name: 'a 503 that asks for a week',
        fail: () => receiver.answers(503, 'Retry-After: 604800'),
        attempt: { status: 503, error: 'status' },
        factors: [2, 2],
      },
      {
        name: 'a reset',
        fail: () => {
          receiver.destination.reply = socket => socket.destroy()
        },
        attempt: { error: 'connect' },
      },
      {
        name: 'something else than HTTP',
        fail: () => {
          receiver.destination.reply = 'SSH-2.0-OpenSSH\r\n\r\n'
        },
        attempt: { error: 'connect' },
      },
      {
        name: 'silence',
        fail: () => {
          receiver.destination.reply = () => {}
        },
        attempt: { error: 'timeout' },
      },
      {
        name: 'a head that drips',
        fail: () => {
          receiver.destination.reply = socket => {
            socket.write('HTTP/1.1 204 X\r\nX-Slow: ')
            const timer = setInterval(() => socket.write('x'), 20)
            socket.on('close', () => clearInterval(timer))
          }
        },
        attempt: { error: 'timeout' },
      },
      {
        name: 'a name that does not exist',
        fail: () => receivers.dns.set('hooks.partner.example', 'nxdomain'),
        attempt: { error: 'dns' },
      },
      {
        name: 'an address inside',
        fail: () => receivers.dns.set('hooks.partner.example', { a: ['10.0.0.1'] }),
        attempt: { error: 'address' },
      },
    ]

    describe('failures', () => {
      const { deliveryMaxMs } = pace
      afterEach(() => {
        Object.assign(pace, { deliveryMaxMs })
        receivers.dns.set('hooks.partner.example', { a: ['127.0.0.1'] })
      })

      for (const { name, fail, attempt, factors = [0.8, 1.2] } of failures)
        test(`${name} is a failure, and repeated by the schedule, each time with the same id and body (E3.8, E4.2, E4.4, E1.5)`, async () => {
          await look()
          fail()
          if (attempt.error === 'timeout') Object.assign(pace, { deliveryMaxMs: 150 })
          // Connections that were left open from before would need no name.
          await vault.service.vault.outbound.close()
          await create()
          await look()
          const ends: number[] = [vault.now]
          for (let made = 1; made < attemptDelays.length; made++) {
            await look()
            const [delivery] = await stored()
            assert.equal(delivery?.attempts.length, made)
            const { at, ms, ...rest } = delivery.attempts.at(-1) ?? assert.fail()
            assert.deepEqual([at, rest], [ends.at(-1), attempt])
            assert.ok(ms >= 0)
            const due = delivery.dueAt ?? assert.fail()
            const wait = due - vault.now
            const delay = attemptDelays[made] ?? 0
            assert.ok(wait >= factors[0] * delay - 1 && wait <= factors[1] * delay + 1, `${wait} of ${delay}`)
            vault.now = due - 1
            await look()
            assert.equal((await stored())[0]?.attempts.length, made, 'not before')
            vault.now = due
            await look()
            ends.push(due)
          }
          await look()
          const [last] = await stored()
          assert.deepEqual([last?.attempts.length, last?.dueAt], [attemptDelays.length, null], 'the last one')
          const deliveries = receiver.take()
          const told = deliveries.map(({ event, headers }) => JSON.stringify([event, headers['webhook-id']]))
          assert.ok(new Set(told).size <= 1, 'the same event')
          if (name.startsWith('a 500')) assert.equal(deliveries.length, attemptDelays.length)
          assert.equal(other.deliveries.length, 0, 'no redirect is followed')
        })
    })

    test('what failed at first and then arrives is forgotten, and the others went on meanwhile (E4.4, E4.8)', async () => {
      await look()
      receiver.answers(500)
      const first = await create()
      await lookTwice()
      receiver.answers(204)
      receiver.take()
      const second = await create()
      await lookTwice()
      assert.deepEqual(tokensOf(), [second])
      await later(6_000)
      assert.deepEqual(tokensOf(), [second, first])
      await look()
      assert.deepEqual(await stored(), [])
      await later(10 * dayMs)
      assert.equal(receiver.deliveries.length, 2)
    })

    test('a 410 disables it at once, which is recorded and told with the reason (E4.5)', async () => {
      await put({ events: ['webhook.*'] }, other, 'watcher')
      await look()
      receiver.answers(410)
      await create()
      await untilGrantsHeard(vault, look)
      await create()
      await lookTwice()
      await look()
      assert.equal(receiver.deliveries.length, 1)
      const { tenantNumber } = { tenantNumber: await vault.tenantNumber(tenantId) }
      const rows = await vault.store.listResources(tenantNumber)
      assert.equal(rows.length, 2)
      const record = (await recordsOfTenant(vault.service.vault, tenantId)).find(
        ({ operation }) => operation === 'disable-webhook',
      )
      assert.deepEqual(
        [record?.entity_id, record?.after, (record?.actor as { type: string } | undefined)?.type],
        [webhook, { status: 'disabled', disabled_because: 'gone' }, 'job'],
      )
      assert.deepEqual(other.types, ['webhook.disabled'])
      assert.deepEqual(other.deliveries[0]?.event.data.webhook, { id: webhook })
      // Enabled again, it goes on where it was.
      receiver.answers(204)
      await put()
      await lookTwice()
      assert.equal(receiver.deliveries.length, 2)
      await remove('watcher')
    })

    test('five days of nothing but failure disable it, and a success in between starts them anew (E4.5)', async () => {
      const statusOf = async () =>
        (await recordsOfTenant(vault.service.vault, tenantId)).some(
          ({ operation }) => operation === 'disable-webhook',
        )
      await look()
      receiver.answers(500)
      await create()
      await lookTwice()
      await later(3 * dayMs)
      receiver.answers(200)
      await create()
      await lookTwice()
      receiver.answers(500)
      await create()
      await lookTwice()
      await later(4.9 * dayMs)
      await look()
      assert.equal(await statusOf(), false)
      vault.now += 0.2 * dayMs
      await create()
      await untilGrantsHeard(vault, look)
      assert.equal(await statusOf(), true)
    })

    test('at most eight are in flight, and one that hangs keeps no other waiting (E4.6)', async () => {
      await look()
      let open = 0
      let most = 0
      const held: (() => void)[] = []
      receiver.destination.reply = socket => {
        open++
        most = Math.max(most, open)
        held.push(() => {
          open--
          socket.write('HTTP/1.1 204 X\r\n\r\n')
        })
      }
      for (let at = 0; at < 20; at++) await create()
      await vault.service.delivering.runAll()
      const until = async (count: number) => {
        while (held.length < count) await new Promise(resolve => setTimeout(resolve, 1))
      }
      await until(8)
      const [hanging, ...rest] = held.splice(0)
      for (const answer of rest) answer()
      for (let answered = 8; answered < 20; answered++) {
        await until(1)
        held.shift()?.()
      }
      hanging?.()
      await vault.service.delivering.settled()
      assert.equal(most, 8)
      assert.equal(new Set(tokensOf()).size, 20)
    })

    test('a failed event that was changed in storage is complained about, and holds up no other (E4.8)', async () => {
      await look()
      receiver.answers(500)
      const [, kept] = [await create(), await create()]
      await lookTwice()
      const spoilt = (await stored()).find(({ event }) => (event.data.token as { id: string }).id !== kept)
      assert.ok(spoilt)
      await tamper(
        vault,
        `UPDATE deliveries SET due_at = 1, webhook_id = webhook_id, sealed = (
        SELECT sealed FROM deliveries WHERE delivery_id = '' AND webhook_id = '${webhook}'
      ) WHERE webhook_id = '${webhook}' AND delivery_id = '${spoilt.event.id}'`,
      )
      receiver.take()
      receiver.answers(204)
      await later(10_000)
      assert.deepEqual(tokensOf(), [kept])
      assert.ok(vault.log.some(line => line.includes('events are not delivered')))
    })

    test('deliveries share connections, and leave nothing on them (E4.6)', async () => {
      await look()
      const warnings: Error[] = []
      const note = (warning: Error) => void warnings.push(warning)
      process.on('warning', note)
      const { connections } = receiver.destination
      for (let at = 0; at < 15; at++) {
        await create()
        await look()
      }
      await new Promise(resolve => setImmediate(resolve))
      process.off('warning', note)
      assert.equal(receiver.deliveries.length, 15)
      assert.ok(receiver.destination.connections - connections <= 2)
      assert.deepEqual(warnings, [])
    })

    test('a receiver that was away for a day gets everything afterwards, also past a full list (E4.8)', async () => {
      const { failedDeliveries } = limits
      Object.assign(limits, { failedDeliveries: 5 })
      try {
        await look()
        receiver.answers(503)
        const made: string[] = []
        for (let hour = 0; hour < 24; hour++) {
          made.push(await create())
          await later(hourMs)
          await look()
          assert.ok((await stored()).length <= 5)
        }
        receiver.take()
        receiver.answers(204)
        for (let hour = 0; hour < 40; hour++) await later(hourMs)
        assert.deepEqual(tokensOf().toSorted(), made.toSorted())
      } finally {
        Object.assign(limits, { failedDeliveries })
      }
    })

    test('a node that stops, or dies, is followed by another, and nothing is lost (E4.3, E4.7)', async () => {
      await look()
      const node = await secondNode(vault)
      try {
        const made: string[] = []
        made.push(await create())
        await look(node.service)
        assert.deepEqual(receiver.deliveries.length, 0, 'the other one has the lease')
        receiver.answers(500)
        await lookTwice()
        receiver.answers(204)
        // It died: it looks no more.
        made.push(await create())
        const diedAt = vault.now
        while (new Set(tokensOf()).size < 2) {
          vault.now += pace.deliverIntervalMs
          assert.ok(vault.now - diedAt <= 30_000)
          await look(node.service)
        }
        await look(node.service)
        assert.deepEqual([...new Set(tokensOf())].sort(), made.sort())
        // It was not dead: it notices that it has the lease no more.
        vault.now += pace.deliverRenewMs
        receiver.take()
        await create()
        await look()
        assert.equal(receiver.deliveries.length, 0)
        await look(node.service)
        assert.equal(receiver.deliveries.length, 1)
      } finally {
        await node.stop()
      }
      receiver.take()
      await create()
      vault.now += pace.deliverRenewMs
      await look()
      assert.equal(receiver.deliveries.length, 1, 'a clean stop leaves the lease to others at once')
    })

    test('what is under way when its node dies is delivered by the next one (E4.7)', async () => {
      await look()
      const hangs: (() => void)[] = []
      receiver.destination.reply = socket => {
        // The first one is never answered.
        if (hangs.push(() => socket.destroy()) > 1) socket.write('HTTP/1.1 204 X\r\n\r\n')
      }
      const [hanging, done] = [await create(), await create()]
      await vault.service.delivering.runAll()
      while (hangs.length < 2) await new Promise(resolve => setTimeout(resolve, 1))
      await vault.service.delivering.runAll()
      const node = await secondNode(vault)
      try {
        vault.now += pace.deliverLeaseMs
        receiver.answers(204)
        const before = receiver.take()
        assert.equal(before.length, 2)
        await look(node.service)
        assert.ok(tokensOf().includes(hanging), 'the first one comes again')
        assert.ok(done)
      } finally {
        await node.stop()
        for (const end of hangs) end()
      }
      vault.now += pace.deliverLeaseMs
      await look()
    })

    test('after a restart it goes on where it was, and knows what had failed (E4.7, E4.8)', async () => {
      await look()
      receiver.answers(500)
      const failed = await create()
      await lookTwice()
      receiver.answers(204)
      const done = await create()
      await look()
      await vault.restart()
      receiver.take()
      const missed = await create()
      await look()
      assert.deepEqual(tokensOf(), [missed], 'nothing is repeated after a clean stop')
      await later(6_000)
      assert.deepEqual(tokensOf(), [missed, failed])
      assert.ok(done)
    })

    test('a change of grants reads the webhooks of its own tenant again, and those of no other (E4.7)', async () => {
      const neighbour = await vault.tenant(ownerAndManager)
      const theirs = `webhook-${++webhooks}`
      await untilGrantsHeard(vault, () =>
        putWebhook(vault, neighbour.tenantId, webhookFor(receiver, theirs, { secret })),
      )
      await look()
      const { listResources } = vault.store
      const readOf: number[] = []
      vault.store.listResources = tenant => {
        readOf.push(tenant)
        return listResources(tenant)
      }
      try {
        await put({}, other)
        await look()
        assert.deepEqual(readOf, [await vault.tenantNumber(tenantId)])
        await untilGrantsHeard(vault, () => vault.tenant(ownerAndManager))
        await look()
        assert.equal(readOf.length, 1, 'a tenant without webhooks was read')
      } finally {
        vault.store.listResources = listResources
      }
      const mine = await create()
      const { id } = await vault.create(neighbour.keys.owner, text)
      await look()
      assert.deepEqual([tokensOf(other), tokensOf()], [[mine], [id]])
      await untilGrantsHeard(vault, () => removeWebhook(vault, neighbour.tenantId, theirs))
    })

    test('deleting the webhook or the tenant stops it at once and leaves nothing (E4.7)', async () => {
      await look()
      receiver.answers(500)
      await create()
      await lookTwice()
      assert.equal((await stored()).length, 1)
      await remove()
      await later(10_000)
      assert.equal(receiver.deliveries.length, 1)
      assert.deepEqual(await stored(), [])
      await put()
      await look()
      let isBrokenOff = false
      receiver.destination.reply = socket => {
        socket.on('close', () => {
          isBrokenOff = true
        })
      }
      await create()
      await vault.service.delivering.runAll()
      while (receiver.deliveries.length < 2) await new Promise(resolve => setTimeout(resolve, 1))
      await untilGrantsHeard(vault, () => vault.delete('/tenants/self', keys.manager))
      await look()
      while (!isBrokenOff) await new Promise(resolve => setTimeout(resolve, 1))
      await later(dayMs)
      assert.equal(receiver.deliveries.length, 2)
    })
  })
