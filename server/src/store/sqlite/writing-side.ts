import type { BatchResult } from '../commit-queue.ts'
import type { WriteSet } from '../write-set.ts'
import { BatchWriter } from './batch-writer.ts'
import { openDatabase } from './open-database.ts'
import { type UpkeepWrites, upkeepWrites } from './upkeep-writes.ts'

export type UpkeepName = keyof UpkeepWrites

/** `lockWaitMs` is how long a write waits for another process, such as the command line, to finish its own. */
export type WritingOptions = { readonly path: string; readonly lockWaitMs: number }

/** The one connection that writes: here, on a thread of its own or in another process. */
export type WritingSide = {
  commit(sets: readonly WriteSet[]): Promise<readonly BatchResult[]>
  upkeep<N extends UpkeepName>(
    name: N,
    args: Parameters<UpkeepWrites[N]>,
  ): Promise<ReturnType<UpkeepWrites[N]>>
  close(): Promise<void>
}

/** In this thread: for the short life of a command, and for tests that count on it. */
export const inlineWriting = ({ path, lockWaitMs }: WritingOptions): WritingSide => {
  const database = openDatabase(path, lockWaitMs, { isWriter: true })
  const writer = new BatchWriter(database)
  const writes = upkeepWrites(database, lockWaitMs)
  return {
    commit: async sets => writer.commit(sets),
    upkeep: async (name, args) =>
      (writes[name] as (...args: unknown[]) => ReturnType<UpkeepWrites[typeof name]>)(...args),
    close: async () => database.close(),
  }
}
