import { parentPort, workerData } from 'node:worker_threads'
import { writerMeters } from '../../../telemetry/telemetry.ts'
import { engineReason } from '../engine-reason.ts'
import { openDatabase } from '../open-database.ts'
import { BatchWriter } from './batch-writer.ts'
import { checkpointing } from './checkpoints.ts'
import { unpackSets } from './packed-sets.ts'
import { syncStandaloneWrites } from './standalone-writes.ts'
import type { ThreadMessage, ThreadStart } from './thread-writer.ts'
import type { WriterAnswer } from './writer-client.ts'

/** The thread that owns the writing connection, so that its commits, fsyncs and checkpoints hold up no request. */
const { path, lockWaitMs, waitingMax, counts } = workerData as ThreadStart
const meters = writerMeters(counts)
const database = openDatabase(path, lockWaitMs, { isWriter: true })
const writer = new BatchWriter(database, waitingMax, meters)
const writes = syncStandaloneWrites(database, lockWaitMs)
const checkpointIfDue = checkpointing(database, meters)

/** How long the thread is idle before it moves waiting index entries, so that reads seldom have to wait for that. */
const restMs = 100
let rest: NodeJS.Timeout | undefined

const moveOn = (): void => {
  try {
    if (writer.settleSome() > 0) rest = setTimeout(moveOn, 0)
  } catch {
    // Reads can still ask for the move, and get the error if that fails, too.
  }
}

const answer = (message: ThreadMessage): WriterAnswer => {
  try {
    if (message === 'close') {
      database.close()
      return { value: undefined }
    }
    switch (message.kind) {
      case 'commit':
        return { results: writer.commit(message.batches.flatMap(unpackSets)) }
      case 'settle':
        return { value: writer.settle(message.some) }
      case 'settleSome':
        return { value: writer.settleSome() }
      case 'standalone':
        return { value: (writes[message.name] as (...args: unknown[]) => unknown)(...message.args) }
    }
  } catch (error) {
    return { failed: engineReason(error) }
  }
}

parentPort?.on('message', (message: ThreadMessage) => {
  parentPort?.postMessage(answer(message))
  clearTimeout(rest)
  if (message === 'close') parentPort?.close()
  else {
    checkpointIfDue()
    rest = setTimeout(moveOn, restMs)
  }
})
