import type { LogRecord } from '../../domain/acts/block.ts'
import { dayMs, type InstantRange } from '../../domain/time/instant.ts'
import type { LogCursor } from '../../store/port.ts'
import type { LogBlockRow } from '../../store/rows.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import type { LogOwner } from './log-owner.ts'

/** Who reads a log: a caller reads its tenant's, the operator reads any. */
export type LogReader = LogOwner & Pick<Caller, 'work' | 'act'>

/** What to read of one writer: the records from `first` up to, and without, `end`. */
export type LogRange = { readonly writer: number; readonly first: number; readonly end: number }

/** One record, or a block that holds none of the time that is asked for. */
export type LogStep = {
  readonly writer: number
  /** Where reading its writer goes on: upwards from this number, or downwards from below it. */
  readonly next: number
  readonly record: LogRecord | undefined
}

type Reading = {
  readonly within: InstantRange
  readonly backwards: boolean
  /** By how much a record may have become durable after its act, for whoever looks close by first. */
  readonly lateMs?: number
}

/**
 * Nobody's record becomes durable a day after the act. Only reading by time relies on it: it finds its place among blocks by their
 * columns, and reads a day more at either end.
 */
const lateMaxMs = dayMs

/** Blocks that are read at a time: about this many bytes, and this many rows. */
const bytesAtATime = 1 << 20
const blocksAtATimeMax = 64
const blocksAtFirst = 4

/** Steps that are made before others get a turn. */
const stepsPerRun = 256

/**
 * Reads records by time: the writers are merged, and the records of each stay in the order of their numbers. Yields steps in runs,
 * and gives turns between runs and between blocks.
 */
export async function* readRecords(
  vault: Pick<Vault, 'store' | 'acts'>,
  reader: LogReader,
  ranges: readonly LogRange[],
  reading: Reading,
): AsyncGenerator<readonly LogStep[]> {
  const { tenantNumber, work } = reader
  const { backwards } = reading
  const writers = ranges.map(range => new WriterRecords(vault, reader, range, reading))
  let limit = blocksAtFirst
  while (true) {
    const hungry = writers.filter(({ needsBlocks }) => needsBlocks)
    if (hungry.length > 0) {
      const cursors = hungry.map(({ cursor }) => cursor)
      const blocks = await vault.store.readLog(tenantNumber, cursors, { limit, backwards })
      for (const writer of hungry) writer.take(blocks.filter(block => block.writer === writer.cursor.writer))
      limit = blocksLike(blocks, hungry.length)
    }
    for (const writer of writers)
      while (writer.needsOpening) {
        if (!work.hasTurn) await work.turn()
        writer.open()
      }
    if (writers.some(({ needsBlocks }) => needsBlocks)) continue
    const live = writers.filter(({ head }) => head !== undefined)
    if (live.length === 0) return
    if (!work.hasTurn) await work.turn()
    yield mergeRun(live, backwards)
  }
}

const blocksLike = (blocks: readonly LogBlockRow[], writers: number): number => {
  const bytes = blocks.reduce((sum, { sealed }) => sum + sealed.length, 0)
  const fitting = Math.floor((bytesAtATime * blocks.length) / Math.max(1, bytes) / writers)
  return Math.max(1, Math.min(fitting, blocksAtATimeMax))
}

/** Steps in order, until a writer has to open its next block. */
const mergeRun = (writers: readonly WriterRecords[], backwards: boolean): LogStep[] => {
  const run: LogStep[] = []
  while (run.length < stepsPerRun) {
    let first = writers[0]
    for (const writer of writers)
      if (first !== undefined && comesBefore(writer, first, backwards)) first = writer
    const step = first?.shift()
    if (step === undefined) break
    run.push(step)
    if (first?.head === undefined) break
  }
  return run
}

/** A block that is skipped goes first. */
const comesBefore = ({ head: one }: WriterRecords, { head: other }: WriterRecords, backwards: boolean) => {
  if (other?.record === undefined) return false
  if (one?.record === undefined) return true
  return backwards ? one.record.id > other.record.id : one.record.id < other.record.id
}

/** The records of one writer that were read and not yet taken. */
class WriterRecords {
  head: LogStep | undefined
  readonly #vault: Pick<Vault, 'acts'>
  readonly #reader: LogReader
  readonly #range: LogRange
  readonly #reading: Reading
  /** Where the blocks that were not read yet begin. */
  #from: number
  #blocks: LogBlockRow[] = []
  #opened: { readonly first: number; readonly records: ReturnType<Vault['acts']['open']> } | undefined
  #next = 0
  #isExhausted = false

  constructor(vault: Pick<Vault, 'acts'>, reader: LogReader, range: LogRange, reading: Reading) {
    this.#vault = vault
    this.#reader = reader
    this.#range = range
    this.#reading = reading
    this.#from = reading.backwards ? range.end : range.first
  }

  get cursor(): LogCursor {
    return { writer: this.#range.writer, from: this.#from }
  }

  get needsOpening(): boolean {
    return this.head === undefined && this.#blocks.length > 0
  }

  get needsBlocks(): boolean {
    const { first, end } = this.#range
    const isRead = this.#isExhausted || (this.#reading.backwards ? this.#from <= first : this.#from >= end)
    return this.head === undefined && this.#blocks.length === 0 && !isRead
  }

  take(blocks: readonly LogBlockRow[]): void {
    const last = blocks.at(-1)
    if (last === undefined) {
      this.#isExhausted = true
      return
    }
    this.#from = this.#reading.backwards ? last.first : last.first + last.records
    this.#blocks = [...blocks]
  }

  /** Opens a block, unless its times say that it holds nothing. */
  open(): void {
    const block = this.#blocks.shift()
    if (block === undefined) return
    const { backwards, within, lateMs = lateMaxMs } = this.#reading
    const { writer, first, end } = this.#range
    const until = block.first + block.records
    if (backwards ? isTooOld(block, within, lateMs) : isTooNew(block, within, lateMs)) {
      this.#isExhausted = true
      this.#blocks = []
    } else if (isTooOld(block, within) || isTooNew(block, within)) {
      this.head = { writer, next: backwards ? block.first : until, record: undefined }
    } else {
      this.#opened = { first: block.first, records: this.#vault.acts.open(this.#reader, block) }
      this.#next = backwards ? Math.min(until, end) - 1 : Math.max(block.first, first)
      this.#makeHead()
    }
  }

  shift(): LogStep | undefined {
    const { head } = this
    this.#makeHead()
    return head
  }

  #makeHead(): void {
    const { writer, first, end } = this.#range
    const number = this.#next
    const { first: from = end, records } = this.#opened ?? {}
    const record = number >= Math.max(first, from) && number < end ? records?.at(number - from) : undefined
    if (record === undefined) {
      this.head = undefined
      this.#opened = undefined
      return
    }
    const { backwards } = this.#reading
    this.#next += backwards ? -1 : 1
    this.head = { writer, next: backwards ? number : number + 1, record }
  }
}

/** Whether all its records, and those of earlier blocks if they were late by at most that, are before the time asked for. */
const isTooOld = ({ lastAt }: LogBlockRow, { from }: InstantRange, lateMs = 0): boolean =>
  from !== undefined && lastAt + lateMs < from

const isTooNew = ({ firstAt }: LogBlockRow, { until }: InstantRange, lateMs = 0): boolean =>
  until !== undefined && firstAt - lateMs >= until

/**
 * Leaves out what is surely too old, or too new, at the end where reading begins. A few blocks of each writer tell, because they were
 * made in the order of time, except for records that were late.
 */
export const rangesWithin = async (
  { store }: Pick<Vault, 'store'>,
  { tenantNumber, work }: LogReader,
  ranges: readonly LogRange[],
  { within, backwards, lateMs = lateMaxMs }: Reading,
): Promise<readonly LogRange[]> => {
  if ((backwards ? within.until : within.from) === undefined) return ranges
  // Between `low` and `high` is the first block that is not too old by far, or the first one that is too new by far.
  const searched = ranges.map(({ first, end }) => ({ low: first, high: end }))
  while (searched.some(({ low, high }) => low < high)) {
    if (!work.hasTurn) await work.turn()
    const asked = ranges.flatMap(({ writer }, index) => {
      const { low = 0, high = 0 } = searched[index] ?? {}
      return low < high ? [{ index, writer, from: Math.floor((low + high) / 2) }] : []
    })
    const blocks = await store.readLog(tenantNumber, asked, { limit: 1 })
    for (const { index, writer, from } of asked) {
      const block = blocks.find(found => found.writer === writer)
      const search = searched[index]
      if (search === undefined) continue
      if (block === undefined) search.high = from
      else if (backwards ? isTooNew(block, within, lateMs) : !isTooOld(block, within, lateMs))
        search.high = Math.min(from, block.first)
      else search.low = block.first + block.records
    }
  }
  return ranges.map((range, index) => {
    const { high = 0 } = searched[index] ?? {}
    return backwards
      ? { ...range, end: Math.max(range.first, Math.min(range.end, high)) }
      : { ...range, first: Math.min(range.end, Math.max(range.first, high)) }
  })
}
