import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * With CONNECT, Node lets go of a connection, for whoever tunnels. Here it is only refused, and Node's listeners are missing: a
 * reset by the client would be an error that nobody hears, which ends the process, and a client that stays silent, or whose
 * last bytes nobody reads, would be kept for ever.
 */
export const keepWatch = (server: Server, socket: Socket): void => {
  socket.on('error', () => {})
  socket.on('timeout', () => server.emit('timeout', socket))
  socket.resume()
}
