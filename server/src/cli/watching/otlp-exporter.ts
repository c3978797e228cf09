import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import about from '../../../package.json' with { type: 'json' }
import type { TracingConfig } from '../../config/tracing-config.ts'
import { fillRandom } from '../../crypto/random.ts'
import { newUuid } from '../../crypto/uuid.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { type Trace, type TraceCounters, Tracer, type TraceSink } from '../../telemetry/traces.ts'
import type { ProcessLog } from '../log.ts'
import { exportRequest } from './otlp.ts'

/** How long an ending process waits until its last spans are sent. */
const lastMs = 1_000
/** While the collector does not answer, it is asked this seldom. */
const restMaxMs = 60_000
/** How often the log says that it does not. */
const complaintEveryMs = 60_000

/**
 * Sends traces to the collector that the operator has named: nobody else decides what is called, so this is not the affair of
 * `outbound/`. A collector that does not answer costs nothing: what it does not take is dropped and counted, and once so many spans
 * wait, no request is traced. Load this file on demand: Node's HTTP takes 0.05 s to load.
 */
class OtlpExporter implements TraceSink {
  readonly #config: TracingConfig
  readonly #counters: TraceCounters
  readonly #log: ProcessLog
  readonly #resource: Record<string, string | number>
  readonly #agent: HttpAgent | HttpsAgent
  #traces: Trace[] = []
  #spans = 0
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #restMs: number
  #complainedAt = Number.NEGATIVE_INFINITY

  constructor(config: TracingConfig, counters: TraceCounters, log: ProcessLog) {
    this.#config = config
    this.#counters = counters
    this.#log = log
    this.#restMs = config.delayMs
    this.#resource = {
      'service.version': about.version,
      'service.instance.id': newUuid(),
      'process.pid': process.pid,
      ...config.resource,
    }
    const options = { keepAlive: true, maxSockets: 1 }
    this.#agent = config.url.protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options)
  }

  get isFull(): boolean {
    return this.#spans >= this.#config.queueMax
  }

  take(trace: Trace): void {
    this.#traces.push(trace)
    this.#spans += trace.spans.length
    this.#plan()
  }

  /** Sends what waits, and gives up soon. */
  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, lastMs)
    // What is under way was begun before the last traces came.
    await Promise.race([this.#send().then(() => this.#send()), promise])
    clearTimeout(timer)
    clearTimeout(this.#timer)
    this.#agent.destroy()
  }

  /** A full batch is sent at once, unless the last one was not taken. */
  #plan(): void {
    if (this.#spans === 0 || this.#sending !== undefined) return
    if (this.#spans >= this.#config.batchMax && this.#restMs === this.#config.delayMs) void this.#send()
    else this.#timer ??= setTimeout(() => void this.#send(), this.#restMs).unref()
  }

  /** One request at a time. */
  #send(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sending ??= this.#sendBatch().finally(() => {
      this.#sending = undefined
      this.#plan()
    })
    return this.#sending
  }

  async #sendBatch(): Promise<void> {
    const traces = this.#traces.splice(0, this.#batchLength())
    if (traces.length === 0) return
    const spans = traces.reduce((sum, trace) => sum + trace.spans.length, 0)
    try {
      await this.#post(exportRequest(this.#resource, about.version, traces))
      this.#counters.spans.add(spans)
      this.#restMs = this.#config.delayMs
    } catch (error) {
      this.#counters.failures.add()
      this.#counters.dropped.add(traces.length)
      this.#restMs = Math.min(Math.max(restMaxMs, this.#config.delayMs), 2 * this.#restMs)
      this.#complain(error)
    }
    this.#spans -= spans
  }

  #batchLength(): number {
    let spans = 0
    const end = this.#traces.findIndex(trace => {
      spans += trace.spans.length
      return spans >= this.#config.batchMax
    })
    return end === -1 ? this.#traces.length : end + 1
  }

  #post(body: string): Promise<void> {
    const { url, headers, timeoutMs } = this.#config
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    return new Promise((resolve, reject) => {
      const sent = request(
        url,
        {
          method: 'POST',
          agent: this.#agent,
          headers: {
            ...headers,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'user-agent': `strongroom/${about.version}`,
          },
          signal: AbortSignal.timeout(timeoutMs),
        },
        answer => {
          const { statusCode = 0 } = answer
          answer.resume()
          answer.once('error', reject)
          answer.once('end', () =>
            statusCode >= 200 && statusCode < 300 ? resolve() : reject(new RefusedError(statusCode)),
          )
        },
      )
      sent.once('error', reject)
      // The last words of an ending process are waited for elsewhere.
      sent.once('socket', socket => socket.unref())
      sent.end(body)
    })
  }

  #complain(error: unknown): void {
    if (performance.now() - this.#complainedAt < complaintEveryMs) return
    this.#complainedAt = performance.now()
    const reason = error instanceof RefusedError ? `status ${error.status}` : foreignCode(error)
    this.#log.warn(
      { reason, host: this.#config.url.host },
      'traces are dropped: the collector does not take them',
    )
  }
}

class RefusedError extends Error {
  readonly status: number

  constructor(status: number) {
    super('the collector refused spans')
    this.status = status
  }
}

/** Traces requests for this collector. */
export const tracerFor = (
  config: TracingConfig,
  counters: TraceCounters,
  log: ProcessLog,
): { readonly tracer: Tracer; close(): Promise<void> } => {
  const exporter = new OtlpExporter(config, counters, log)
  const tracer = new Tracer(config.sampling, { sink: exporter, counters, fillRandom })
  return { tracer, close: () => exporter.close() }
}
