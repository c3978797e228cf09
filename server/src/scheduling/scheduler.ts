import { VaultError } from '../domain/errors.ts'
import type { Counter, Histogram } from '../telemetry/meters.ts'

export type TurnMeters = { readonly wait: Histogram; readonly refused: Counter }

/**
 * The one way to the processor (C37). Every request and every background job is a `Work` that asks for turns. The scheduler gives
 * tenants equal shares of processor time, and within a tenant its keys:
 *
 *   arrival ─► Work.turn() ─► the queue of its key ─► a group of turns runs ─► measured, charged to its keys ─► …
 *
 * - **Fair.** Each tenant, and each key in it, has a virtual clock that advances by its measured time. The next turn goes to the
 *   tenant whose clock is furthest behind, and in it to the key whose clock is (start-time fair queueing). A tenant that was idle
 *   starts at the present, so nobody saves up time. Background work is charged twenty times over: it runs when nobody else waits.
 * - **In slices.** A work that has run for `sliceMs` gives way at its next `turn()`. Between two rounds the event loop reads
 *   sockets, so new requests and probes get in.
 * - **In groups.** Requests that advance together cost a third less than one after another, because the processor's caches already
 *   hold the code of each stage. Turns of keys with cheap turns share a group of about `groupMs`. A turn of any other key runs
 *   alone, so it is measured alone and delays only its own key.
 * - **Bounded.** A work that has not begun after `waitMaxMs` is refused (503). Only keys that ask for more than their share wait
 *   that long. The refusal comes late on purpose: after an early one, the client would ask again at once.
 * - **Only while somebody waits.** A cancelled work gets no further turn.
 *
 * Processes share nothing: each one is fair by itself. Figures: docs/decisions/0021-one-scheduler.md.
 */
export class Scheduler {
  readonly #now: () => number
  readonly #waitMaxMs: number
  readonly #meters: TurnMeters | undefined
  readonly #tenants = new Map<unknown, Share>()
  /** The tenants with waiting turns. */
  readonly #waiting: Share[] = []
  #present = 0
  #isRoundDue = false
  #expiry: NodeJS.Timeout | undefined
  #refused = 0
  /** The running slice. Works that hold a turn of it may go on. */
  #slice = 0
  #sliceBegan = 0
  #lastSlice = 0
  /** Connections since the last round. */
  #arrivals = 0
  #hurriedUntil = 0

  constructor({
    now = () => performance.now(),
    waitMaxMs = 1_000,
    meters,
  }: { now?: () => number; waitMaxMs?: number; meters?: TurnMeters } = {}) {
    this.#now = now
    this.#waitMaxMs = waitMaxMs
    this.#meters = meters
  }

  /** Work for an answer. It is charged to the key of the tenant, or, for strangers, to their address. */
  work(tenant: unknown, key: unknown): Work {
    return new Work(this, this.#queueOf(tenant, key))
  }

  /** Work that nobody waits for. */
  background(name: string): Work {
    return new Work(this, this.#queueOf(backgroundTenant, name))
  }

  /**
   * Notes a new connection. While many arrive, slices and rounds are short, because each iteration of the event loop accepts only
   * a few.
   */
  noteArrival(): void {
    if (++this.#arrivals >= crowd) this.#hurriedUntil = this.#now() + hurryMs
  }

  /** The running slice. Undefined between slices. */
  get slice(): number | undefined {
    return this.#slice === 0 ? undefined : this.#slice
  }

  /** How many turns wait and how many were refused, for tests and metrics. */
  get state(): { readonly waiting: number; readonly refused: number } {
    let waiting = 0
    for (const tenant of this.#waiting) for (const queue of tenant.waiting) waiting += queue.length
    return { waiting, refused: this.#refused }
  }

  /** @internal Whether the work's turn is not over yet. */
  holds(slice: number): boolean {
    if (slice === 0 || slice !== this.#slice) return false
    const now = this.#now()
    return now - this.#sliceBegan < (now < this.#hurriedUntil ? hurriedMs : sliceMs)
  }

  /** @internal */
  ask(work: Work): void {
    const { queue } = work
    const { tenant } = queue
    work.since = tenant.isBackground ? Number.POSITIVE_INFINITY : this.#now()
    if (queue.length === 0) {
      if (tenant.waiting.length === 0) {
        tenant.clock = Math.max(tenant.clock, this.#present)
        this.#waiting.push(tenant)
      }
      queue.clock = Math.max(queue.clock, tenant.present)
      tenant.waiting.push(queue)
    }
    queue.add(work)
    this.#plan()
  }

  /** @internal */
  withdraw(work: Work): void {
    const { queue } = work
    queue.remove(work)
    if (queue.length === 0) this.#rest(queue)
  }

  /** @internal */
  queueOf(tenant: unknown, key: unknown): Queue {
    return this.#queueOf(tenant, key)
  }

  #queueOf(tenantId: unknown, key: unknown): Queue {
    let tenant = this.#tenants.get(tenantId)
    if (tenant === undefined) {
      if (this.#tenants.size >= rememberedMax) this.#forgetIdle()
      tenant = new Share(tenantId, tenantId === backgroundTenant)
      this.#tenants.set(tenantId, tenant)
    }
    let queue = tenant.queues.get(key)
    if (queue === undefined) {
      if (tenant.queues.size >= rememberedMax) tenant.forgetIdle()
      queue = new Queue(tenant, key)
      tenant.queues.set(key, queue)
    }
    return queue
  }

  #forgetIdle(): void {
    for (const tenant of this.#tenants.values()) {
      tenant.forgetIdle()
      if (tenant.queues.size === 0) this.#tenants.delete(tenant.id)
    }
  }

  #rest(queue: Queue): void {
    const { tenant } = queue
    drop(tenant.waiting, queue)
    if (tenant.waiting.length === 0) drop(this.#waiting, tenant)
  }

  #plan(): void {
    if (this.#isRoundDue) return
    this.#isRoundDue = true
    setImmediate(() => this.#runGroup(this.#now()))
    this.#expiry ??= setInterval(() => this.#refuseLate(), expiryIntervalMs).unref()
  }

  /** Groups follow one another until the round is over. */
  #runGroup(roundBegan: number): void {
    this.#arrivals = 0
    const group = this.#take()
    this.#lastSlice++
    this.#slice = this.#lastSlice
    this.#sliceBegan = this.#now()
    for (const work of group) this.#start(work)
    // Promises resolve in microtasks. A tick that a microtask requests runs when no microtask is left: every work of the group
    // has then ended, or waits for something.
    queueMicrotask(() =>
      process.nextTick(() => {
        const now = this.#now()
        this.#slice = 0
        charge(group, now - this.#sliceBegan)
        if (this.#waiting.length === 0) this.#isRoundDue = false
        else if (now - roundBegan < (now < this.#hurriedUntil ? hurriedMs : roundMs))
          this.#runGroup(roundBegan)
        else setImmediate(() => this.#runGroup(this.#now()))
      }),
    )
  }

  #start(work: Work): void {
    // Background work waits for as long as there is other work.
    if (work.since !== Number.POSITIVE_INFINITY) this.#meters?.wait.observeMs(this.#sliceBegan - work.since)
    work.start(this.#slice)
  }

  #take(): Work[] {
    const group: Work[] = []
    let expectedMs = 0
    while (group.length < groupTurnsMax) {
      const tenant = furthestBehind(this.#waiting)
      const queue = tenant && furthestBehind(tenant.waiting)
      if (tenant === undefined || queue === undefined) break
      const joins = queue.isLight && expectedMs + queue.expectedMs <= groupMs
      if (group.length > 0 && !joins) break
      this.#present = tenant.clock
      tenant.present = queue.clock
      group.push(queue.take())
      if (queue.length === 0) this.#rest(queue)
      queue.pass(queue.expectedMs)
      expectedMs += queue.expectedMs
      if (!queue.isLight) break
    }
    return group
  }

  #refuseLate(): void {
    if (this.#waiting.length === 0) {
      clearInterval(this.#expiry)
      this.#expiry = undefined
      return
    }
    const before = this.#now() - this.#waitMaxMs
    for (const tenant of [...this.#waiting])
      for (const queue of [...tenant.waiting]) {
        for (let late = queue.takeLate(before); late !== undefined; late = queue.takeLate(before)) {
          this.#refused++
          this.#meters?.refused.add()
          late.refuse(new VaultError('overloaded'))
        }
        if (queue.length === 0) this.#rest(queue)
      }
  }
}

/** How long a work may run before it gives way, in a group with others or alone. */
const sliceMs = 5
/** The expected time of a group, and the most turns in one. */
const groupMs = 4
const groupTurnsMax = 32
/** How long groups follow one another before sockets are read again. */
const roundMs = 4
/** This many connections between two rounds are a crowd. Then slices and rounds are this short, for this long. */
const crowd = 8
const hurriedMs = 1
const hurryMs = 20
/** A turn that takes longer than this runs alone. */
const lightMs = 0.25
/** The expected time of a turn of an unknown key. It runs alone. */
const unknownMs = 0.5
/** If a group takes this long, and this many times what was expected, some work in it is not light. */
const overrunMs = 3
const overrunFactor = 4
const expiryIntervalMs = 50
/** What background work is charged per millisecond. */
const backgroundFactor = 20
/** How many idle tenants, and idle keys of a tenant, are remembered, so that their expected times are known. */
const rememberedMax = 10_000
/** How many begun works of one key may wait. Beyond this, they go on before new ones begin, because each holds memory. */
const begunMax = 8

const backgroundTenant = Symbol('background')

/** Thrown when nobody waits for the answer any more. */
export class GoneError extends Error {
  static {
    GoneError.prototype.name = 'GoneError'
  }
}

/** The work of one request or one job. Its turns are charged to the key that it came with. */
export class Work {
  /** @internal */ queue: Queue
  /** @internal Of which it has the turn: it may be charged to another from then on. */ turnOf: Queue
  /** @internal Since when it has waited for the turn it asks for. */ since = 0
  /** @internal */ hasBegun = false
  readonly #scheduler: Scheduler
  #slice = 0
  #isCancelled = false
  #resolve: (() => void) | undefined
  #reject: ((reason: Error) => void) | undefined

  constructor(scheduler: Scheduler, queue: Queue) {
    this.#scheduler = scheduler
    this.queue = queue
    this.turnOf = queue
    queue.works++
  }

  /**
   * Call before work begins, after every wait for something else, and between the parts of long work. Returns `undefined` while
   * the work may go on, otherwise a promise that resolves when it may. Throws or rejects if it may not: VaultError `overloaded`
   * if it waited too long to begin, GoneError if it was cancelled.
   */
  turn(): Promise<void> | undefined {
    if (this.#isCancelled) throw new GoneError()
    if (this.#scheduler.holds(this.#slice)) return undefined
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#scheduler.ask(this)
    })
  }

  /** For loops on a hot path: `if (!work.hasTurn) await work.turn()`. */
  get hasTurn(): boolean {
    return !this.#isCancelled && this.#scheduler.holds(this.#slice)
  }

  /** @internal Its turn has come. */
  start(slice: number): void {
    this.hasBegun = true
    this.turnOf = this.queue
    this.#slice = slice
    this.#resolve?.()
    this.#resolve = undefined
  }

  /** @internal */
  refuse(reason: Error): void {
    this.#resolve = undefined
    this.#reject?.(reason)
  }

  /** Charges the work to this key from now on, when the caller becomes known. */
  chargeTo(tenant: unknown, key: unknown): void {
    const queue = this.#scheduler.queueOf(tenant, key)
    if (queue === this.queue) return
    this.end()
    this.queue = queue
    queue.works++
    // The rest of its turn belongs to another queue.
    this.#slice = 0
  }

  cancel(): void {
    this.#isCancelled = true
    if (this.#resolve === undefined) return
    this.#scheduler.withdraw(this)
    this.refuse(new GoneError())
  }

  /** Call once, when the work is done. */
  end(): void {
    this.queue.works--
  }
}

/** The part of a work that operations see. */
export type Turns = Pick<Work, 'turn' | 'hasTurn'>

/** The waiting works of one key, and the time that its turns have taken. */
class Queue {
  readonly tenant: Share
  readonly key: unknown
  clock = 0
  /** Works that have not ended. */
  works = 0
  /** The expected time of a turn. */
  expectedMs = unknownMs
  isLight = false
  readonly #fresh = new Fifo<Work>()
  readonly #begun = new Fifo<Work>()
  #wasFresh = false

  constructor(tenant: Share, key: unknown) {
    this.tenant = tenant
    this.key = key
  }

  get length(): number {
    return this.#fresh.length + this.#begun.length
  }

  add(work: Work): void {
    if (work.hasBegun) this.#begun.push(work)
    else this.#fresh.push(work)
  }

  /** Begun and new works alternate, so that a long work of a key does not delay its short ones. */
  take(): Work {
    const isFresh =
      this.#begun.length === 0 || (!this.#wasFresh && this.#fresh.length > 0 && this.#begun.length < begunMax)
    this.#wasFresh = isFresh
    const work = isFresh ? this.#fresh.shift() : this.#begun.shift()
    if (work === undefined) throw new Error('an empty queue was asked for a turn')
    return work
  }

  takeLate(before: number): Work | undefined {
    return (this.#fresh.first?.since ?? Number.POSITIVE_INFINITY) < before ? this.#fresh.shift() : undefined
  }

  remove(work: Work): void {
    this.#fresh.remove(work)
    this.#begun.remove(work)
  }

  pass(ms: number): void {
    this.clock += ms
    this.tenant.clock += this.tenant.isBackground ? ms * backgroundFactor : ms
  }

  /** Rises by a factor of four at most, because the machine may have been busy with something else. Falls quickly. */
  learn(ms: number): void {
    this.expectedMs =
      ms > this.expectedMs ? Math.min(ms, 4 * this.expectedMs) : 0.7 * this.expectedMs + 0.3 * ms
    this.isLight = this.expectedMs < lightMs
  }
}

/** A tenant's share of the processor. */
class Share {
  readonly id: unknown
  readonly isBackground: boolean
  clock = 0
  /** The clock of the key that had the last turn. */
  present = 0
  readonly queues = new Map<unknown, Queue>()
  readonly waiting: Queue[] = []

  constructor(id: unknown, isBackground: boolean) {
    this.id = id
    this.isBackground = isBackground
  }

  forgetIdle(): void {
    for (const queue of this.queues.values()) if (queue.works === 0) this.queues.delete(queue.key)
  }
}

/** A queue that drops its first elements without moving the others each time. */
class Fifo<Item> {
  #items: (Item | undefined)[] = []
  #start = 0

  get length(): number {
    return this.#items.length - this.#start
  }

  get first(): Item | undefined {
    return this.#items[this.#start]
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  shift(): Item | undefined {
    const item = this.#items[this.#start]
    this.#items[this.#start] = undefined
    this.#start++
    if (this.#start > 64 && this.#start * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#start)
      this.#start = 0
    }
    return item
  }

  remove(item: Item): void {
    const at = this.#items.indexOf(item, this.#start)
    if (at !== -1) this.#items.splice(at, 1)
  }
}

/** Each work has paid its expected time in advance. Now it pays the difference, or gets it back. */
const charge = (group: readonly Work[], ms: number): void => {
  const [first] = group
  if (first === undefined) return
  const { turnOf: queue } = first
  if (group.every(work => work.turnOf === queue)) {
    queue.pass(ms - group.length * queue.expectedMs)
    queue.learn(ms / group.length)
    return
  }
  const expectedMs = group.reduce((sum, work) => sum + work.turnOf.expectedMs, 0)
  const isOverrun = ms > overrunMs && ms > overrunFactor * expectedMs
  for (const work of group) {
    work.turnOf.pass((work.turnOf.expectedMs * ms) / expectedMs - work.turnOf.expectedMs)
    if (isOverrun) work.turnOf.isLight = false
  }
}

const furthestBehind = <Clocked extends { readonly clock: number }>(
  waiting: readonly Clocked[],
): Clocked | undefined => {
  let least = waiting[0]
  for (const each of waiting) if (least === undefined || each.clock < least.clock) least = each
  return least
}

const drop = <Item>(items: Item[], item: Item): void => {
  const at = items.indexOf(item)
  const last = items.pop()
  if (at !== -1 && last !== undefined && at < items.length) items[at] = last
}
