import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { readFeed } from '../rig/feed-pages.ts'

const hourMs = 3_600_000

onEveryEngine('an event', vault => {
  test('is found by its id at any age, as the feed shows it (E6.6)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    for (let at = 0; at < 6; at++) {
      granted(await vault().post('/tokenize', keys.owner, ['a', 'b', 'c']))
      vault().now += hourMs
    }
    const { events } = await readFeed(vault(), keys.manager)
    assert.equal(events.length, 18)
    for (const event of events)
      assert.deepEqual(granted(await vault().get(`/events/${event.id}`, keys.manager)), event)
  })

  test('is not found by another id, of another tenant, or where it may not be seen (E6.5, E6.6)', async () => {
    const one = await vault().tenant({
      ...ownerAndManager,
      elsewhere: {
        rules: [{ priority: 1, container: '/pci/', transform: 'mask', permissions: ['event:read'] }],
      },
    })
    const other = await vault().tenant(ownerAndManager)
    const { id } = await vault().create(one.keys.owner, { type: 'token', data: 'x' })
    await vault().get(`/tokens/${id}`, one.keys.owner)
    const [event] = (await readFeed(vault(), one.keys.manager)).events
    assert.ok(event)
    const digit = event.id.endsWith('0') ? '1' : '0'
    const near = `${event.id.slice(0, -1)}${digit}`
    for (const wrong of [`${event.id}-1`, `${event.id}-0`, near, event.id.slice(4), 'evt_', 'evt_x', 'x'])
      assert.equal((await vault().get(`/events/${wrong}`, one.keys.manager)).status, 404, wrong)
    assert.equal((await vault().get(`/events/${event.id}`, other.keys.manager)).status, 404)
    assert.equal((await vault().get(`/events/${event.id}`, one.keys.elsewhere)).status, 404)
    assert.equal((await vault().get(`/events/${event.id}`, one.keys.manager)).status, 200)
  })
})
