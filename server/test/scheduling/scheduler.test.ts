import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GoneError, Scheduler, type Work } from '../../src/scheduling/scheduler.ts'

/** A scheduler whose clock moves only with the work that is done. */
const start = (waitMaxMs = 1_000) => {
  let ms = 0
  const done: string[] = []
  const scheduler = new Scheduler({ now: () => ms, waitMaxMs })
  /** One request: a turn, then as many pieces of this length, each preceded by asking for a turn. */
  const request = async (work: Work, name: string, pieceMs: number, pieces = 1): Promise<void> => {
    try {
      for (let piece = 0; piece < pieces; piece++) {
        await work.turn()
        ms += pieceMs
        done.push(name)
      }
    } finally {
      work.end()
    }
  }
  return {
    scheduler,
    done,
    pass: (by: number) => {
      ms += by
    },
    ask: (tenant: string, key: string, pieceMs: number, pieces?: number) =>
      request(scheduler.work(tenant, key), `${tenant} ${key}`, pieceMs, pieces),
    background: (pieceMs: number, pieces?: number) =>
      request(scheduler.background('job'), 'job', pieceMs, pieces),
  }
}

const count = (done: readonly string[], name: string): number => done.filter(each => each === name).length

/** How many turns of others run between a request and its answer. */
const aheadOf = (done: readonly string[], since: number, name: string): number =>
  done.indexOf(name, since) - since

test('a request is next in line, however many of another tenant wait (C37.1)', async () => {
  const { ask, done } = start()
  const flood = Array.from({ length: 500 }, () => ask('loud', 'a', 1))
  while (count(done, 'loud a') < 100) await new Promise(setImmediate)
  const since = done.length
  await ask('quiet', 'a', 0.1)
  assert.ok(aheadOf(done, since, 'quiet a') <= 4, `${aheadOf(done, since, 'quiet a')} turns came first`)
  await Promise.all(flood)
})

test('within a tenant, a request of another key is next in line (C37.1)', async () => {
  const { ask, done } = start()
  const flood = Array.from({ length: 500 }, () => ask('shop', 'browser', 1))
  while (count(done, 'shop browser') < 100) await new Promise(setImmediate)
  const since = done.length
  await ask('shop', 'backend', 0.1)
  assert.ok(aheadOf(done, since, 'shop backend') <= 4)
  await Promise.all(flood)
})

test('tenants that want more than there is get the same time, whatever a request of theirs takes and however many keys they use (C37.1)', async () => {
  const { ask, done } = start(Number.POSITIVE_INFINITY)
  const works = [
    ...Array.from({ length: 1_200 }, () => ask('short', 'a', 0.5)),
    ...Array.from({ length: 600 }, (_, n) => ask('many', `${n % 3}`, 1)),
    ...Array.from({ length: 200 }, () => ask('long', 'a', 3)),
  ]
  while (done.length < 1_000) await new Promise(setImmediate)
  const time = (tenant: string, ms: number): number =>
    done.filter(name => name.startsWith(tenant)).length * ms
  const times = [time('short', 0.5), time('many', 1), time('long', 3)]
  assert.ok(Math.max(...times) < 1.2 * Math.min(...times), times.join())
  await Promise.all(works)
})

test('a tenant that has rested does not make up for it (C37.1)', async () => {
  const { ask, done, pass } = start(Number.POSITIVE_INFINITY)
  await ask('rested', 'a', 1)
  const busy = Array.from({ length: 400 }, () => ask('busy', 'a', 1))
  while (count(done, 'busy a') < 200) await new Promise(setImmediate)
  pass(1_000)
  const since = done.length
  const back = Array.from({ length: 200 }, () => ask('rested', 'a', 1))
  while (done.length < since + 100) await new Promise(setImmediate)
  assert.ok(count(done.slice(since), 'busy a') > 35)
  await Promise.all([...busy, ...back])
})

test('what takes long gives way after a slice, so that others are answered in between (C37.3)', async () => {
  const { ask, done } = start()
  const long = ask('one', 'a', 1, 100)
  const since = done.length
  const short = Array.from({ length: 5 }, () => ask('two', 'a', 0.1))
  await Promise.all(short)
  assert.ok(count(done.slice(since), 'one a') <= 10)
  await long
  assert.equal(count(done, 'one a'), 100)
})

test('a long request of a key does not keep its short ones waiting (C37.3)', async () => {
  const { ask, done } = start()
  const long = Array.from({ length: 3 }, () => ask('shop', 'a', 5, 50))
  while (done.length < 10) await new Promise(setImmediate)
  const since = done.length
  let short = 0
  await Promise.all(Array.from({ length: 5 }, () => ask('shop', 'a', 0.1).then(() => short++)))
  assert.equal(short, 5)
  assert.ok(done.length - since < 30, `${done.length - since} pieces`)
  await Promise.all(long)
})

test('whoever has the backlog is refused when a turn does not come in time, and nobody else (C37.2, C2.23)', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { ask, done, scheduler } = start(1_000)
  const flood = Promise.allSettled(Array.from({ length: 3_000 }, () => ask('loud', 'a', 2)))
  let answered = 0
  while (scheduler.state.waiting > 0 || done.length === 0) {
    await new Promise(setImmediate)
    t.mock.timers.tick(50)
    await ask('quiet', 'a', 0.1)
    answered++
  }
  const refused = (await flood).filter(({ status }) => status === 'rejected').length
  assert.ok(refused > 2_000 && refused < 3_000, `${refused} refused`)
  assert.equal(scheduler.state.refused, refused)
  assert.ok(answered > 10)
  assert.equal(scheduler.state.waiting, 0)
})

test('what has begun is carried through, however long it waits for its next turn (C37.2)', async t => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { ask, pass, done } = start(1_000)
  const long = ask('one', 'a', 6, 3)
  while (done.length === 0) await new Promise(setImmediate)
  pass(5_000)
  t.mock.timers.tick(50)
  await long
  assert.equal(done.length, 3)
})

test('what nobody waits for any more is not done (C37.5)', async () => {
  const { scheduler, done } = start()
  const work = scheduler.work('gone', 'a')
  const waiting = work.turn()
  work.cancel()
  await assert.rejects(async () => waiting, GoneError)
  assert.equal(scheduler.state.waiting, 0)
  assert.throws(() => work.turn(), GoneError)
  assert.equal(work.hasTurn, false)
  assert.deepEqual(done, [])
})

test('background work runs where nobody else wants to (C37.1)', async () => {
  const { ask, background, done } = start(Number.POSITIVE_INFINITY)
  const job = background(5, 200)
  const busy = Array.from({ length: 1_000 }, () => ask('busy', 'a', 1))
  await Promise.all(busy)
  assert.ok(count(done, 'job') <= 20, `${count(done, 'job')} pieces`)
  await job
  assert.equal(count(done, 'job'), 200)
})

test('turns of a key that takes long run alone; those of keys that do not share a group (C37.3)', async () => {
  const { scheduler, pass } = start(Number.POSITIVE_INFINITY)
  let groups: string[][] = []
  let group: string[] = []
  const run = async (tenant: string, ms: number): Promise<void> => {
    const work = scheduler.work(tenant, 'a')
    await work.turn()
    pass(ms)
    if (group.push(tenant) === 1)
      process.nextTick(() => {
        groups.push(group)
        group = []
      })
    work.end()
  }
  // They are known by what they have taken.
  for (let n = 0; n < 10; n++)
    await Promise.all(['slow', 'quick', 'fast'].map(name => run(name, name === 'slow' ? 2 : 0.02)))
  groups = []
  await Promise.all(
    Array.from({ length: 10 }, () => [run('slow', 2), run('quick', 0.02), run('fast', 0.02)]).flat(),
  )
  for (const each of groups) assert.ok(!each.includes('slow') || each.length === 1, each.join())
  assert.ok(groups.some(each => each.includes('quick') && each.includes('fast')))
})

test('a request whose key was not known is charged to it once it is (C37.1)', async () => {
  const { scheduler, ask, done } = start(Number.POSITIVE_INFINITY)
  const flood = Array.from({ length: 200 }, () => ask('loud', 'a', 1))
  while (done.length < 50) await new Promise(setImmediate)
  const work = scheduler.work('strangers', '192.0.2.1')
  await work.turn()
  work.chargeTo('loud', 'b')
  assert.equal(work.hasTurn, false)
  await work.turn()
  work.end()
  await Promise.all(flood)
})
