import { closeSync, fsyncSync, openSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** The thread's input. */
export type BackUp = { readonly path: string; readonly to: string }

/**
 * Copies the vault as of one moment, without transient fields. The copy is on disk when this resolves. Other processes may write
 * meanwhile. `to` must not exist, or be empty. Nothing can interrupt the copy, so it runs on another thread, and this one still
 * receives signals.
 */
export const backUpSqlite = (backUp: BackUp): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./back-up-thread.ts', import.meta.url), { workerData: backUp })
    worker.on('error', reject)
    worker.on('exit', () => resolve())
  })

/** Returns once the file or folder is on disk. */
export const flush = (path: string): void => {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
