import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { pace } from '../../domain/pace.ts'
import { takeConnections } from '../take-connections.ts'

/**
 * Left to itself, Node's HTTP server would read its connections and turn everything it got into requests at once: a thousand of
 * them from 64 KiB. Here it gets few bytes at a time, and none while requests of the connection wait.
 */
export const readByPieces = (server: Server, isWaiting: (socket: Socket) => boolean): void => {
  takeConnections(server, (socket, handOver) => {
    handOver()
    readSocketByPieces(socket, isWaiting)
  })
  // After a fault, Node's parser finds nothing but faults. What follows is thrown away, also by a connection that rested because
  // nobody took its body: left like that, it would never notice that its client has gone.
  server.prependListener('clientError', (_error, socket) => socket.removeAllListeners('data').resume())
}

/**
 * Node's server resumes what it paused itself; the caller resumes the connection once nothing waits any more. What takes long to
 * read, such as a body in chunks of a byte, is read on in the next turn of the event loop, so that others have theirs.
 */
const readSocketByPieces = (socket: Socket, isWaiting: (socket: Socket) => boolean): void => {
  const [parse] = socket.listeners('data')
  if (parse === undefined) throw new Error('the server does not read its connections')
  let isResting = false
  const mustWait = (): boolean => isResting || isHeld(socket) || isWaiting(socket)
  const rest = (): void => {
    isResting = true
    setImmediate(() => {
      isResting = false
      if (!mustWait()) socket.resume()
    })
  }
  const feed = (bytes: NonSharedBuffer): void => {
    const begun = performance.now()
    for (let at = 0; at < bytes.length && isRead(); at += pace.pieceBytes) {
      // Node resumes the connection whenever it wants more of a body, so it can come here while it rests.
      if (!isResting && performance.now() - begun > pace.readWorkMs) rest()
      if (socket.isPaused() || mustWait()) {
        socket.pause()
        socket.unshift(bytes.subarray(at))
        return
      }
      parse.call(socket, bytes.subarray(at, at + pace.pieceBytes))
    }
    if (isWaiting(socket)) socket.pause()
  }
  const isRead = (): boolean => socket.rawListeners('data').some(listener => listener === feed)
  socket.off('data', parse)
  // When Node stops reading (CONNECT), it removes its own listener; the `listener` property makes that remove this one.
  socket.on('data', Object.assign(feed, { listener: parse }))
}

/** Node's mark that a connection must not be read until the client has taken more of its answers; its listener asserts this. */
const isHeld = (socket: Socket & { readonly _paused?: boolean }): boolean => socket._paused === true
