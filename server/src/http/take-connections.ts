import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/**
 * Replaces the server's connection listener with `take`; `handOver` passes the socket on to the listener that was there before.
 */
export const takeConnections = (
  server: Server,
  take: (socket: Socket, handOver: () => void) => void,
): void => {
  const event = server instanceof TlsServer ? 'secureConnection' : 'connection'
  const [next] = server.listeners(event)
  if (next === undefined) throw new Error('the server takes no connections')
  server.removeAllListeners(event)
  server.on(event, (socket: Socket) => take(socket, () => next.call(server, socket)))
}
