import type { BatchResult } from '../commit-queue.ts'
import type { WriteSet } from '../write-set.ts'
import { BatchWriter } from './batch-writer.ts'
import { openDatabase } from './open-database.ts'
import {
  type StandaloneArgs,
  type StandaloneName,
  type StandaloneResult,
  syncStandaloneWrites,
} from './standalone-writes.ts'

/** `lockWaitMs` is how long a write waits for another process, such as the command line, to finish its own. */
export type WritingOptions = { readonly path: string; readonly lockWaitMs: number }

/** The one connection that writes: on this thread, on a thread of its own or in another process. */
export type WritingSide = {
  commit(sets: readonly WriteSet[]): Promise<readonly BatchResult[]>
  standalone<Name extends StandaloneName>(
    name: Name,
    args: StandaloneArgs<Name>,
  ): Promise<StandaloneResult<Name>>
  close(): Promise<void>
}

/** Writes on this thread, for tests and benchmarks that watch the connection. Servers and commands use a thread. */
export const inlineWriting = ({ path, lockWaitMs }: WritingOptions): WritingSide => {
  const database = openDatabase(path, lockWaitMs, { isWriter: true })
  const writer = new BatchWriter(database)
  const writes = syncStandaloneWrites(database, lockWaitMs)
  return {
    commit: async sets => writer.commit(sets),
    standalone: async (name, args) =>
      (writes[name] as (...args: unknown[]) => StandaloneResult<typeof name>)(...args),
    close: async () => database.close(),
  }
}
