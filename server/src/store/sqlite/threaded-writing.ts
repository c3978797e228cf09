import { Worker } from 'node:worker_threads'
import type { Writer, WriterAnswer, WriterRequest } from './asked-writing.ts'
import { unwritable } from './engine-reason.ts'
import type { WritingOptions } from './writing-side.ts'

/** What the thread is told; it answers both. */
export type ThreadMessage = WriterRequest | 'close'

type Waiting = { resolve: (answer: WriterAnswer) => void; reject: (error: Error) => void }

/**
 * The writing connection on a thread of its own. The thread answers in order, so a queue of those who wait is
 * all there is to keep. Should it die, what waited fails, nothing answered is lost, and the next request
 * starts another one.
 */
export const threadedWriting = (options: WritingOptions): Writer => {
  let worker: Worker | undefined
  let waiting: Waiting[] = []

  const start = (): Worker => {
    const started = new Worker(new URL('./writing-thread.ts', import.meta.url), { workerData: options })
    started.on('message', (answer: WriterAnswer) => {
      waiting.shift()?.resolve(answer)
      // Idle, it does not keep the process alive; what is under way does.
      if (waiting.length === 0) started.unref()
    })
    const fail = (): void => {
      if (worker !== started) return
      worker = undefined
      const lost = waiting
      waiting = []
      for (const { reject } of lost) reject(unwritable('the writing thread ended'))
    }
    started.on('error', fail)
    started.on('exit', fail)
    return started
  }

  const tell = (message: ThreadMessage): Promise<WriterAnswer> =>
    new Promise((resolve, reject) => {
      worker ??= start()
      worker.ref()
      waiting.push({ resolve, reject })
      worker.postMessage(message)
    })

  return {
    ask: tell,
    close: async () => {
      const closing = worker
      if (closing !== undefined) await tell('close')
      worker = undefined
      await closing?.terminate()
    },
  }
}
