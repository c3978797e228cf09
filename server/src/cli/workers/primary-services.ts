import type { Config } from '../../config/config.ts'
import { NamesInFlight } from '../../domain/names-in-flight.ts'
import { rateBuckets } from '../../domain/rate-buckets.ts'
import { lockWaitDefaultMs } from '../../store/sqlite/open-database.ts'
import { sharedWriter } from '../../store/sqlite/writing/shared-writer.ts'
import { threadWriter } from '../../store/sqlite/writing/thread-writer.ts'
import type { AskWriter, Writer } from '../../store/sqlite/writing/writer-client.ts'
import type { WriterMeters } from '../../telemetry/telemetry.ts'
import { databasePath, requireDataFolder } from '../data-folder/paths.ts'
import { Announcements, type Listener } from './announcements.ts'

/** What the primary does for its workers, because only one process can do it. */
export type Services = {
  /** The settings that the primary read at its start. All workers use them as long as the primary lives. */
  readonly config: () => Promise<Config>
  /** One writer for all, so that no worker waits for another's lock. */
  readonly write: AskWriter
  /** One set of buckets for all: a rate holds across all connections and workers. */
  readonly takeShare: (name: string) => Promise<number>
  /** One set of idempotency keys in flight for all (C33). A worker that dies leaves none behind. */
  readonly takeKey: (name: string, worker: object) => Promise<boolean>
  readonly releaseKey: (name: string) => Promise<void>
  /** The worker gets news from now on. It joins before it answers its first request, so that it remembers nothing outdated. */
  readonly join: (asked: undefined, worker: Listener) => Promise<void>
  /** Tells all other workers that grants have changed, and waits until they have heard (C27). */
  readonly tellGrantsChanged: (asked: undefined, worker: Listener) => Promise<void>
  readonly heard: (announcement: number, worker: Listener) => Promise<void>
}

export type Question = { readonly id: number; readonly service: keyof Services; readonly asked: unknown }
export type Answer = { readonly id: number; readonly answer: unknown }

/** Opens nothing before the first question: the first worker makes storage and reports its faults. */
export const primaryServices = (
  config: Config,
  meters?: WriterMeters,
): {
  answer(question: Question, worker: Listener): Promise<Answer>
  /** The worker is gone and asks nothing more. */
  left(worker: Listener): void
  close(): Promise<void>
} => {
  let writer: Writer | undefined
  const write: AskWriter = request => {
    const path = (): string => databasePath(requireDataFolder(config))
    writer ??= sharedWriter(threadWriter({ path: path(), lockWaitMs: lockWaitDefaultMs, meters }))
    return writer.ask(request)
  }
  const buckets = config.rateLimit && rateBuckets(config.rateLimit, Date.now)
  const inFlight = new NamesInFlight<object>()
  const news = new Announcements()
  const listeners = new Set<Listener>()
  const services: Services = {
    config: async () => config,
    write,
    takeShare: async name => buckets?.(name) ?? 0,
    takeKey: async (name, worker) => inFlight.take(name, worker),
    releaseKey: async name => inFlight.release(name),
    join: async (_asked, worker) => void listeners.add(worker),
    tellGrantsChanged: (_asked, worker) => news.tell([...listeners].filter(other => other !== worker)),
    heard: async (announcement, worker) => news.heard(announcement, worker),
  }
  return {
    answer: async ({ id, service, asked }, worker) => ({
      id,
      answer: await services[service](asked as never, worker),
    }),
    left: worker => {
      listeners.delete(worker)
      inFlight.releaseAllOf(worker)
      news.left(worker)
    },
    close: async () => writer?.close(),
  }
}
