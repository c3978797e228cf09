import { traceFamilies } from './families.ts'
import type { Counter } from './meters.ts'
import type { Telemetry } from './telemetry.ts'

/** Whether a request is traced (OTEL_TRACES_SAMPLER). */
export type Sampling = {
  /** The share of requests that are traced where nobody has decided before us, from 0 to 1. */
  readonly ratio: number
  /** Whoever sends a `traceparent` has decided. */
  readonly followsParent: boolean
}

/** Part of what a request does. Times are those of `performance.now()`. */
export class Span {
  readonly name: string
  readonly id: string
  readonly parentId: string | undefined
  readonly begunAt: number
  endedAt: number | undefined

  constructor(name: string, id: string, parentId: string | undefined, begunAt: number) {
    this.name = name
    this.id = id
    this.parentId = parentId
    this.begunAt = begunAt
  }

  end(): void {
    this.endedAt ??= performance.now()
  }
}

export type TraceValue = string | number

/** The trace of one request that is sampled. For the others there is none. */
export class Trace {
  readonly id: string
  /** The request itself comes first. */
  readonly spans: Span[]
  /** Of the request's span: never a value that it brings, nor whose it is. */
  readonly attributes: Record<string, TraceValue> = {}
  hasFailed = false
  readonly #newId: () => string
  /** The innermost span that has not ended. */
  readonly #open: Span[]

  constructor(id: string, parentId: string | undefined, name: string, begunAt: number, newId: () => string) {
    const root = new Span(name, newId(), parentId, begunAt)
    this.id = id
    this.spans = [root]
    this.#open = [root]
    this.#newId = newId
  }

  /** Begins a part of what is under way. It ends at `end()`, or with what it is part of. */
  begin(name: string): Span {
    while (this.#open.length > 1 && this.#open.at(-1)?.endedAt !== undefined) this.#open.pop()
    const span = new Span(name, this.#newId(), this.#open.at(-1)?.id, performance.now())
    this.#open.push(span)
    this.spans.push(span)
    return span
  }

  /** What a request that this one leads to is told. */
  get traceparent(): string {
    return `00-${this.id}-${this.spans[0]?.id}-01`
  }

  /** The request is over, and so is all that it did. */
  end(): void {
    for (const span of this.spans) span.end()
  }
}

export type TraceCounters = Readonly<Record<keyof typeof traceFamilies, Counter>>

/** There also if nothing is traced. */
export const traceCounters = (telemetry: Telemetry): TraceCounters => {
  const meters = telemetry.add(traceFamilies)
  return {
    spans: meters.counter('spans'),
    dropped: meters.counter('dropped'),
    failures: meters.counter('failures'),
  }
}

/** Takes traces that are over. */
export type TraceSink = {
  /** No more are taken for now. */
  readonly isFull: boolean
  take(trace: Trace): void
}

/** Decides which requests are traced, before anything is made for it. */
export class Tracer {
  readonly #dropped: Counter
  readonly #sampling: Sampling
  readonly #sink: TraceSink
  readonly #fillRandom: (bytes: Uint8Array) => void
  readonly #threshold: number
  readonly #bytes = Buffer.alloc(16)
  readonly #newSpanId = (): string => {
    do this.#fillRandom(this.#bytes)
    while (this.#bytes.readUInt32BE(8) === 0)
    return this.#bytes.toString('hex', 8)
  }

  constructor(
    sampling: Sampling,
    {
      sink,
      counters,
      fillRandom,
    }: {
      readonly sink: TraceSink
      readonly counters: TraceCounters
      readonly fillRandom: (bytes: Uint8Array) => void
    },
  ) {
    this.#dropped = counters.dropped
    this.#sampling = sampling
    this.#sink = sink
    this.#fillRandom = fillRandom
    this.#threshold = sampling.ratio * 2 ** 32
  }

  /** Begins the trace of a request; undefined if it is not traced. `sent` is the caller's `traceparent`, if that is one. */
  begin(name: string, sent: string | undefined, begunAt: number): Trace | undefined {
    if (!this.#samples(sent)) return undefined
    if (this.#sink.isFull) {
      this.#dropped.add()
      return undefined
    }
    if (sent !== undefined)
      return new Trace(sent.slice(3, 35), sent.slice(36, 52), name, begunAt, this.#newSpanId)
    // The bytes that decided are part of the id, as whoever samples by the id expects.
    return new Trace(this.#bytes.toString('hex'), undefined, name, begunAt, this.#newSpanId)
  }

  end(trace: Trace): void {
    trace.end()
    this.#sink.take(trace)
  }

  #samples(sent: string | undefined): boolean {
    const { followsParent, ratio } = this.#sampling
    if (sent !== undefined && followsParent) return (Number.parseInt(sent.charAt(54), 16) & 1) === 1
    if (ratio === 0) return false
    if (sent !== undefined) return Number.parseInt(sent.slice(27, 35), 16) < this.#threshold
    this.#fillRandom(this.#bytes)
    return this.#bytes.readUInt32BE(12) < this.#threshold
  }
}

const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|-)/

/**
 * The `traceparent` of a request, or undefined if it has none that is one (W3C Trace Context). Versions after 00 may have more at the
 * end, which is left out.
 */
export const readTraceparent = (sent: string | readonly string[] | undefined): string | undefined => {
  if (typeof sent !== 'string' || !pattern.test(sent)) return undefined
  if (sent.length === traceparentLength) return sent
  return sent.startsWith('00') ? undefined : sent.slice(0, traceparentLength)
}
const traceparentLength = 55
