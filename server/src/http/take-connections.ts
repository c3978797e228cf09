import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'

/** Puts somebody in front of whoever takes the server's connections so far, to whom `handOver` gives them. */
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
