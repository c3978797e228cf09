import cluster from 'node:cluster'
import { env } from 'node:process'
import { workerNumberVariable } from '../config/settings.ts'
import type { SharedAcrossWorkers } from '../service.ts'
import { type Neighbours, StoreUnavailableError } from '../store/port.ts'
import type { Writer } from '../store/sqlite/asked-writing.ts'
import type { Announcement } from './announcements.ts'
import type { Answer, Question, Services } from './primary-services.ts'
import { stopSignal } from './stop-signal.ts'

/** One of several processes that share a port, and what the primary does for all of them. */
export type Worker = SharedAcrossWorkers & {
  readonly number: number
  /** Resolves when the primary tells it to stop. */
  readonly stopped: () => Promise<void>
  readonly writer: Writer
  readonly neighbours: Neighbours
}

/** Runs as a worker; the primary learns of its end by the end of the process. */
export const asWorker = async (run: (worker: Worker) => Promise<void>): Promise<void> => {
  const listeners: (() => void)[] = []
  const ask = askPrimary(() => {
    for (const listener of listeners) listener()
  })
  try {
    await run({
      number: Number(env[workerNumberVariable]),
      stopped,
      // When this worker closes its store the writer serves the others.
      writer: { ask: request => ask('write', request), close: async () => {} },
      neighbours: {
        tellGrantsChanged: () => ask('tellGrantsChanged', undefined),
        onGrantsChanged: listener => void listeners.push(listener),
      },
      takeShare: name => ask('takeShare', name),
      inFlight: {
        take: name => ask('takeKey', name),
        // Without the primary there is no holder any more, and soon no worker.
        release: name => void ask('releaseKey', name).catch(() => {}),
      },
    })
  } finally {
    // The channel to the primary would keep this process alive.
    cluster.worker?.disconnect()
  }
}

/**
 * Whoever signals a whole group of processes signals a worker twice: to drain once is enough, and who is in a hurry ends the
 * primary, without which no worker stays. Not before there is something to drain: a signal that is told once would be lost.
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

const askPrimary = (announced: () => void): AskPrimary => {
  const waiting = new Map<number, (answer: unknown) => void>()
  let lastId = 0
  process.on('message', (message: Answer | Announcement) => {
    if ('announcement' in message) {
      announced()
      // Without the primary nobody waits for it.
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
        // Whoever waits for it is told to try again, elsewhere or later.
        if (error !== null) reject(new StoreUnavailableError('the primary is gone', { cause: error }))
      })
    }) as never
  return ask
}
