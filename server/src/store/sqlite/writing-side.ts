import type { BatchResult } from '../commit-queue.ts'
import type { WriteSet } from '../write-set.ts'
import { BatchWriter } from './batch-writer.ts'
import { unwritable } from './engine-reason.ts'
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

/** Writes on this thread, for commands, and for tests and benchmarks that watch the connection. Servers use a thread. */
export const inlineWriting = ({ path, lockWaitMs }: WritingOptions): WritingSide => {
  let opened: ReturnType<typeof open> | undefined
  let isClosed = false
  const open = () => {
    const database = openDatabase(path, lockWaitMs, { isWriter: true })
    return {
      database,
      writer: new BatchWriter(database),
      writes: syncStandaloneWrites(database, lockWaitMs),
    }
  }
  // Opened by the first write, like a thread: many commands only read.
  const writing = () => {
    if (isClosed) throw unwritable('storage is closed')
    opened ??= open()
    return opened
  }
  return {
    commit: async sets => writing().writer.commit(sets),
    standalone: async (name, args) =>
      (writing().writes[name] as (...args: unknown[]) => StandaloneResult<typeof name>)(...args),
    close: async () => {
      isClosed = true
      opened?.database.close()
    },
  }
}
