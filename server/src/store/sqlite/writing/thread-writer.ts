import { Worker } from 'node:worker_threads'
import { writerMeters } from '../../../telemetry/telemetry.ts'
import { engineReason, unwritable } from '../engine-reason.ts'
import type { Writer, WriterAnswer, WriterRequest } from './writer-client.ts'
import type { WritingOptions } from './writing-side.ts'

/** What the thread starts with. It counts into memory that this thread reads. */
export type ThreadStart = Omit<WritingOptions, 'meters'> & { readonly counts: SharedArrayBuffer }

/** A message to the thread, which answers every one. */
export type ThreadMessage = WriterRequest | 'close'

type WaitingCaller = { resolve: (answer: WriterAnswer) => void; reject: (error: Error) => void }

/**
 * The writing connection on a thread of its own. The thread answers in order, so a queue of waiting callers is all the
 * bookkeeping needed. If the thread dies, the waiting requests fail, nothing that was answered is lost, and the next
 * request starts a new thread.
 */
export const threadWriter = ({ meters = writerMeters(), ...options }: WritingOptions): Writer => {
  let worker: Worker | undefined
  let waiting: WaitingCaller[] = []

  const start = (): Worker => {
    const workerData: ThreadStart = { ...options, counts: meters.buffer }
    const started = new Worker(new URL('./writing-thread.ts', import.meta.url), { workerData })
    started.on('message', (answer: WriterAnswer) => {
      // The thread's exit may be reported before its last answer. That request has failed by then, and the next must not get its answer.
      if (worker !== started) return
      waiting.shift()?.resolve(answer)
      // An idle thread does not keep the process alive; requests under way do.
      if (waiting.length === 0) started.unref()
    })
    const fail = (reason: string): void => {
      if (worker !== started) return
      worker = undefined
      const lost = waiting
      waiting = []
      for (const { reject } of lost) reject(unwritable(reason))
    }
    started.on('error', error => fail(engineReason(error)))
    started.on('exit', () => fail('the writing thread ended'))
    return started
  }

  const tell = (message: ThreadMessage): Promise<WriterAnswer> =>
    new Promise((resolve, reject) => {
      worker ??= start()
      worker.ref()
      // If this throws, for lack of memory, nothing may wait for an answer.
      worker.postMessage(message)
      waiting.push({ resolve, reject })
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
