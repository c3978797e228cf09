import { parentPort, workerData } from 'node:worker_threads'
import { BatchWriter } from './batch-writer.ts'
import { openDatabase } from './open-database.ts'
import { unpackSets } from './packed-sets.ts'
import type { ThreadAnswer, ThreadRequest } from './threaded-writing.ts'
import { upkeepWrites } from './upkeep-writes.ts'
import type { WritingOptions } from './writing-side.ts'

/** The thread that owns the writing connection: commits, fsyncs and checkpoints happen here, not where requests are answered. */
const { path, lockWaitMs } = workerData as WritingOptions
const database = openDatabase(path, lockWaitMs)
const writer = new BatchWriter(database)
const writes = upkeepWrites(database, lockWaitMs)

const answer = (request: ThreadRequest): ThreadAnswer => {
  try {
    switch (request.kind) {
      case 'commit':
        return { results: writer.commit(unpackSets(request.sets)) }
      case 'upkeep':
        return { value: (writes[request.name] as (...args: unknown[]) => unknown)(...request.args) }
      case 'close':
        database.close()
        return { value: undefined }
    }
  } catch (error) {
    return { failed: error instanceof Error ? error.message : 'failed' }
  }
}

parentPort?.on('message', (request: ThreadRequest) => {
  parentPort?.postMessage(answer(request))
  if (request.kind === 'close') parentPort?.close()
})
