import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogRecord } from '../../src/domain/acts/block.ts'
import {
  type LogReader,
  type LogStep,
  rangesWithin,
  readRecords,
} from '../../src/operations/log/read-records.ts'
import type { Vault } from '../../src/operations/vault/vault.ts'
import type { LogBlockRow } from '../../src/store/rows.ts'
import { endlessTurn, someAct } from '../rig/caller-of.ts'
import { Seeded } from '../rig/seeded.ts'

type Model = { readonly blocks: LogBlockRow[]; readonly records: Map<LogBlockRow, LogRecord[]> }

/** A number from 0 to 1. */
const seeded = (seed: number): (() => number) => {
  const numbers = new Seeded(seed)
  return () => numbers.below(1_000_000) / 1_000_000
}

const reader: LogReader = { tenantNumber: 1, keys: { tenantId: 't' }, work: endlessTurn, act: someAct() }
const sealedBytes = Buffer.alloc(500_000)
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Logs of several writers whose records are late by up to a few hours. */
const modelLog = (seed: number): Model => {
  const random = seeded(seed)
  const blocks: LogBlockRow[] = []
  const records = new Map<LogBlockRow, LogRecord[]>()
  for (let writer = 0; writer < 1 + Math.floor(random() * 4); writer++) {
    let committedAt = 1_000 * dayMs
    let first = 0
    for (let count = Math.floor(random() * 40); count > 0; count--) {
      committedAt += random() * dayMs
      const times = Array.from(
        { length: 1 + Math.floor(random() * 3) },
        () => Math.floor(committedAt) - Math.floor(random() ** 4 * 20 * hourMs),
      )
      const block: LogBlockRow = {
        tenant: 1,
        writer,
        first,
        records: times.length,
        kept: null,
        firstAt: Math.min(...times),
        lastAt: Math.max(...times),
        sealed: sealedBytes.subarray(0, Math.floor(random() * 500_000)),
      }
      blocks.push(block)
      records.set(
        block,
        times.map((at, index) => record(at, `${writer}.${block.first + index}`)),
      )
      first += times.length
    }
  }
  return { blocks, records }
}

const record = (at: number, sequence: string): LogRecord => ({
  id: `${at.toString(16).padStart(12, '0')} ${sequence}`,
  at: new Date(at).toISOString(),
  sequence,
  trace_id: '',
  actor: { type: 'job' },
  operation: '',
  result: 'allowed',
  entity_type: 'log',
})

/** Storage that keeps its promise (`Store.readLog`), and counts the blocks that are opened. */
const vaultWith = ({ blocks, records }: Model) => {
  const opened: LogBlockRow[] = []
  const readLog: Vault['store']['readLog'] = async (_tenant, cursors, { limit, backwards = false }) =>
    cursors.flatMap(({ writer, from }) => {
      const own = blocks.filter(block => block.writer === writer)
      return backwards
        ? own
            .filter(({ first }) => first < from)
            .toReversed()
            .slice(0, limit)
        : own.filter(({ first, records: count }) => first + count > from).slice(0, limit)
    })
  const open = (_owner: unknown, block: LogBlockRow): readonly LogRecord[] => {
    opened.push(block)
    return records.get(block) ?? []
  }
  return { vault: { store: { readLog }, acts: { open } } as unknown as Vault, opened }
}

const rangesOf = ({ blocks }: Model) =>
  [...Map.groupBy(blocks, ({ writer }) => writer)].map(([writer, own]) => ({
    writer,
    first: 0,
    end: own.reduce((sum, { records }) => sum + records, 0),
  }))

const read = async (...args: Parameters<typeof readRecords>): Promise<LogStep[]> => {
  const steps: LogStep[] = []
  for await (const run of readRecords(...args)) {
    assert.ok(run.length > 0)
    steps.push(...run)
  }
  return steps
}

const sequences = (steps: readonly LogStep[]): string[] =>
  steps.flatMap(({ record: own }) => own?.sequence ?? [])
const all = ({ records }: Model): string[] => [...records.values()].flat().map(({ sequence }) => sequence)

for (const backwards of [false, true])
  test(`every record is read once ${backwards ? 'downwards' : 'upwards'}, from wherever reading stopped (L5.3, L5.8)`, async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const model = modelLog(seed)
      const { vault } = vaultWith(model)
      const reading = { within: {}, backwards }
      const steps = await read(vault, reader, rangesOf(model), reading)
      assert.deepEqual(sequences(steps).sort(), all(model).sort())
      for (const { writer } of rangesOf(model)) {
        const own = steps.filter(step => step.writer === writer).map(({ record: found }) => found?.sequence)
        const ordered = all(model).filter(sequence => sequence.startsWith(`${writer}.`))
        assert.deepEqual(own, backwards ? ordered.toReversed() : ordered)
      }
      const stop = Math.floor(seeded(seed)() * steps.length)
      const position = new Map(steps.slice(0, stop).map(({ writer, next }) => [writer, next]))
      const rest = rangesOf(model).map(range => {
        const at = position.get(range.writer)
        if (at === undefined) return range
        return backwards ? { ...range, end: at } : { ...range, first: at }
      })
      const again = await read(vault, reader, rest, reading)
      assert.deepEqual(sequences(again).sort(), sequences(steps.slice(stop)).sort(), `seed ${seed}`)
    }
  })

for (const backwards of [false, true])
  test(`a time finds all of its records ${backwards ? 'downwards' : 'upwards'}, late ones too, and opens few others (L5.2)`, async () => {
    let [openedBlocks, neededBlocks] = [0, 0]
    for (let seed = 1; seed <= 200; seed++) {
      const model = modelLog(seed)
      const { vault, opened } = vaultWith(model)
      const random = seeded(seed + 1_000)
      const from = 1_000 * dayMs + Math.floor(random() * 20 * dayMs)
      const within = { from, until: from + Math.floor(random() * 3 * dayMs) }
      const reading = { within, backwards }
      const ranges = await rangesWithin(vault, reader, rangesOf(model), reading)
      const steps = await read(vault, reader, ranges, reading)
      const isMeant = ({ at }: LogRecord): boolean => Date.parse(at) >= from && Date.parse(at) < within.until
      const found = steps.flatMap(({ record: own }) =>
        own !== undefined && isMeant(own) ? [own.sequence] : [],
      )
      const expected = [...model.records.values()].flat().filter(isMeant)
      assert.deepEqual(found.sort(), expected.map(({ sequence }) => sequence).sort(), `seed ${seed}`)
      openedBlocks += opened.length
      neededBlocks += [...model.records.values()].filter(own => own.some(isMeant)).length
    }
    assert.ok(openedBlocks < 1.5 * neededBlocks, `${openedBlocks} opened, ${neededBlocks} needed`)
  })

test('writers are merged by time as far as their own order allows (L5.4)', async () => {
  const of = (writer: number, ...times: number[]): Model => {
    const block = {
      tenant: 1,
      writer,
      first: 0,
      records: times.length,
      kept: null,
      firstAt: Math.min(...times),
      lastAt: Math.max(...times),
      sealed: Buffer.alloc(1),
    }
    return {
      blocks: [block],
      records: new Map([[block, times.map((at, n) => record(at, `${writer}.${n}`))]]),
    }
  }
  const [one, two] = [of(0, 1, 4, 6, 5), of(7, 2, 3, 7)]
  const model = { blocks: [...one.blocks, ...two.blocks], records: new Map([...one.records, ...two.records]) }
  const { vault } = vaultWith(model)
  const order = async (backwards: boolean): Promise<string[]> =>
    sequences(await read(vault, reader, rangesOf(model), { within: {}, backwards }))
  assert.deepEqual(await order(false), ['0.0', '7.0', '7.1', '0.1', '0.2', '0.3', '7.2'])
  assert.deepEqual(await order(true), ['7.2', '0.3', '0.2', '0.1', '7.1', '7.0', '0.0'])
})
