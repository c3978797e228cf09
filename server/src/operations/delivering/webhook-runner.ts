import { typesMeant } from '../../domain/events/event-types.ts'
import { limits } from '../../domain/limits.ts'
import { describeError } from '../../domain/log.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { Attempt, FailedDelivery } from '../../domain/webhooks/delivery.ts'
import { hasFailedTooLong, nextAttemptAt } from '../../domain/webhooks/schedule.ts'
import type { Webhook } from '../../domain/webhooks/webhook.ts'
import type { StartedLogHead } from '../../store/port.ts'
import type { DeliveryRow } from '../../store/rows.ts'
import type { Effect } from '../../store/write-set.ts'
import { type EventPosition, newestPosition, type WriterPlace } from '../events/event-position.ts'
import { type PlacedEvent, readEvents } from '../events/read-events.ts'
import { jobAct } from '../log/acting.ts'
import type { LogOwner } from '../log/log-owner.ts'
import type { LogReader } from '../log/read-records.ts'
import type { Vault } from '../vault/vault.ts'
import { deliveryRow, openDelivery, openProgress, progressId, progressRow } from './delivery-rows.ts'
import type { DeliverySlots } from './delivery-slots.ts'
import { sendEvent } from './send-event.ts'

/** E4: deliveries of a webhook that are under way at a time; while there are new events, no more of these are repetitions. */
const inFlightMax = 8
const repeatedMax = 4
/** Events that are read at a time, and how many may wait behind one that is slow. */
const eventsAtATime = 64
const eventsMax = 512
/** A repetition is marked as under way for longer than one can take, so that it is known when its node has died. */
const busyMs = 20_000

const gone = 410

export type DisableReason = 'gone' | 'failing'

export type DeliveryRig = {
  readonly vault: Vault
  readonly slots: DeliverySlots
  readonly random: () => number
  readonly disable: (owner: LogOwner, webhookId: string, reason: DisableReason) => Promise<void>
}

type Item = PlacedEvent & { state: 'waiting' | 'flying' | 'settled' }

/** What is to be stored next. All of it goes into one write set: an event that failed is kept before the cursor passes it. */
type Dirt = { hasMoved: boolean; readonly kept: Map<string, Effect> }

/**
 * Delivers the events of one webhook. A cursor over the log says how far it has come; what could not be delivered is kept apart, and
 * repeated. Everything else is in memory, and found again by whoever takes over: so an event may be delivered twice, and none is lost.
 */
export class WebhookRunner {
  webhook: Webhook
  readonly #rig: DeliveryRig
  readonly #owner: LogOwner
  readonly #stopping = new AbortController()
  readonly #flights = new Set<Promise<void>>()
  /** Behind everything that was delivered or kept. */
  #position: Map<number, WriterPlace>
  #failingSince: Instant | undefined
  /** Events that were read and are not all settled, in order, and the position behind them. */
  #items: Item[] = []
  #readTo: EventPosition
  #heads: readonly StartedLogHead[] = []
  #isReading = false
  /** Failed events that are stored, or about to be. */
  #failed: number
  readonly #repeated = new Set<string>()
  #flying = 0
  #dirt: Dirt = { hasMoved: false, kept: new Map() }
  #isDisabled = false
  #complaint = ''
  /** Until the next look: what just could not be attempted must not be tried in a loop. */
  #isPaused = false

  private constructor(
    rig: DeliveryRig,
    owner: LogOwner,
    webhook: Webhook,
    state: { position: EventPosition; failingSince?: Instant | undefined; failed: number },
  ) {
    this.#rig = rig
    this.#owner = owner
    this.webhook = webhook
    this.#position = new Map(state.position)
    this.#readTo = state.position
    this.#failingSince = state.failingSince
    this.#failed = state.failed
  }

  /** Goes on where it was, or begins here if it is not known where that was. */
  static async start(rig: DeliveryRig, owner: LogOwner, webhook: Webhook): Promise<WebhookRunner> {
    const { vault } = rig
    const { tenantNumber } = owner
    const [row, failed] = await Promise.all([
      vault.store.getDelivery(tenantNumber, webhook.id, progressId),
      vault.store.countDeliveries(tenantNumber, webhook.id),
    ])
    if (row !== undefined)
      return new WebhookRunner(rig, owner, webhook, { ...openProgress(vault, owner, row), failed })
    const position = newestPosition(await vault.store.listLogHeads(tenantNumber))
    const runner = new WebhookRunner(rig, owner, webhook, { position, failed })
    runner.#dirt.hasMoved = true
    return runner
  }

  /** Resolves once nothing is under way. */
  async settled(): Promise<void> {
    while (this.#flights.size > 0) await Promise.all(this.#flights)
  }

  /** The log has come this far: goes on, if there is something to do. */
  look(heads: readonly StartedLogHead[]): void {
    this.#heads = heads
    this.#isPaused = false
    this.#goOn()
  }

  /** Attempts again what is due. It is marked as under way first, so that it can be told that it is. */
  async repeatDue(): Promise<void> {
    if (this.#failed === 0 || this.#isStopped) return
    const { vault } = this.#rig
    const { tenantNumber } = this.#owner
    const limit = Math.min(inFlightMax - this.#flying, this.#hasNew ? repeatedMax : inFlightMax)
    if (limit <= this.#repeated.size) return
    const now = vault.clock()
    const rows = await vault.store.listDueDeliveries(tenantNumber, this.webhook.id, now, inFlightMax)
    const due = rows
      .filter(({ id }) => !this.#repeated.has(id))
      .flatMap(row => this.#opened(row))
      .filter(({ delivery: { busyUntil = 0 } }) => busyUntil <= now)
      .slice(0, limit - this.#repeated.size)
    if (due.length === 0) return
    const marks = due.map(({ delivery }): Effect => {
      const busy = { ...delivery, busyUntil: now + busyMs }
      return { kind: 'putDelivery', row: this.#rowOf(busy, busy.busyUntil) }
    })
    await commitDeliveries(vault, this.#owner, marks)
    if (this.#isStopped) return
    for (const { row, delivery } of due)
      if (this.#rig.slots.take(tenantNumber)) this.#fly(this.#repeat(row, delivery))
  }

  /** A row that was changed in storage is left out, and holds up no other. */
  #opened(row: DeliveryRow): readonly { readonly row: DeliveryRow; readonly delivery: FailedDelivery }[] {
    try {
      return [{ row, delivery: openDelivery(this.#rig.vault, this.#owner, row) }]
    } catch (error) {
      if (!(error instanceof TamperedError)) throw error
      this.#complain(error)
      return []
    }
  }

  /** What is to be stored, and what to do once it is, or is not. */
  takeDirt(): { readonly effects: readonly Effect[]; readonly putBack: () => void } {
    const { hasMoved, kept } = this.#dirt
    const effects = [...kept.values()]
    if (hasMoved) {
      const progress = { position: this.#position, failingSince: this.#failingSince }
      const row = progressRow(this.#rig.vault, this.#owner, this.webhook.id, progress)
      effects.push({ kind: 'putDelivery', row })
    }
    this.#dirt = { hasMoved: false, kept: new Map() }
    const putBack = (): void => {
      this.#dirt.hasMoved ||= hasMoved
      for (const [id, effect] of kept) if (!this.#dirt.kept.has(id)) this.#dirt.kept.set(id, effect)
    }
    return { effects, putBack }
  }

  /** Begins nothing more. `now`: what is under way is broken off as well; otherwise it is waited for. */
  async stop({ now }: { readonly now: boolean }): Promise<void> {
    this.#stopping.abort()
    if (now) this.#breakOff.abort()
    await Promise.allSettled(this.#flights)
  }

  readonly #breakOff = new AbortController()

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted || this.#isDisabled
  }

  get #hasNew(): boolean {
    return this.#items.some(({ state }) => state === 'waiting')
  }

  #goOn(): void {
    if (this.#isStopped || this.#isPaused) return
    for (const item of this.#items) {
      if (this.#flying >= inFlightMax) return
      if (item.state !== 'waiting') continue
      if (!this.#rig.slots.take(this.#owner.tenantNumber)) return
      this.#fly(this.#tell(item))
    }
    if (!this.#isReading && this.#mayRead) this.#read()
  }

  get #mayRead(): boolean {
    return (
      this.#items.length < eventsMax &&
      this.#items.every(({ state }) => state !== 'waiting') &&
      this.#roomForFailed > 0 &&
      this.#heads.some(({ writer, size }) => (this.#readTo.get(writer)?.next ?? 0) < size)
    )
  }

  /** Everything that was read may fail. */
  get #roomForFailed(): number {
    return (
      limits.failedDeliveries - this.#failed - this.#items.filter(({ state }) => state !== 'settled').length
    )
  }

  #read(): void {
    this.#isReading = true
    const reading = this.#readOn().catch((error: unknown) => {
      // The next look tries again, not the next moment.
      this.#heads = []
      this.#complain(error)
    })
    this.#fly(
      reading.finally(() => {
        this.#isReading = false
      }),
      false,
    )
  }

  async #readOn(): Promise<void> {
    const { vault } = this.#rig
    const meant = typesMeant(this.webhook.events)
    const work = vault.scheduler.background('webhooks')
    // Whoever gets events has asked for them, which was recorded; nothing is read here by anybody.
    const reader: LogReader = {
      ...this.#owner,
      work,
      act: jobAct({ operation: 'deliver', entityType: 'log' }),
    }
    try {
      const { events, position } = await readEvents(vault, reader, {
        from: this.#readTo,
        heads: this.#heads,
        size: Math.min(eventsAtATime, this.#roomForFailed),
        isMeant: ({ type }) => meant.has(type),
      })
      for (const event of events) this.#items.push({ ...event, state: 'waiting' })
      this.#readTo = position
      this.#advance()
    } finally {
      work.end()
    }
  }

  /** `isDelivery`: it counts as one that is in flight. */
  #fly(flight: Promise<void>, isDelivery = true): void {
    if (isDelivery) this.#flying++
    const landed = flight.finally(() => {
      this.#flights.delete(landed)
      if (isDelivery) {
        this.#flying--
        this.#rig.slots.give(this.#owner.tenantNumber)
      }
      this.#goOn()
    })
    this.#flights.add(landed)
  }

  async #tell(item: Item): Promise<void> {
    item.state = 'flying'
    const attempt = await this.#attempt(item.event, 0)
    if (attempt === undefined) {
      item.state = 'waiting'
      return
    }
    if (attempt.isDelivered) this.#succeed()
    else {
      this.#failed++
      this.#keep({ event: item.event, attempts: [attempt.made] }, attempt.next)
    }
    item.state = 'settled'
    this.#advance()
  }

  async #repeat({ id }: DeliveryRow, delivery: FailedDelivery): Promise<void> {
    this.#repeated.add(id)
    try {
      const { event, attempts } = delivery
      const attempt = await this.#attempt(event, attempts.length)
      if (attempt === undefined) return
      if (attempt.isDelivered) {
        this.#succeed()
        this.#failed--
        this.#dirt.kept.set(id, { kind: 'dropDelivery', webhookId: this.webhook.id, id })
      } else this.#keep({ event, attempts: [...attempts, attempt.made] }, attempt.next)
    } finally {
      // Until it is stored how it went, it is under way by its mark.
      this.#repeated.delete(id)
    }
  }

  /** Undefined if it was broken off. */
  async #attempt(
    event: FailedDelivery['event'],
    before: number,
  ): Promise<{ isDelivered: boolean; made: Attempt; next: Instant | undefined } | undefined> {
    const { vault, random } = this.#rig
    const { clock, scheduler } = vault
    const work = scheduler.background('webhooks')
    try {
      await work.turn()
      if (this.#breakOff.signal.aborted || this.#isStopped) return undefined
      const sent = await sendEvent(vault, this.#owner, this.webhook, event, this.#breakOff.signal)
      if (sent === undefined) {
        this.#isPaused = true
        return undefined
      }
      const { retryAfterMs, ...made } = sent
      const endedAt = clock()
      const next = nextAttemptAt({ made: before + 1, endedAt, random: random(), retryAfterMs })
      if (sent.error === undefined) return { isDelivered: true, made, next: undefined }
      await this.#fail(endedAt, sent.status)
      return { isDelivered: false, made, next }
    } catch (error) {
      this.#isPaused = true
      this.#complain(error)
      return undefined
    } finally {
      work.end()
    }
  }

  /** Once, until it is something else: the same fault may come back each second. */
  #complain(error: unknown): void {
    const described = describeError(error)
    const text = JSON.stringify(described)
    if (text === this.#complaint) return
    this.#complaint = text
    this.#rig.vault.log.error({ webhook: this.webhook.id, ...described }, 'events are not delivered')
  }

  #succeed(): void {
    if (this.#failingSince === undefined) return
    this.#failingSince = undefined
    this.#dirt.hasMoved = true
  }

  async #fail(now: Instant, status: number | undefined): Promise<void> {
    if (this.#failingSince === undefined) {
      this.#failingSince = now
      this.#dirt.hasMoved = true
    }
    const reason =
      status === gone ? 'gone' : hasFailedTooLong(this.#failingSince, now) ? 'failing' : undefined
    if (reason === undefined || this.#isDisabled) return
    this.#isDisabled = true
    try {
      await this.#rig.disable(this.#owner, this.webhook.id, reason)
    } catch (error) {
      // The next failure tries again.
      this.#isDisabled = false
      this.#complain(error)
    }
  }

  #keep(delivery: FailedDelivery, next: Instant | undefined): void {
    const row = this.#rowOf(delivery, next)
    this.#dirt.kept.set(row.id, { kind: 'putDelivery', row })
  }

  #rowOf(delivery: FailedDelivery, dueAt: Instant | undefined): ReturnType<typeof deliveryRow> {
    return deliveryRow(this.#rig.vault, this.#owner, this.webhook.id, delivery, dueAt)
  }

  /** The cursor goes behind what is settled, up to the first event that is not. */
  #advance(): void {
    let settled = 0
    for (const { state, writer, behind } of this.#items) {
      if (state !== 'settled') break
      this.#position.set(writer, behind)
      settled++
    }
    if (settled > 0) this.#items = this.#items.slice(settled)
    if (this.#items.length === 0 && !samePosition(this.#position, this.#readTo)) {
      this.#position = new Map(this.#readTo)
      settled++
    }
    if (settled > 0) this.#dirt.hasMoved = true
  }
}

const samePosition = (one: EventPosition, other: EventPosition): boolean =>
  one.size === other.size &&
  [...one].every(([writer, { next, told }]) => {
    const place = other.get(writer)
    return place?.next === next && place.told === told
  })

/** What is kept of deliveries is bookkeeping, and no act. */
export const commitDeliveries = async (
  { store }: Pick<Vault, 'store'>,
  { tenantNumber }: LogOwner,
  effects: readonly Effect[],
): Promise<boolean> => {
  const outcome = await store.commit({ tenant: tenantNumber, guarded: [], effects, counters: [], log: null })
  return outcome.committed
}
