import type { Server } from 'node:http'
import { takeConnections } from '../take-connections.ts'
import { type FindRoute, PlainConnection } from './connection.ts'

export type PlainLane = {
  /** Idle connections end now, the others after their answer. */
  close(): void
}

/**
 * Answers plain requests straight from the socket, at half the cost of Node's HTTP server. The first thing on a connection that
 * is not plain (`read-request.ts`), or whose path `routes.ts` does not know, hands it to that server for good, where everything
 * difficult about HTTP stays.
 */
export const plainLane = (
  server: Server,
  options: { readonly traceHeader: string; readonly findRoute: FindRoute },
): PlainLane => {
  const connections = new Set<PlainConnection>()
  let isClosing = false
  takeConnections(server, (socket, handOver) => {
    // A client may half-close after its request; Node would run the request and drop the answer. Not set as an option of a TLS
    // server, because a client that leaves during the handshake would then go unnoticed, and a stop would wait for it.
    socket.allowHalfOpen = true
    if (isClosing) {
      handOver()
      return
    }
    const connection = new PlainConnection(socket, {
      ...options,
      idleMs: server.keepAliveTimeout,
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
