import { Worker } from 'node:worker_threads'
import type { AskWriter, WriterAnswer } from './asked-writing.ts'
import { unwritable } from './engine-reason.ts'
import type { WritingOptions } from './writing-side.ts'

type Waiting = { resolve: (answer: WriterAnswer) => void; reject: (error: Error) => void }

/**
 * The writing connection on a thread of its own. The thread answers in order, so a queue of those who wait is
 * all there is to keep. Should it die, what waited fails, nothing answered is lost, and the next request
 * starts another one.
 */
export const threadedWriting = (options: WritingOptions): AskWriter => {
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

  const ask: AskWriter = request =>
    new Promise((resolve, reject) => {
      worker ??= start()
      worker.ref()
      waiting.push({ resolve, reject })
      worker.postMessage(request)
    })

  const close = async (): Promise<WriterAnswer> => {
    const closing = worker
    if (closing !== undefined) await ask({ kind: 'close' })
    worker = undefined
    await closing?.terminate()
    return { value: undefined }
  }

  return request => (request.kind === 'close' ? close() : ask(request))
}
