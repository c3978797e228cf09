import type { Telemetry } from '../../telemetry/telemetry.ts'
import { type CommitBatch, CommitQueue } from '../commit-queue.ts'
import type { StandaloneWrites, Store } from '../port.ts'
import { sharedReads } from '../sql/shared-reads.ts'
import { changesContent } from '../write-set.ts'
import { engineReason, unwritable } from './engine-reason.ts'
import { grantsEpoch } from './grants-epoch.ts'
import { migrate } from './migrate.ts'
import { lockWaitDefaultMs, openDatabase } from './open-database.ts'
import { requireOwnSchema, storageGuard } from './own-storage.ts'
import { accessReads } from './reading/access-reads.ts'
import { counterReads } from './reading/counter-reads.ts'
import type { SharedSnapshot } from './reading/reading-side.ts'
import { readingSide } from './reading/reading-side.ts'
import { settledReads } from './reading/settled-reads.ts'
import { tokenReads } from './reading/token-reads.ts'
import { withRowNumbers } from './row-number.ts'
import { sealParts } from './writing/sealed-sets.ts'
import type { StandaloneArgs, StandaloneName, StandaloneResult } from './writing/standalone-writes.ts'
import { threadWriter } from './writing/thread-writer.ts'
import { type Writer, writerClient } from './writing/writer-client.ts'
import { inlineWriting, type WritingSide } from './writing/writing-side.ts'

/** A batch may wait behind batches of other workers. Sets that come meanwhile can join the same commit if they are sent as well. */
const inFlightToShared = 3

/** How many blocks of a log are deleted in one transaction, while other writes wait. */
const cutAtOnce = 100

/**
 * The embedded engine: one file, durable at every commit. Reads run here, synchronously. Writes go to the one writing
 * connection, which by default has a thread of its own, or to a writer elsewhere.
 */
export const openSqlite = ({
  path,
  lockWaitMs = lockWaitDefaultMs,
  waitingMax,
  writing = 'thread',
  telemetry,
}: {
  path: string
  lockWaitMs?: number
  waitingMax?: number
  writing?: 'thread' | 'inline' | Writer
  telemetry?: Telemetry | undefined
}): Store => {
  const database = withRowNumbers(openDatabase(path, lockWaitMs))
  requireOwnSchema(database, path)
  migrate(database)
  const options = { path, lockWaitMs, waitingMax, meters: telemetry?.writer }
  const writer =
    writing === 'inline'
      ? inlineWriting(options)
      : writerClient(writing === 'thread' ? threadWriter(options) : writing)
  const requireOwnStorage = storageGuard(database)
  const reader = readingSide(database)
  const { snapshot } = reader
  const settled = settledReads(reader, writer)
  const shared = sharedReads(reader)
  const epoch = grantsEpoch(database)
  const commit: CommitBatch = async sets => {
    try {
      return await writer.commit(sets)
    } finally {
      // An operation must be able to read what it has committed. Records of reads come all the time and change nothing else.
      if (sets.some(changesContent)) {
        snapshot.end()
        epoch.forget()
      }
    }
  }
  const queue = new CommitQueue(commit, {
    inFlightMax: typeof writing === 'string' ? 1 : inFlightToShared,
    meters: telemetry?.commits,
  })

  return {
    commit: set => queue.add(set),
    ...tokenReads(reader, settled),
    ...counterReads(reader, settled),
    ...accessReads(reader),
    ...shared,
    scanTerms: async (tenant, after, limit) => {
      if (after === undefined) await settled.settleAll()
      return shared.scanTerms(tenant, after, limit)
    },
    ...standaloneWrites(writer, queue, snapshot),
    health: async () => {
      await shared.health()
      requireOwnStorage()
    },
    grantsEpoch: epoch.inForce,
    time: async () => undefined,
    close: async () => {
      await queue.drain()
      await writer.close()
      database.close()
    },
  }
}

const standaloneWrites = (
  writer: WritingSide,
  queue: CommitQueue,
  snapshot: SharedSnapshot,
): StandaloneWrites => {
  const write = async <Name extends StandaloneName>(
    name: Name,
    ...args: StandaloneArgs<Name>
  ): Promise<StandaloneResult<Name>> => {
    // The log cannot be truncated while a read is open.
    snapshot.end()
    try {
      return await writer.standalone(name, args)
    } catch (error) {
      throw unwritable(engineReason(error))
    } finally {
      snapshot.end()
    }
  }
  /** A purge must include sets that were submitted before it. Other standalone writes need not wait for a backlog of sets. */
  const purge = async <Name extends StandaloneName>(
    name: Name,
    ...args: StandaloneArgs<Name>
  ): Promise<StandaloneResult<Name>> => {
    await queue.drain()
    return write(name, ...args)
  }
  return {
    purgeTransients: (pending, limit) => purge('purgeTransients', pending, limit),
    purgeResults: (pending, limit) => purge('purgeResults', pending, limit),
    dropResult: (tenant, hash, pending) => write('dropResult', tenant, hash, pending),
    purgeDeadTenants: limit => purge('purgeDeadTenants', limit),
    // Tried twice: a read that is still open in this process at the first try has ended by the second.
    shred: () => write('shred').catch(() => write('shred')),
    createTenant: async (tenant, log) => write('createTenant', tenant, sealParts(log, [])),
    putLogTree: (tree, ifSize) => write('putLogTree', tree, ifSize),
    putCheckpoint: (checkpoint, leaves, ifSize) => write('putCheckpoint', checkpoint, leaves, ifSize),
    // The edge at the cut comes first. Blocks that stay behind when a process is killed go with the next cut.
    cutLog: async (tree, ifSealed, before) => {
      if (!(await write('replaceLogTree', tree, ifSealed))) return false
      while ((await write('cutSomeBlocks', tree, before, cutAtOnce)) > 0);
      return true
    },
    ensureVaultKeys: keys => write('ensureVaultKeys', keys),
    replaceKey: (owner, before, wrapped) => write('replaceKey', owner, before, wrapped),
    noteKeyUse: uses => write('noteKeyUse', uses),
    mendNumbers: tenant => write('mendNumbers', tenant),
    acquireLease: (lease, now) => write('acquireLease', lease, now),
    releaseLeases: (holder, names) => write('releaseLeases', holder, names),
  }
}
