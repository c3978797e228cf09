import type { Server } from 'node:http'
import { takeConnections } from '../take-connections.ts'
import { PlainConnection, type Route } from './connection.ts'

export type PlainLane = {
  /** Idle connections end now, the others after their answer. */
  close(): void
}

/**
 * Answers plain requests straight from the socket, for half of what Node's HTTP server takes for them. The first thing
 * on a connection that is not plain (`read-request.ts`) hands it to that server, for good: everything about HTTP
 * that is difficult stays there.
 */
export const plainLane = (server: Server, route: Route): PlainLane => {
  const connections = new Set<PlainConnection>()
  let isClosing = false
  takeConnections(server, (socket, handOver) => {
    // A client may half-close after its request; Node would run the request and drop the answer. Not as an option of a TLS
    // server: nobody would notice a client that leaves during the handshake, and a stop would wait for it.
    socket.allowHalfOpen = true
    if (isClosing) {
      handOver()
      return
    }
    const connection = new PlainConnection(socket, {
      idleMs: server.keepAliveTimeout,
      route,
      handOver,
      left: () => connections.delete(connection),
    })
    connections.add(connection)
  })
  return {
    close: () => {
      isClosing = true
      for (const connection of connections) connection.close()
    },
  }
}
