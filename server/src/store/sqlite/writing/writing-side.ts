import { type WriterMeters, writerMeters } from '../../../telemetry/telemetry.ts'
import type { BatchResult } from '../../commit-queue.ts'
import type { WriteSet } from '../../write-set.ts'
import { unwritable } from '../engine-reason.ts'
import { openDatabase } from '../open-database.ts'
import type { TenantTerms } from '../waiting-entries.ts'
import { BatchWriter } from './batch-writer.ts'
import { byTenant, inOrder } from './by-tenant.ts'
import { sealSets } from './sealed-sets.ts'
import {
  type StandaloneArgs,
  type StandaloneName,
  type StandaloneResult,
  syncStandaloneWrites,
} from './standalone-writes.ts'

export type WritingOptions = {
  readonly path: string
  /** How long a write waits for another process, such as the command line, to finish its own. */
  readonly lockWaitMs: number
  /** How many index entries collect before they are moved (waiting-writes.ts). */
  readonly waitingMax?: number | undefined
  readonly meters?: WriterMeters | undefined
}

/** The one connection that writes: on this thread, on a thread of its own or in another process. */
export type WritingSide = {
  commit(sets: readonly WriteSet[]): Promise<readonly BatchResult[]>
  standalone<Name extends StandaloneName>(
    name: Name,
    args: StandaloneArgs<Name>,
  ): Promise<StandaloneResult<Name>>
  /** Moves the waiting entries of these terms into the index (waiting-entries.ts). */
  settle(some: TenantTerms): Promise<void>
  /** Moves some waiting entries into the index; returns how many. */
  settleSome(): Promise<number>
  close(): Promise<void>
}

/** Writes on this thread, for commands, and for tests and benchmarks that watch the connection. Servers use a thread. */
export const inlineWriting = ({
  path,
  lockWaitMs,
  waitingMax,
  meters = writerMeters(),
}: WritingOptions): WritingSide => {
  let opened: ReturnType<typeof open> | undefined
  let isClosed = false
  const open = () => {
    const database = openDatabase(path, lockWaitMs, { isWriter: true })
    return {
      database,
      writer: new BatchWriter(database, waitingMax, meters),
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
    commit: async sets => {
      const sealed = byTenant(sets, (_tenant, ofTenant) => sealSets(ofTenant))
      return inOrder(sets, sealed, writing().writer.commit(sealed.flatMap(({ made }) => made)))
    },
    standalone: async (name, args) =>
      (writing().writes[name] as (...args: unknown[]) => StandaloneResult<typeof name>)(...args),
    settle: async some => writing().writer.settle(some),
    settleSome: async () => writing().writer.settleSome(),
    close: async () => {
      isClosed = true
      opened?.database.close()
    },
  }
}
