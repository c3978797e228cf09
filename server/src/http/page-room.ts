import type { Socket } from 'node:net'
import { VaultError } from '../domain/errors.ts'
import { pace } from '../domain/pace.ts'

/**
 * Room for pages of tokens, one of which may take a hundred megabytes. A few are made at a time, and the others wait for their
 * turn. While too much output waits for clients that do not read it, no more pages are made (C2: 503).
 */
export type PageRoom = {
  /** Resolves when it is the page's turn. */
  enter(): Promise<void>
  /** To be called once the page was handed to the socket, or could not be made. */
  leave(socket: Socket): void
}

export const pageRoom = (): PageRoom => {
  let underWay = 0
  let unreadBytes = 0
  const waiting: (() => void)[] = []

  const watch = (socket: Socket): void => {
    const bytes = socket.writableLength
    // With less the socket would not tell when it has drained.
    if (bytes < Math.max(pace.pageBytesNoted, socket.writableHighWaterMark)) return
    unreadBytes += bytes
    const forget = (): void => {
      unreadBytes -= bytes
      socket.off('drain', forget)
      socket.off('close', forget)
    }
    socket.on('drain', forget)
    socket.on('close', forget)
  }

  const letNextIn = (): void => {
    const next = waiting.shift()
    if (next === undefined) underWay--
    else next()
  }

  return {
    enter: async () => {
      if (underWay >= pace.pagesAtOnce) await new Promise<void>(resolve => waiting.push(resolve))
      else underWay++
      // Checked after the wait: the pages made before this one may have left much unread.
      if (unreadBytes <= pace.pageBytesUnreadMax) return
      letNextIn()
      throw new VaultError('overloaded')
    },
    leave: socket => {
      watch(socket)
      letNextIn()
    },
  }
}
