import type { LogSeal } from '../../crypto/log-seal.ts'
import { fillRandom } from '../../crypto/random.ts'
import { type Act, recordsOf } from '../../domain/acts/act.ts'
import { BlockRecords, type LogRecord, recordsIn } from '../../domain/acts/block.ts'
import { type RecordIdBase, recordIdBase, recordIds } from '../../domain/acts/record-id.ts'
import type { Instant } from '../../domain/time/instant.ts'
import { type Store, StoreUnavailableError } from '../../store/port.ts'
import type { LogBlockRow } from '../../store/rows.ts'
import type { LogPart } from '../../store/write-set.ts'
import { ActsPart, bytesOf } from './acts-part.ts'
import { type LogOwner, theOperator } from './log-owner.ts'
import { MergedRefusals } from './merged-refusals.ts'

/** How long a record that nobody waits for may wait for others to share a block with. */
const windowMs = 100
/** How soon records that storage refused are tried again. */
const retryMs = 250
/** A tenant is answered nothing more once a record of its has waited this long, or this many bytes wait. */
const waitsMaxMs = 5_000
const waitingBytesMax = 16 << 20
/** The window ends early once this much waits, so that no block takes long to seal. */
const earlyBytes = 1 << 19
/** Acts in one commit. */
const actsPerPart = 512

/** Acts of one log that wait for their window to end. */
type Line = {
  readonly owner: LogOwner
  acts: Act[]
  bytes: number
  /** Acts that are being committed now. */
  underWay: Act[]
  flushing: Promise<void> | undefined
  hasFailed: boolean
}

/**
 * The one way into the log. A write's record goes with its write set (`partOf`). An answer in the clear waits for its record
 * (`record`). All other records are collected for a moment and stored as one block (`note`). If a tenant's records cannot be stored,
 * the tenant is answered nothing until they are (L1).
 */
export class ActLog {
  readonly #store: Pick<Store, 'commit'>
  readonly #seal: LogSeal
  readonly #clock: () => Instant
  readonly #base: RecordIdBase
  readonly #recordIdOf: ReturnType<typeof recordIds>
  readonly #lines = new Map<number, Line>()
  readonly #refusals = new MergedRefusals()
  /** Lines that storage refused, or that are long: only these are looked at before each request. */
  readonly #troubled = new Set<Line>()
  #number = 0
  #timer: NodeJS.Timeout | undefined

  constructor({
    store,
    seal,
    clock,
  }: {
    store: Pick<Store, 'commit'>
    seal: LogSeal
    clock: () => Instant
  }) {
    this.#store = store
    this.#seal = seal
    this.#clock = clock
    const random = Buffer.alloc(8)
    fillRandom(random)
    this.#base = recordIdBase(random)
    this.#recordIdOf = recordIds(this.#base)
  }

  get seal(): LogSeal {
    return this.#seal
  }

  /** The records of a stored block. Throws a TamperedError if it is not of this log. */
  recordsIn({ keys: { tenantId } }: LogOwner, block: LogBlockRow): LogRecord[] {
    return recordsIn(this.#seal.open(tenantId, block), { ...block, tenantId })
  }

  /** The same, for who does not need all of them at once. */
  open({ keys: { tenantId } }: LogOwner, block: LogBlockRow): Pick<BlockRecords, 'length' | 'at'> {
    return new BlockRecords(this.#seal.open(tenantId, block), { ...block, tenantId })
  }

  /** What a write set adds to the log for these acts. */
  partOf(owner: LogOwner, ...acts: Act[]): LogPart {
    for (const act of acts) this.#stamp(act)
    return this.#part(owner, acts)
  }

  /** Resolves once the act's record is durable. */
  async record(owner: LogOwner, act: Act): Promise<void> {
    if (this.#lines.get(owner.tenantNumber)?.hasFailed)
      throw new StoreUnavailableError('the record was not stored', { outage: 'the log cannot be stored' })
    this.#stamp(act)
    await this.#commit(owner, [act])
    act.isRecorded = true
    act.isDurable = true
  }

  /** The act's record becomes durable soon, and nobody waits for it. */
  note(owner: LogOwner, act: Act): void {
    this.#stamp(act)
    act.isRecorded = true
    this.#add(owner, act)
  }

  /** A refusal. Those that name no token are merged, second by second. */
  noteRefusal(owner: LogOwner, act: Act): void {
    act.isRecorded = true
    if (act.entityId !== undefined) {
      this.#stamp(act)
      this.#add(owner, act)
      return
    }
    act.at = this.#clock()
    for (const due of this.#refusals.add(owner, act)) this.#addNumbered(due.owner, due.act)
    this.#schedule(windowMs)
  }

  /** The id of an act's record: what a caller may keep as a receipt. */
  idOf({ at, number }: Act): string {
    return this.#recordIdOf(at, number)
  }

  /** Throws if the tenant's records cannot be stored (503). */
  requireOpen(tenantNumber: number): void {
    if (this.#troubled.size > 0 && this.isClosed(tenantNumber))
      throw new StoreUnavailableError('the tenant is not served', { outage: 'its log cannot be stored' })
  }

  isClosed(tenantNumber: number): boolean {
    const line = this.#lines.get(tenantNumber)
    if (line === undefined) return false
    const oldest = line.underWay[0] ?? line.acts[0]
    return (
      line.bytes > waitingBytesMax ||
      (line.hasFailed && oldest !== undefined && this.#clock() - oldest.at > waitsMaxMs)
    )
  }

  /** Whether no log can be stored: nothing that waits gets in. */
  get isStuck(): boolean {
    if (this.#troubled.size === 0) return false
    for (const { owner } of this.#lines.values()) if (!this.isClosed(owner.tenantNumber)) return false
    return true
  }

  /** Stores what waits, merged refusals of this second too if `all`. Throws if storage refuses some. */
  async flush({ all = true } = {}): Promise<void> {
    for (const { owner, act } of all ? this.#refusals.takeAll() : this.#refusals.takeDue(this.#clock()))
      this.#addNumbered(owner, act)
    const outcomes = await Promise.allSettled([...this.#lines.values()].map(line => this.#flush(line)))
    const failed = outcomes.find(outcome => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  /** What is not durable yet. */
  get waiting(): {
    readonly records: number
    readonly bytes: number
    readonly oldestAt: Instant | undefined
  } {
    const sum = { records: 0, bytes: 0, oldestAt: undefined as Instant | undefined }
    for (const { acts, bytes, underWay } of this.#lines.values()) {
      sum.records += acts.length + underWay.length
      sum.bytes += bytes
      const at = (underWay[0] ?? acts[0])?.at
      if (at !== undefined && (sum.oldestAt === undefined || at < sum.oldestAt)) sum.oldestAt = at
    }
    return sum
  }

  #stamp(act: Act): void {
    act.at = this.#clock()
    this.#countOff(act)
  }

  #countOff(act: Act): void {
    act.number = this.#number
    this.#number = (this.#number + recordsOf(act)) >>> 0
  }

  #addNumbered(owner: LogOwner, act: Act): void {
    this.#countOff(act)
    this.#add(owner, act)
  }

  #add(owner: LogOwner, act: Act): void {
    const { tenantNumber } = owner
    let line = this.#lines.get(tenantNumber)
    if (line === undefined) {
      line = { owner, acts: [], bytes: 0, underWay: [], flushing: undefined, hasFailed: false }
      this.#lines.set(tenantNumber, line)
    }
    const last = line.acts.at(-1)
    if (owner === theOperator && last !== undefined && line.bytes > waitingBytesMax) {
      // Nobody is refused for the sake of the operator's log, so it must not fill memory while storage is away.
      last.says({ count: (last.details?.count ?? 1) + (act.details?.count ?? 1) })
      return
    }
    line.acts.push(act)
    line.bytes += bytesOf(act)
    if (line.bytes < earlyBytes) this.#schedule(windowMs)
    else {
      if (line.bytes > waitingBytesMax) this.#troubled.add(line)
      if (!line.hasFailed) this.#flush(line).catch(() => this.#schedule(retryMs))
    }
  }

  #schedule(ms: number): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.flush({ all: false }).then(
        () => {
          if (this.#refusals.size > 0) this.#schedule(windowMs)
        },
        () => this.#schedule(retryMs),
      )
    }, ms)
    this.#timer.unref()
  }

  /** One flush of a line at a time: whoever asks meanwhile waits for one that takes everything. */
  #flush(line: Line): Promise<void> {
    const again = (): Promise<void> => this.#flushOnce(line)
    if (line.flushing === undefined && line.acts.length === 0) {
      this.#lines.delete(line.owner.tenantNumber)
      return Promise.resolve()
    }
    const next = line.flushing === undefined ? again() : line.flushing.then(again, again)
    line.flushing = next
    const over = (): void => {
      if (line.flushing === next) line.flushing = undefined
    }
    next.then(over, over)
    return next
  }

  async #flushOnce(line: Line): Promise<void> {
    const { acts, owner } = line
    if (acts.length === 0) return
    line.acts = []
    line.underWay = acts
    const parts: Act[][] = []
    for (let at = 0; at < acts.length; at += actsPerPart) parts.push(acts.slice(at, at + actsPerPart))
    const outcomes = await Promise.allSettled(parts.map(part => this.#commit(owner, part)))
    const refused = parts.filter((_, at) => outcomes[at]?.status === 'rejected').flat()
    line.underWay = []
    line.acts = [...refused, ...line.acts]
    line.bytes = line.acts.reduce((bytes, act) => bytes + bytesOf(act), 0)
    line.hasFailed = refused.length > 0
    if (line.hasFailed || line.bytes > waitingBytesMax) this.#troubled.add(line)
    else this.#troubled.delete(line)
    const failed = outcomes.find(outcome => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async #commit(owner: LogOwner, acts: readonly Act[]): Promise<void> {
    const log = this.#part(owner, acts)
    await this.#store.commit({ tenant: owner.tenantNumber, guarded: [], effects: [], counters: [], log })
  }

  #part({ keys: { tenantId } }: LogOwner, acts: readonly Act[]): LogPart {
    return new ActsPart(acts, { tenantId, seal: this.#seal, base: this.#base })
  }
}
