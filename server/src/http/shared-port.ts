import { once } from 'node:events'
import { createServer } from 'node:net'
import { platform } from 'node:os'

/** Whether the system spreads connections over several sockets that listen on one port. */
export const canSharePorts = ['linux', 'freebsd', 'sunos', 'aix'].includes(platform())

/**
 * The system would let another server join those that share a port, and give it a part of the connections. To one that wants the
 * port for itself, as this does for a moment, it says that the port is taken.
 */
export const requireFreePort = async ({ host, port }: { host: string; port: number }): Promise<void> => {
  const probe = createServer()
  probe.listen({ host, port, exclusive: true })
  await once(probe, 'listening')
  probe.close()
  await once(probe, 'close')
}
