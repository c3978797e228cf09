import type { Laid, Snapshot } from '../../telemetry/meters.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { Totals } from '../../telemetry/totals.ts'

/** What a worker has counted since its start. The layouts are in its first message. `asked` names the question that it answers. */
export type Counted = {
  readonly counted: readonly Float64Array[]
  readonly layouts?: readonly (readonly Laid[])[]
  readonly asked?: number
}

/** The primary asks what a worker has counted until now. */
export type CountNow = { readonly countNow: number }

/** How often a worker tells unasked, so that it takes only so much with it when it is killed. */
export const tellEveryMs = 500
/** A worker that does not answer by then is busy or hangs. What it said last is shown. */
export const answerMaxMs = 1_000

/** The worker's side: tells the primary what this process counts. */
export class CountTeller {
  readonly #telemetry: Telemetry
  readonly #send: (message: Counted) => void
  #layoutsAreKnown = false

  constructor(telemetry: Telemetry, send: (message: Counted) => void) {
    this.#telemetry = telemetry
    this.#send = send
    setInterval(() => this.tell(), tellEveryMs).unref()
  }

  tell(asked?: number): void {
    const snapshots = this.#telemetry.snapshots()
    this.#send({
      counted: snapshots.map(({ values }) => values),
      ...(!this.#layoutsAreKnown && { layouts: snapshots.map(({ layout }) => layout) }),
      ...(asked !== undefined && { asked }),
    })
    this.#layoutsAreKnown = true
  }
}

type Question<Worker> = { readonly id: number; readonly missing: Set<Worker>; readonly done: () => void }

/**
 * The primary's side: adds up what workers count. Totals, not differences, so a message that is lost or comes late takes nothing with
 * it. What a worker had counted stays when it is gone, so no counter falls when it is replaced.
 */
export class WorkerCounts<Worker extends object> {
  readonly #workers = new Map<Worker, Snapshot[]>()
  readonly #gone = new Totals()
  readonly #questions = new Set<Question<Worker>>()
  readonly #ask: (worker: Worker, message: CountNow) => void
  #lastId = 0

  constructor(ask: (worker: Worker, message: CountNow) => void) {
    this.#ask = ask
  }

  heard(worker: Worker, { counted, layouts, asked = 0 }: Counted): void {
    const known = layouts ?? this.#workers.get(worker)?.map(({ layout }) => layout)
    if (known === undefined) return
    this.#workers.set(
      worker,
      counted.map((values, at) => ({ layout: known[at] ?? [], values })),
    )
    for (const question of this.#questions) if (question.id <= asked) this.#answered(question, worker)
  }

  /** Its last message was heard. */
  left(worker: Worker): void {
    for (const snapshot of this.#workers.get(worker) ?? []) this.#gone.keep(snapshot)
    this.#workers.delete(worker)
    for (const question of this.#questions) this.#answered(question, worker)
  }

  /** Resolves with the number of workers that did not answer in time. */
  async ask(timeoutMs = answerMaxMs): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const question: Question<Worker> = {
      id: ++this.#lastId,
      missing: new Set(this.#workers.keys()),
      done: resolve,
    }
    this.#questions.add(question)
    const timer = setTimeout(resolve, timeoutMs)
    for (const worker of [...question.missing]) this.#ask(worker, { countNow: question.id })
    if (question.missing.size > 0) await promise
    clearTimeout(timer)
    this.#questions.delete(question)
    return question.missing.size
  }

  /** All workers, those that are gone too, and this process. */
  total(own: readonly Snapshot[]): Totals {
    const totals = new Totals(this.#gone)
    for (const snapshot of [...own, ...[...this.#workers.values()].flat()]) totals.add(snapshot)
    return totals
  }

  #answered({ missing, done }: Question<Worker>, worker: Worker): void {
    missing.delete(worker)
    if (missing.size === 0) done()
  }
}
