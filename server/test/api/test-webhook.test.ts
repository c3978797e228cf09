import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newUuid } from '../../src/crypto/uuid.ts'
import { deliveryFaults } from '../../src/domain/webhooks/delivery.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { readFeed, typesOf } from '../rig/feed-pages.ts'
import { putWebhook } from '../rig/put-webhook.ts'
import { newSecret, type Receiver, Receivers, verify, webhookFor } from '../rig/receivers.ts'
import { TestVault } from '../rig/test-vault.ts'

describe('test a webhook', () => {
  let receivers: Receivers
  let receiver: Receiver
  let vault: TestVault
  let tenantId: string
  let keys: Record<keyof typeof ownerAndManager, string>
  before(async () => {
    receivers = await Receivers.start(1)
    ;[receiver] = receivers.all as [Receiver]
    vault = await TestVault.start({ now: Date.now(), settings: { outbound: receivers.outbound } })
    ;({ tenantId, keys } = await vault.tenant(ownerAndManager))
  })
  after(async () => {
    await vault.stop()
    receivers.stop()
  })

  const newWebhook = async (more: Parameters<typeof webhookFor>[2] = {}) => {
    const id = newUuid()
    receiver.take()
    receiver.answers(204)
    await putWebhook(vault, tenantId, webhookFor(receiver, id, more))
    return (headers: Record<string, string> = {}) =>
      vault.send('POST', `/webhooks/${id}/test`, { key: keys.manager, headers })
  }

  test('the receiver gets a signed event that the feed does not have, and the answer says how it went (E3.7, E4.1)', async () => {
    const secret = newSecret()
    const send = await newWebhook({ secret, status: 'disabled' })
    const { status, ms, ...rest } = granted(await send())
    assert.deepEqual([status, Number.isInteger(ms), rest], [204, true, {}])
    const [delivery] = receiver.take()
    assert.ok(delivery)
    verify(delivery, secret)
    assert.equal(delivery.event.type, 'webhook.test')
    assert.deepEqual(typesOf((await readFeed(vault, keys.manager)).events), [])
  })

  test('a test that fails is an answer too, says of what, and is not repeated (E3.7, E3.8)', async () => {
    const send = await newWebhook()
    receiver.answers(301, 'Location: https://hooks.partner.example/')
    const refused = granted(await send())
    assert.deepEqual([refused.status, refused.error], [301, 'status'])
    receiver.destination.reply = socket => socket.destroy()
    const broken = granted(await send())
    assert.deepEqual([broken.status, broken.error], [undefined, 'connect'])
    for (const answer of [refused, broken])
      assert.deepEqual(
        Object.keys(answer).filter(name => !['status', 'error'].includes(name)),
        ['ms'],
      )
    assert.deepEqual(typesOf((await readFeed(vault, keys.manager)).events), [])
    await vault.service.delivering.runAll()
    await vault.service.delivering.settled()
    assert.equal(receiver.deliveries.length, 2)
  })

  test('what a test failed of is told in a word (E3.8)', async () => {
    const { dns } = receivers
    const { port } = receiver.destination
    dns.set('inside.partner.example', { a: ['10.0.0.1'] })
    dns.set('other.partner.example', { a: ['127.0.0.1'] })
    dns.set('nobody.partner.example', 'nxdomain')
    for (const [name, fault] of [
      ['inside', 'address'],
      ['nobody', 'dns'],
      ['other', 'tls'],
    ] as const) {
      const send = await newWebhook({ url: `https://${name}.partner.example:${port}/` })
      assert.equal(granted(await send()).error, fault)
    }
    assert.deepEqual(deliveryFaults, ['address', 'dns', 'connect', 'tls', 'timeout', 'status'])
  })

  test('with an idempotency key it is sent once (E3.7, C33.1)', async () => {
    const send = await newWebhook()
    const headers = { 'svc-idempotency-key': 'once' }
    const [first, again] = [await send(headers), await send(headers)]
    assert.deepEqual([again.text, again.headers.get('idempotent-replayed')], [first.text, 'true'])
    assert.equal(receiver.deliveries.length, 1)
  })
})
