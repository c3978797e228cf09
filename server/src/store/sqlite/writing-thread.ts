import { parentPort, workerData } from 'node:worker_threads'
import type { WriterAnswer } from './asked-writing.ts'
import { BatchWriter } from './batch-writer.ts'
import { engineReason } from './engine-reason.ts'
import { logFolding } from './fold-log.ts'
import { openDatabase } from './open-database.ts'
import { unpackSets } from './packed-sets.ts'
import { syncStandaloneWrites } from './standalone-writes.ts'
import type { ThreadMessage } from './threaded-writing.ts'
import type { WritingOptions } from './writing-side.ts'

/** The thread that owns the writing connection, so that its commits, fsyncs and checkpoints hold up no request. */
const { path, lockWaitMs, waitingMax } = workerData as WritingOptions
const database = openDatabase(path, lockWaitMs, { isWriter: true })
const writer = new BatchWriter(database, waitingMax)
const writes = syncStandaloneWrites(database, lockWaitMs)
const foldLog = logFolding(database)

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
      case 'settleAll':
        return { value: writer.settleAll() }
      case 'standalone':
        return { value: (writes[message.name] as (...args: unknown[]) => unknown)(...message.args) }
    }
  } catch (error) {
    return { failed: engineReason(error) }
  }
}

parentPort?.on('message', (message: ThreadMessage) => {
  parentPort?.postMessage(answer(message))
  if (message === 'close') parentPort?.close()
  else foldLog()
})
