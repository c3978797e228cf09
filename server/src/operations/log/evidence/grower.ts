import type { KeyObject } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import type { LogSeal } from '../../../crypto/log-seal.ts'
import { TamperedError } from '../../../domain/tampered-error.ts'
import { type Grown, type Growth, grow } from './grow.ts'

export type GrowAnswer = { readonly grown: Grown } | { readonly isTampered: boolean }

export type Grower = { grow(growth: Growth): Promise<Grown>; close(): Promise<void> }

/** For commands, which answer nobody meanwhile. */
export const inlineGrower = (seal: LogSeal): Grower => ({
  grow: async growth => grow(seal, growth),
  close: async () => {},
})

/**
 * Grows trees on a thread. To open a record, write its line and hash it takes longer than to record it took, and the event loop has
 * requests to answer. One question at a time.
 */
export const threadedGrower = (key: KeyObject): Grower => {
  let worker: Worker | undefined
  const start = (): Worker => {
    const started = new Worker(new URL('./grow-thread.ts', import.meta.url), { workerData: { key } })
    started.unref()
    started.once('exit', () => {
      if (worker === started) worker = undefined
    })
    return started
  }
  const ask = async (growth: Growth): Promise<GrowAnswer> => {
    worker ??= start()
    const asked = worker
    const { promise, resolve, reject } = Promise.withResolvers<GrowAnswer>()
    const failed = (): void => reject(new Error('the thread that grows the trees of the log has ended'))
    asked.ref()
    asked.once('message', resolve).once('error', failed).once('exit', failed)
    try {
      asked.postMessage(growth)
      return await promise
    } finally {
      asked.off('message', resolve).off('error', failed).off('exit', failed)
      asked.unref()
    }
  }
  let asked: Promise<unknown> = Promise.resolve()
  /** Answers carry no name, so whoever asks while another waits for an answer comes after it. */
  const askInTurn = (growth: Growth): Promise<GrowAnswer> => {
    const answered = asked.then(() => ask(growth))
    asked = answered.catch(() => undefined)
    return answered
  }
  return {
    grow: async growth => {
      const answer = await askInTurn(growth)
      if ('grown' in answer)
        return { ...answer.grown, edge: answer.grown.edge.map(hash => Buffer.from(hash)) }
      if (answer.isTampered) throw new TamperedError({ kind: 'block of the log', tenantId: growth.tenantId })
      throw new Error('a tree of the log could not grow')
    },
    close: async () => {
      await worker?.terminate()
    },
  }
}
