import cluster, { type Worker } from 'node:cluster'
import type { Config } from '../../config/config.ts'
import { workerVariable } from '../../config/settings.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { canSharePorts } from '../../http/shared-port.ts'
import { Telemetry } from '../../telemetry/telemetry.ts'
import { baseUrl } from '../base-url.ts'
import { leaveLog, makeLog } from '../log.ts'
import { stopSignal } from '../signals.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { warnOfDatesInFiles, warnOfTls } from '../tls-warnings.ts'
import type { MetricsServer } from '../watching/metrics-server.ts'
import { type ProcessMeters, processMeters } from '../watching/process-meters.ts'
import { primaryServices, type Question } from './primary-services.ts'
import { restarts } from './restarts.ts'
import { askEveryMs, SignsOfLife, startMaxMs } from './signs-of-life.ts'
import type { Ping, Pong, WorkerReady, WorkerStart } from './worker.ts'
import { type Counted, WorkerCounts } from './worker-counts.ts'

/**
 * Runs `count` processes that share the port, until it is told to stop. Resolves with the exit code. Replaces a worker that dies.
 * A worker that loses the primary ends by itself.
 */
export const runWorkers = async (config: Config, count: number): Promise<number> => {
  // Where ports cannot be shared, workers accept connections from the primary's socket. If the primary handed out connections,
  // one could be on its way to a worker that is dying, and would be held open without an answer.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // `advanced`, because JSON cannot carry the bytes in write sets. The flag leaves no moment in which a signal could open a
  // debugger in a worker (bin/strongroom.js).
  cluster.setupPrimary({ serialization: 'advanced', execArgv: [...process.execArgv, '--disable-sigusr1'] })
  const primary = new Primary(config, count)
  await primary.serveMetrics()
  return primary.run()
}

type WorkerState = {
  readonly number: number
  readonly startedAt: number
  isReady: boolean
  missedRenewal: boolean
}

/** How long a drained worker may wait for storage with its last writes. */
const stopGraceMs = 30_000

class Primary {
  readonly #config: Config
  readonly #count: number
  readonly #log: ReturnType<typeof makeLog>
  readonly #services: ReturnType<typeof primaryServices>
  readonly #telemetry = new Telemetry()
  readonly #meters: ProcessMeters
  readonly #counts = new WorkerCounts<Worker>((worker, message) => {
    if (worker.isConnected()) worker.send(message, undefined, undefined, () => {})
  })
  #metrics: MetricsServer | undefined
  readonly #restarts = restarts()
  readonly #workers = new Map<Worker, WorkerState>()
  readonly #restartTimers = new Set<NodeJS.Timeout>()
  readonly #signs = new SignsOfLife<Worker>()
  #phase: 'first worker' | 'other workers' | 'running' | 'stopping' = 'first worker'
  #port: number
  #exitCode = 0
  #stopTimer: NodeJS.Timeout | undefined
  #resolve: (exitCode: number) => void = () => {}

  constructor(config: Config, count: number) {
    this.#config = config
    this.#count = count
    this.#port = config.port
    this.#log = makeLog(config)
    this.#services = primaryServices(config, this.#telemetry.writer)
    this.#meters = processMeters(this.#telemetry, config)
  }

  /** For all processes of the server, and as long as it runs, whatever becomes of its workers. */
  async serveMetrics(): Promise<void> {
    if (this.#config.metrics === undefined) return
    const { serveMetrics } = await import('../watching/metrics-server.ts')
    const read = async (): Promise<string> => {
      this.#meters.misses(await this.#counts.ask())
      return this.#counts.total(this.#telemetry.snapshots()).text
    }
    this.#metrics = await serveMetrics(this.#config.metrics, read, this.#log)
  }

  run(): Promise<number> {
    cluster.on('exit', (worker, code, signal) => this.#ended(worker, code, signal))
    stopSignal(['SIGINT', 'SIGTERM']).then(() => {
      this.#log.info({}, 'draining')
      this.#stop(0)
    })
    process.on('SIGHUP', () => this.#renewTls())
    setInterval(() => this.#endHanging(), askEveryMs).unref()
    this.#start(1)
    return new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  #start(number: number): void {
    const start: WorkerStart = {
      number,
      isFirst: this.#phase === 'first worker',
      address: { host: this.#config.host, port: this.#port, isShared: canSharePorts },
    }
    const state: WorkerState = {
      number,
      startedAt: performance.now(),
      isReady: false,
      missedRenewal: false,
    }
    let worker: Worker
    try {
      worker = cluster.fork({ [workerVariable]: JSON.stringify(start) })
    } catch (error) {
      this.#notStarted(state, error)
      return
    }
    this.#log.debug({ worker: number, pid: worker.process.pid }, 'a worker starts')
    this.#workers.set(worker, state)
    // The first worker may be busy with a migration, which may take any time.
    if (!start.isFirst) setTimeout(() => this.#endLate(worker), startMaxMs).unref()
    // Comes after its last message, also if the process has ended before that was read.
    worker.on('disconnect', () => this.#counts.left(worker))
    worker.on('message', async (message: Question | WorkerReady | Pong | Counted) => {
      if ('counted' in message) {
        this.#counts.heard(worker, message)
        this.#signs.heard(worker)
        return
      }
      // The worker has died, and would hold what it asked for in vain.
      if (!this.#workers.has(worker)) return
      this.#signs.heard(worker)
      if ('iAmHere' in message) return
      if ('port' in message) {
        this.#becameReady(worker, message.port)
        return
      }
      const answer = await this.#services.answer(message, worker)
      // A worker that has died meanwhile needs no answer.
      if (worker.isConnected()) worker.send(answer, undefined, undefined, () => {})
    })
    worker.on('error', error => {
      if (worker.process.pid === undefined && this.#workers.delete(worker)) this.#notStarted(state, error)
    })
  }

  /** The system started no process. Node reports some causes by an event and throws others, such as a lack of memory. */
  #notStarted(state: WorkerState, error: unknown): void {
    this.#log.error({ worker: state.number, reason: foreignCode(error) }, 'a worker cannot be started')
    this.#replace(state, 1, null)
  }

  #becameReady(worker: Worker, port: number): void {
    const state = this.#workers.get(worker)
    if (state === undefined) return
    state.isReady = true
    // For the other workers, if the system chooses the port. The primary's socket knows the port without this.
    if (canSharePorts) this.#port = port
    if (state.missedRenewal) worker.process.kill('SIGHUP')
    // The first worker prepares storage and proves that the settings work. Then the others start together.
    if (this.#phase === 'first worker') {
      this.#phase = 'other workers'
      for (let number = 2; number <= this.#count; number++) this.#start(number)
    }
    if (this.#phase !== 'other workers' || this.#readyCount() < this.#count) return
    this.#phase = 'running'
    warnOfTls(this.#config, this.#log)
    this.#log.info(
      {
        url: baseUrl(this.#config, port),
        storage: configuredStorage(this.#config).name,
        workers: this.#count,
      },
      'listening',
    )
  }

  #ended(worker: Worker, code: number | null, signal: string | null): void {
    const state = this.#workers.get(worker)
    this.#workers.delete(worker)
    this.#services.left(worker)
    if (state !== undefined) this.#replace(state, code, signal)
  }

  /** Starts a replacement, unless the server stops or no worker gets ready. */
  #replace(
    { number, startedAt, isReady: wasReady }: WorkerState,
    code: number | null,
    signal: string | null,
  ): void {
    if (this.#phase === 'stopping') {
      // A worker that was not ready to drain yet ends by the signal itself. That is no failure.
      if (code !== 0 && signal !== 'SIGTERM' && signal !== 'SIGINT') this.#exitCode ||= 1
      this.#finishOnceAlone()
      return
    }
    if (this.#phase !== 'running' && !wasReady && signal === null && this.#readyCount() === 0) {
      // The worker has reported the fault itself, in the words of a server that runs alone.
      this.#stop(code || 1)
      return
    }
    const lived = { livedMs: performance.now() - startedAt, wasReady }
    const waitMs = this.#restarts.ended(lived, { areReady: this.#readyCount() > 0 })
    if (waitMs === 'giveUp') {
      this.#log.error({ worker: number, code, signal }, 'giving up: no worker gets ready')
      this.#stop(1)
      return
    }
    this.#log.error({ worker: number, code, signal, wait_ms: waitMs }, 'a worker ended and is replaced')
    this.#meters.replacesWorker()
    const timer = setTimeout(() => {
      this.#restartTimers.delete(timer)
      this.#start(number)
    }, waitMs)
    this.#restartTimers.add(timer)
  }

  /** Otherwise it would stay for ever and answer nobody. */
  #endLate(worker: Worker): void {
    const state = this.#workers.get(worker)
    if (state === undefined || state.isReady || this.#phase === 'stopping') return
    this.#log.error({ worker: state.number }, 'a worker does not get ready and is ended')
    worker.process.kill('SIGKILL')
  }

  /** A starting worker may be busy with storage for longer. Like a stopping worker, it has a deadline of its own. */
  #endHanging(): void {
    if (this.#phase === 'stopping') return
    for (const [worker, { number, isReady }] of this.#workers) {
      if (!isReady) continue
      if (this.#signs.isHanging(worker)) {
        this.#log.error({ worker: number }, 'a worker hangs and is ended')
        worker.process.kill('SIGKILL')
        continue
      }
      this.#signs.asked(worker)
      if (worker.isConnected())
        worker.send({ areYouThere: true } satisfies Ping, undefined, undefined, () => {})
    }
  }

  #renewTls(): void {
    warnOfDatesInFiles(this.#config, this.#log)
    for (const [worker, state] of this.#workers)
      if (state.isReady) worker.process.kill('SIGHUP')
      else state.missedRenewal = true
  }

  #stop(exitCode: number): void {
    if (this.#phase === 'stopping') return
    this.#phase = 'stopping'
    this.#exitCode = exitCode
    for (const timer of this.#restartTimers) clearTimeout(timer)
    for (const worker of this.#workers.keys()) worker.process.kill('SIGTERM')
    this.#stopTimer = setTimeout(() => this.#endAll(), this.#config.drainTimeoutMs + stopGraceMs)
    this.#finishOnceAlone()
  }

  /** A worker that hangs would make the operator who stops the server wait for ever. */
  #endAll(): void {
    for (const [worker, { number }] of this.#workers) {
      this.#log.error({ worker: number }, 'a worker does not stop and is ended')
      worker.process.kill('SIGKILL')
    }
  }

  #finishOnceAlone(): void {
    if (this.#workers.size > 0) return
    clearTimeout(this.#stopTimer)
    const end = (exitCode: number): void => {
      this.#metrics?.close()
      leaveLog()
      this.#resolve(exitCode)
    }
    this.#services.close().then(
      () => end(this.#exitCode),
      () => end(1),
    )
  }

  #readyCount(): number {
    return [...this.#workers.values()].filter(({ isReady }) => isReady).length
  }
}
