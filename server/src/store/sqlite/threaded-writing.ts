import { Worker } from 'node:worker_threads'
import type { BatchResult } from '../commit-queue.ts'
import { StoreUnavailableError } from '../port.ts'
import { type PackedSet, packSet } from './packed-set.ts'
import type { UpkeepName, WritingOptions, WritingSide } from './writing-side.ts'

export type ThreadRequest =
  | { readonly kind: 'commit'; readonly sets: readonly PackedSet[] }
  | { readonly kind: 'upkeep'; readonly name: UpkeepName; readonly args: readonly unknown[] }
  | { readonly kind: 'close' }

export type ThreadAnswer =
  | { readonly results: BatchResult[] }
  | { readonly value: unknown }
  | { readonly failed: string }

type Waiting = { resolve: (answer: ThreadAnswer) => void; reject: (error: Error) => void }

/**
 * The writing connection on a thread of its own. The thread answers in order, so a queue of those who wait is
 * all there is to keep. Should it die, what waited fails, nothing answered is lost, and the next request
 * starts another one.
 */
export const threadedWriting = (options: WritingOptions): WritingSide => {
  let worker: Worker | undefined
  let waiting: Waiting[] = []
  let isClosed = false

  const start = (): Worker => {
    const started = new Worker(new URL('./writing-thread.ts', import.meta.url), { workerData: options })
    started.on('message', (answer: ThreadAnswer) => {
      waiting.shift()?.resolve(answer)
      // Idle, it does not keep the process alive; what is under way does.
      if (waiting.length === 0) started.unref()
    })
    const fail = (): void => {
      if (worker !== started) return
      worker = undefined
      const lost = waiting
      waiting = []
      for (const { reject } of lost) reject(new StoreUnavailableError('the writing thread ended'))
    }
    started.on('error', fail)
    started.on('exit', fail)
    return started
  }

  const ask = (request: ThreadRequest): Promise<ThreadAnswer> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw new StoreUnavailableError('storage is closed')
      worker ??= start()
      worker.ref()
      waiting.push({ resolve, reject })
      worker.postMessage(request)
    })

  return {
    gather: () => Promise.resolve(),
    commit: async sets => {
      const answer = await ask({ kind: 'commit', sets: sets.map(packSet) })
      if ('results' in answer) return answer.results
      throw new StoreUnavailableError('failed' in answer ? answer.failed : 'the batch was not answered')
    },
    upkeep: async (name, args) => {
      const answer = await ask({ kind: 'upkeep', name, args })
      if ('value' in answer) return answer.value as never
      throw new StoreUnavailableError('failed' in answer ? answer.failed : 'the call was not answered')
    },
    close: async () => {
      const closing = worker
      if (closing !== undefined) await ask({ kind: 'close' })
      isClosed = true
      worker = undefined
      await closing?.terminate()
    },
  }
}
