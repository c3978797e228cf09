import { once } from 'node:events'
import { createServer } from 'node:net'
import { platform } from 'node:os'

/** Whether the system spreads connections over several sockets that listen on the same port. */
export const canSharePorts = ['linux', 'freebsd', 'sunos', 'aix'].includes(platform())

/**
 * Throws if another server uses the port. The system would let that server share the port and give it some of the connections. So
 * this function asks for the port exclusively for a moment, which fails if it is taken.
 */
export const requireFreePort = async ({ host, port }: { host: string; port: number }): Promise<void> => {
  const probe = createServer()
  probe.listen({ host, port, exclusive: true })
  await once(probe, 'listening')
  probe.close()
  await once(probe, 'close')
}
