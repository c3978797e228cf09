import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Announcement, Announcements } from '../../src/cli/workers/announcements.ts'
import { primaryServices } from '../../src/cli/workers/primary-services.ts'
import { readConfig } from '../../src/config/config.ts'

/** A worker as the primary sees it, which confirms what it is told. */
const worker = (services: ReturnType<typeof primaryServices>) => {
  const self = {
    heard: 0,
    send: ({ announcement }: Announcement) => {
      self.heard++
      void services.answer({ id: 0, service: 'heard', asked: announcement }, self)
    },
  }
  return self
}

test('a worker is told of changed grants by the others from the moment it joins until it is gone (C27.2)', async () => {
  const services = primaryServices(readConfig({ options: {}, environment: {} }))
  const [one, other, late] = [worker(services), worker(services), worker(services)]
  const join = (joining: typeof one) => services.answer({ id: 1, service: 'join', asked: undefined }, joining)
  const change = () => services.answer({ id: 2, service: 'tellGrantsChanged', asked: undefined }, one)
  const heard = () => [one, other, late].map(listener => listener.heard)

  await join(one)
  await join(other)
  await change()
  assert.deepEqual(heard(), [0, 1, 0])
  await join(late)
  await change()
  assert.deepEqual(heard(), [0, 2, 1])
  services.left(other)
  await change()
  assert.deepEqual(heard(), [0, 2, 2])
})

test('a worker that hangs holds up a change of grants for a second at most (C27.2)', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let isTold = false
  void new Announcements().tell([{ send: () => {} }]).then(() => {
    isTold = true
  })
  for (const [ms, isTime] of [
    [999, false],
    [1, true],
  ] as const) {
    t.mock.timers.tick(ms)
    await new Promise(setImmediate)
    assert.equal(isTold, isTime)
  }
})

test('a change of grants waits for no worker that is gone, and for none where there is no other (C27.2)', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const services = primaryServices(readConfig({ options: {}, environment: {} }))
  const [one, silent] = [worker(services), { send: () => {} }]
  const join = (joining: { send(announcement: Announcement): unknown }) =>
    services.answer({ id: 1, service: 'join', asked: undefined }, joining)
  const change = () => services.answer({ id: 2, service: 'tellGrantsChanged', asked: undefined }, one)

  await join(one)
  await change()
  await join(silent)
  const told = change()
  services.left(silent)
  await told
})
