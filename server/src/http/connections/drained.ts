import type { EventEmitter } from 'node:events'

/** Resolves when what was written has been taken and more may follow, or when there is nobody left to take it. */
export const drained = (written: EventEmitter): Promise<void> =>
  new Promise(resolve => {
    const done = (): void => {
      written.off('drain', done).off('close', done)
      resolve()
    }
    written.on('drain', done).on('close', done)
  })
