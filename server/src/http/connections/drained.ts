import type { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Resolves when what was written has been taken and more may follow, or when there is nobody left to take it. */
export const drained = (written: EventEmitter & { readonly destroyed: boolean }): Promise<void> =>
  written.destroyed
    ? // Not at once, or whoever writes on until he is told would never be told.
      nextTurn()
    : new Promise(resolve => {
        const done = (): void => {
          written.off('drain', done).off('close', done)
          resolve()
        }
        written.on('drain', done).on('close', done)
      })
