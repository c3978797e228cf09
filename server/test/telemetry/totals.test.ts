import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Counted, CountTeller, WorkerCounts } from '../../src/cli/workers/worker-counts.ts'
import { type Family, Meters } from '../../src/telemetry/meters.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { Totals } from '../../src/telemetry/totals.ts'
import { Scrape } from '../rig/scrape.ts'

const family = (name: string, more: Partial<Family> = {}): Family => ({
  name,
  type: 'counter',
  help: 'Help.',
  combine: 'sum',
  scale: 1,
  bounds: [],
  by: [],
  ...more,
})

const families = {
  seen: family('seen_total', { by: ['colour'] }),
  took: family('took_seconds', { type: 'histogram', scale: 1e6, bounds: [0.001, 0.01] }),
  open: family('open', { type: 'gauge' }),
  worst: family('worst', { type: 'gauge', combine: 'max' }),
  latest: family('latest', { type: 'gauge', combine: 'latest' }),
  unset: family('unset', { type: 'gauge', combine: 'min' }),
}
const colours = { colour: ['colour="red"', 'colour="blue"'] }
const counted = () => new Meters(families, colours)
const textOf = (...all: ReturnType<typeof counted>[]): string => {
  const totals = new Totals()
  for (const meters of all) totals.add(meters)
  return totals.text
}

describe('totals', () => {
  test('values of several processes become one as their family says, and a gauge that nobody set is not shown (docs/watching.md)', () => {
    const [one, two] = [counted(), counted()]
    one.counter('seen', 0).add()
    two.counter('seen', 0).add(2)
    two.counter('seen', 1).add()
    for (const ms of [0.5, 1, 5, 50]) one.histogram('took').observeMs(ms)
    two.histogram('took').observeMs(0.25)
    for (const [meters, value] of [
      [one, 3],
      [two, 4],
    ] as const)
      for (const name of ['open', 'worst', 'latest'] as const) meters.gauge(name).set(value)
    assert.equal(
      textOf(one, two),
      `# HELP seen_total Help.
# TYPE seen_total counter
seen_total{colour="red"} 3
seen_total{colour="blue"} 1
# HELP took_seconds Help.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.001"} 3
took_seconds_bucket{le="0.01"} 4
took_seconds_bucket{le="+Inf"} 5
took_seconds_sum 0.05675
took_seconds_count 5
# HELP open Help.
# TYPE open gauge
open 7
# HELP worst Help.
# TYPE worst gauge
worst 4
# HELP latest Help.
# TYPE latest gauge
latest 4
# HELP unset Help.
# TYPE unset gauge
`,
    )
  })

  test('a sum of times does not depend on the order in which processes are added (docs/watching.md)', () => {
    const all = Array.from({ length: 40 }, (_, n) => Math.PI ** (n / 2 - 6)).map(ms => {
      const meters = counted()
      meters.histogram('took').observeMs(ms)
      return meters
    })
    assert.equal(textOf(...all), textOf(...all.toReversed()))
  })

  test('a label cannot be made up (docs/watching.md)', () => {
    for (const at of [-1, 2]) assert.throws(() => counted().counter('seen', at), /no such colour/)
    assert.throws(() => counted().counter('seen'), /no such colour/)
  })

  test('a process of another release is added by the names of what it counts (docs/watching.md)', () => {
    const older = counted()
    older.counter('seen', 1).add()
    const newer = new Meters(
      {
        fresh: family('fresh_total'),
        seen: family('seen_total', { by: ['colour'] }),
        took: family('took_seconds', { type: 'histogram', scale: 1e6, bounds: [1] }),
      },
      { colour: ['colour="green"', 'colour="blue"'] },
    )
    newer.counter('seen', 1).add()
    newer.counter('fresh').add()
    newer.histogram('took').observe(1)
    const totals = new Totals()
    for (const meters of [older, newer]) totals.add(meters)
    const scrape = new Scrape(totals.text)
    assert.equal(scrape.sum('seen_total', { colour: 'blue' }), 2)
    assert.equal(scrape.sum('seen_total', { colour: 'green' }), 0)
    assert.equal(scrape.sum('fresh_total'), 1)
    assert.equal(scrape.sum('took_seconds_count'), 0)
  })
})

describe('counts of workers', () => {
  type Worker = { readonly telemetry: Telemetry; readonly teller: CountTeller; isSilent: boolean }

  const start = () => {
    const counts = new WorkerCounts<Worker>((worker, { countNow }) => {
      if (!worker.isSilent) worker.teller.tell(countNow)
    })
    const worker = () => {
      const telemetry = new Telemetry()
      const meters = telemetry.add(families, colours)
      const made: Worker & { meters: typeof meters } = {
        telemetry,
        meters,
        isSilent: false,
        teller: new CountTeller(telemetry, (message: Counted) =>
          counts.heard(made, structuredClone(message)),
        ),
      }
      made.teller.tell()
      return made
    }
    /** Undefined if there is no such series. */
    const sum = (name: string): number | undefined => {
      const scrape = new Scrape(counts.total([]).text)
      return scrape.names.has(name) ? scrape.sum(name) : undefined
    }
    return { counts, worker, sum }
  }

  test('what a worker counted stays when it is gone; what it was like does not (docs/watching.md)', async () => {
    const { counts, worker, sum } = start()
    const [one, two] = [worker(), worker()]
    for (const { meters } of [one, two]) {
      meters.counter('seen', 0).add(5)
      meters.histogram('took').observeMs(1)
      for (const name of ['open', 'latest'] as const) meters.gauge(name).set(3)
    }
    assert.equal(await counts.ask(), 0)
    const seen = () => ['seen_total', 'took_seconds_count', 'open', 'latest'].map(sum)
    assert.deepEqual(seen(), [10, 2, 6, 3])
    counts.left(one)
    assert.deepEqual(seen(), [10, 2, 3, 3])
    counts.left(two)
    assert.deepEqual(seen(), [10, 2, undefined, 3])
  })

  test('a question is answered by what was counted after it, not by a message on its way (docs/watching.md)', async () => {
    const { counts, worker, sum } = start()
    const one = worker()
    one.isSilent = true
    const asking = counts.ask(60_000)
    one.meters.counter('seen', 0).add()
    one.teller.tell()
    let isAnswered = false
    void asking.then(() => {
      isAnswered = true
    })
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(isAnswered, false)
    one.teller.tell(1)
    assert.equal(await asking, 0)
    assert.equal(sum('seen_total'), 1)
  })

  test('nobody waits for a worker that hangs or leaves (docs/watching.md)', async () => {
    const { counts, worker, sum } = start()
    const [one, two] = [worker(), worker()]
    one.meters.counter('seen', 0).add()
    one.teller.tell()
    for (const each of [one, two]) each.isSilent = true
    assert.equal(await counts.ask(1), 2)
    const asking = counts.ask(60_000)
    counts.left(one)
    two.teller.tell(2)
    assert.equal(await asking, 0)
    assert.equal(sum('seen_total'), 1)
  })
})
