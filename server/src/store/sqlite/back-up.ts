import { Worker } from 'node:worker_threads'

/** What the thread is told. */
export type BackUp = { readonly path: string; readonly to: string }

/**
 * A copy as of one moment, without transient fields, and on disk when this resolves; also beside processes that write. `to` is
 * not there yet, or empty. On a thread, because nothing ends it before it is done: so this one still hears signals.
 */
export const backUpSqlite = (backUp: BackUp): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./back-up-thread.ts', import.meta.url), { workerData: backUp })
    worker.on('error', reject)
    worker.on('exit', () => resolve())
  })
