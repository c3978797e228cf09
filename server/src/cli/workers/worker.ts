import cluster from 'node:cluster'
import { env } from 'node:process'
import type { Config } from '../../config/config.ts'
import { workerVariable } from '../../config/settings.ts'
import type { Address } from '../../http/server.ts'
import type { SharedAcrossWorkers } from '../../service.ts'
import { type Neighbours, StoreUnavailableError } from '../../store/port.ts'
import type { Writer } from '../../store/sqlite/writing/writer-client.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { stopSignal } from '../signals.ts'
import type { Announcement } from './announcements.ts'
import type { Answer, Question, Services } from './primary-services.ts'
import { type Counted, type CountNow, CountTeller } from './worker-counts.ts'

/** What a worker learns at its start. */
export type WorkerStart = {
  readonly number: number
  /** The very first worker prepares storage and finds out whether the port is free. */
  readonly isFirst: boolean
  readonly address: Address
}

/** The worker answers requests on this port. */
export type WorkerReady = { readonly port: number }

/** The primary asks from time to time, to tell a busy worker from one that hangs. */
export type Ping = { readonly areYouThere: true }
export type Pong = { readonly iAmHere: true }

/** What a worker learns from its primary, and what the primary does for all workers. */
export type WorkerContext = SharedAcrossWorkers &
  WorkerStart & {
    announceReady(port: number): void
    /** Resolves when the primary tells it to stop. */
    readonly stopped: () => Promise<void>
    readonly writer: Writer
    readonly neighbours: Neighbours
    /** Tells the primary from now on what this worker counts. */
    tellCounts(telemetry: Telemetry): void
  }

/** Runs as a worker. The primary notices when the process exits. */
export const asWorker = async (
  run: (config: Config, worker: WorkerContext) => Promise<void>,
): Promise<void> => {
  const listeners: (() => void)[] = []
  let counts: CountTeller | undefined
  const ask = askPrimary(
    () => {
      for (const listener of listeners) listener()
    },
    ({ countNow }) => counts?.tell(countNow),
  )
  // If the primary ends at the same moment, the channel closes under a last message, which nobody misses.
  cluster.worker?.on('error', () => {})
  try {
    const config = await ask('config', undefined)
    await ask('join', undefined)
    await run(config, {
      ...(JSON.parse(env[workerVariable] ?? '') as WorkerStart),
      // Without the primary, this worker ends soon.
      announceReady: port => process.send?.({ port } satisfies WorkerReady, undefined, undefined, () => {}),
      stopped,
      // Closing this worker's store leaves the writer open: it serves the other workers.
      writer: { ask: request => ask('write', request), close: async () => {} },
      neighbours: {
        tellGrantsChanged: () => ask('tellGrantsChanged', undefined),
        onGrantsChanged: listener => void listeners.push(listener),
      },
      tellCounts: telemetry => {
        const send = (message: Counted): void => void process.send?.(message, undefined, undefined, () => {})
        counts = new CountTeller(telemetry, send)
        counts.tell()
      },
      takeShare: name => ask('takeShare', name),
      inFlight: {
        take: name => ask('takeKey', name),
        // Without the primary, nobody holds the key any more, and this worker ends soon.
        release: name => ask('releaseKey', name).catch(() => {}),
      },
    })
  } finally {
    counts?.tell()
    // The channel to the primary would keep this process alive.
    cluster.worker?.disconnect()
  }
}

/**
 * A signal to the whole process group reaches a worker twice, directly and through the primary. Draining once is enough. An
 * operator in a hurry ends the primary, and then no worker stays. Workers ignore these signals only once there is something to
 * drain: earlier, a signal that is sent once would be lost.
 */
const stopped = (): Promise<void> => {
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, () => {})
  return stopSignal(signals)
}

type AskPrimary = <S extends keyof Services>(
  service: S,
  asked: Parameters<Services[S]>[0],
) => ReturnType<Services[S]>

const askPrimary = (announced: () => void, asksForCounts: (message: CountNow) => void): AskPrimary => {
  const waiting = new Map<number, (answer: unknown) => void>()
  let lastId = 0
  process.on('message', (message: Answer | Announcement | Ping | CountNow) => {
    if ('countNow' in message) {
      asksForCounts(message)
      return
    }
    if ('areYouThere' in message) {
      process.send?.({ iAmHere: true } satisfies Pong, undefined, undefined, () => {})
      return
    }
    if ('announcement' in message) {
      announced()
      // Without the primary, nobody waits for the confirmation.
      ask('heard', message.announcement).catch(() => {})
      return
    }
    waiting.get(message.id)?.(message.answer)
    waiting.delete(message.id)
  })
  const ask: AskPrimary = (service, asked) =>
    new Promise((resolve: (answer: never) => void, reject) => {
      lastId++
      waiting.set(lastId, resolve as (answer: unknown) => void)
      const question: Question = { id: lastId, service, asked }
      process.send?.(question, undefined, undefined, error => {
        // The waiting request fails as if storage were down, so that its client tries again, elsewhere or later.
        if (error !== null) reject(new StoreUnavailableError('the primary is gone', { cause: error }))
      })
    }) as never
  return ask
}
