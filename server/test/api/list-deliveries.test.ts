import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newUuid } from '../../src/crypto/uuid.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { putFailedDelivery, putWebhook, unreachable } from '../rig/put-webhook.ts'
import { webhookFor } from '../rig/receivers.ts'

onEveryEngine('failed deliveries', vault => {
  test('they are listed page by page, each with its attempts and when the next one comes (E5.1)', async () => {
    const { tenantId, keys } = await vault().tenant(ownerAndManager)
    const [webhook, other] = [newUuid(), newUuid()]
    for (const id of [webhook, other]) await putWebhook(vault(), tenantId, webhookFor(unreachable, id))
    const ids: string[] = []
    for (let at = 0; at < 5; at++) ids.push(await putFailedDelivery(vault(), tenantId, webhook))
    await putFailedDelivery(vault(), tenantId, other)
    const path = `/webhooks/${webhook}/deliveries`
    const whole = granted(await vault().get(path, keys.manager))
    assert.deepEqual(whole.pagination, { page_size: 100 })
    assert.deepEqual(
      whole.data.map(({ id }: { id: string }) => id),
      ids.sort(),
    )
    const [first] = whole.data
    const at = '2026-03-01T12:00:00.000+00:00'
    assert.deepEqual(first, {
      id: ids[0],
      event_id: ids[0]?.replace('dlv_', 'evt_'),
      type: 'token.deleted',
      attempts: [{ at, status: 500, error: 'status', ms: 12 }],
      next_attempt_at: '2026-03-01T12:00:05.000+00:00',
    })
    const pages: unknown[] = []
    for (let start: string | undefined = ''; start !== undefined; ) {
      const page = granted(await vault().get(`${path}?size=2&start=${start}`, keys.manager))
      pages.push(...page.data)
      start = page.pagination.next
    }
    assert.deepEqual(pages, whole.data)
    const { next } = granted(await vault().get(`${path}?size=2`, keys.manager)).pagination
    for (const wrong of [`${next}A`, 'x', next.slice(1)])
      assert.equal((await vault().get(`${path}?start=${wrong}`, keys.manager)).status, 400)
    assert.equal((await vault().get(`/webhooks/${other}/deliveries?start=${next}`, keys.manager)).status, 400)
    assert.equal((await vault().get(`/webhooks/${newUuid()}/deliveries`, keys.manager)).status, 404)
    const stranger = await vault().tenant(ownerAndManager)
    assert.equal((await vault().get(path, stranger.keys.manager)).status, 404)
  })
})
