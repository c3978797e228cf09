import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newUuid } from '../../src/crypto/uuid.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { engines } from '../rig/engines.ts'
import { putFailedDelivery, putWebhook } from '../rig/put-webhook.ts'
import { Receivers, webhookFor } from '../rig/receivers.ts'
import { TestVault } from '../rig/test-vault.ts'
import { untilGrantsHeard } from '../rig/until-grants-heard.ts'

for (const engine of engines)
  describe(`retry a delivery (${engine.name})`, () => {
    let receivers: Receivers
    let vault: TestVault
    before(async () => {
      receivers = await Receivers.start(1)
      vault = await TestVault.start({ engine, settings: { outbound: receivers.outbound } })
    })
    after(async () => {
      await vault.stop()
      receivers.stop()
    })

    const newWorld = async (more: Parameters<typeof webhookFor>[2] = {}) => {
      const { tenantId, keys } = await vault.tenant(ownerAndManager)
      const [receiver] = receivers.all
      assert.ok(receiver)
      receiver.take()
      receiver.answers(204)
      const webhook = newUuid()
      await untilGrantsHeard(vault, () => putWebhook(vault, tenantId, webhookFor(receiver, webhook, more)))
      const delivery = await putFailedDelivery(vault, tenantId, webhook)
      const path = `/webhooks/${webhook}/deliveries`
      const retry = (headers: Record<string, string> = {}) =>
        vault.send('POST', `${path}/${delivery}/retry`, { key: keys.manager, headers })
      const listed = async () => granted(await vault.get(path, keys.manager)).data
      return { tenantId, keys, receiver, webhook, delivery, path, retry, listed }
    }
    const look = async () => {
      await vault.service.delivering.runAll()
      await vault.service.delivering.settled()
    }

    test('a failed delivery is attempted now, once for any number of retries, and not while it is in flight (E5.2)', async () => {
      const { receiver, retry, listed } = await newWorld()
      await look()
      assert.equal(receiver.deliveries.length, 0, 'it is not due')
      let answer = () => {}
      receiver.destination.reply = socket => {
        answer = () => socket.write('HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n')
      }
      const first = await retry()
      assert.deepEqual([first.status, first.body.attempts.length], [202, 1])
      assert.equal((await retry()).status, 202, 'it is due already, and nothing more comes of it')
      await vault.service.delivering.runAll()
      while (receiver.deliveries.length === 0) await new Promise(resolve => setTimeout(resolve, 1))
      for (let times = 0; times < 3; times++) {
        const refused = await retry()
        assert.deepEqual([refused.status, refused.body.code], [409, 'delivery_in_flight'])
        await vault.service.delivering.runAll()
      }
      answer()
      await look()
      await look()
      assert.equal(receiver.deliveries.length, 1)
      const [failed] = await listed()
      assert.deepEqual(
        failed.attempts.map(({ status }: { status: number }) => status),
        [500, 500],
      )
      assert.ok(Date.parse(failed.next_attempt_at) > vault.now)
      receiver.answers(200)
      assert.equal((await retry()).status, 202)
      await look()
      await look()
      assert.deepEqual([receiver.deliveries.length, await listed()], [2, []])
      assert.equal((await retry()).status, 404)
    })

    test('a retry is repeated by its idempotency key without another attempt (E5.2)', async () => {
      const { receiver, retry } = await newWorld()
      receiver.answers(500)
      const headers = { 'svc-idempotency-key': 'once' }
      assert.equal((await retry(headers)).status, 202)
      await look()
      await look()
      const again = await retry(headers)
      assert.equal(again.headers.get('idempotent-replayed'), 'true')
      await look()
      assert.equal(receiver.deliveries.length, 1)
    })

    test('it is refused for a disabled webhook, for what is none, and for others (E5.2)', async () => {
      const { keys, path, delivery, retry } = await newWorld({ status: 'disabled' })
      const refused = await retry()
      assert.deepEqual([refused.status, refused.body.code], [409, 'webhook_disabled'])
      const other = await newWorld()
      for (const [at, key] of [
        [`${path}/dlv_x/retry`, keys.manager],
        [`${path}/${delivery.replace('dlv_', 'evt_')}/retry`, keys.manager],
        [`${path}/${other.delivery}/retry`, keys.manager],
        [`/webhooks/${newUuid()}/deliveries/${delivery}/retry`, keys.manager],
        [`${path}/${delivery}/retry`, other.keys.manager],
      ] as const)
        assert.equal((await vault.send('POST', at, { key })).status, 404, at)
      assert.equal((await vault.send('POST', `${path}/${delivery}/retry`, { key: keys.owner })).status, 403)
    })
  })
