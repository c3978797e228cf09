import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { type TlsOptions, Server as TlsServer } from 'node:tls'
import type { Endpoint } from '../contract/endpoint.ts'
import { type EndpointId, endpoints } from '../contract/endpoints.ts'
import { ownHeaders } from '../contract/headers.ts'
import { VaultError } from '../domain/errors.ts'
import { pace } from '../domain/pace.ts'
import { Listener } from './connections/listener.ts'
import type { Exchange, Serve } from './exchange.ts'
import type { Handle } from './handlers.ts'
import { handlers } from './handlers.ts'
import { noSuchRoute, noTunnel } from './no-such-route.ts'
import type { PipelineOptions } from './pipeline.ts'
import { logAnswers, refuse, serve } from './pipeline.ts'
import { RouteTable } from './routes.ts'
import { problemSender } from './send-problem.ts'
import { serveProxy } from './serve-proxy.ts'
import { canSharePorts, requireFreePort } from './shared-port.ts'

export type Address = { readonly host: string; readonly port: number; readonly isShared?: boolean }

export type HttpServer = {
  /** Resolves with the address once requests are answered. Other processes may listen on a shared port, too. */
  listen(address: Address): Promise<Address>
  /** Gives these certificates to new connections. Existing ones keep theirs. */
  renewTls(tls: TlsOptions): void
  /** How many are open. */
  readonly connections: number
  /** Answers the requests in flight, for at most the given time. */
  close(drainTimeoutMs: number): Promise<void>
}

/**
 * In each iteration, the event loop accepts one connection from each listening socket. With these many more sockets, a crowd that
 * opens a thousand connections a second does not shut others out while iterations take milliseconds.
 */
const acceptorsMore = 15

/** The HTTP service: connections → exchanges → routes → the pipeline of an endpoint. */
export const buildServer = (options: PipelineOptions & { readonly tls?: TlsOptions }): HttpServer => {
  const { headerPrefix, log, meters } = options
  const sendProblem = problemSender(options)
  const count = meters.counting('none')
  const listener = new Listener({
    ...options,
    traceHeader: ownHeaders(headerPrefix).traceId,
    serve: route(options),
    refuse: logAnswers(log, undefined, exchange => {
      const begunAt = performance.now()
      sendProblem(exchange, new VaultError('invalidHttp'))
      count(exchange, begunAt)
    }),
    noteMalformed: () => meters.malformed.add(),
    refuseTunnel: noTunnel,
  })
  const { server } = listener
  // A connection counts from the moment it is accepted, before a TLS handshake.
  const sockets = new Set<Socket>()
  let isTimeUp = false
  const acceptors = Array.from({ length: canSharePorts ? acceptorsMore : 0 }, () =>
    createServer({ allowHalfOpen: options.tls === undefined, noDelay: true }, socket =>
      server.emit('connection', socket),
    ),
  )
  server.on('connection', (socket: Socket) => {
    // After `close`, the server still accepts connections that are already waiting, even when no time is left.
    if (isTimeUp) {
      socket.destroy()
      return
    }
    options.scheduler.noteArrival()
    meters.accepted.add()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    listen: async ({ host, port: wanted, isShared = false }) => {
      if (!isShared && canSharePorts && wanted !== 0) await requireFreePort({ host, port: wanted })
      const options = { host, reusePort: canSharePorts, backlog: pace.connectionsWaiting }
      await once(server.listen({ ...options, port: wanted }), 'listening')
      const { port } = server.address() as AddressInfo
      for (const acceptor of acceptors) await once(acceptor.listen({ ...options, port }), 'listening')
      return { host, port, isShared }
    },
    get connections() {
      return sockets.size
    },
    renewTls: tls => {
      if (server instanceof TlsServer) server.setSecureContext(tls)
    },
    close: async drainTimeoutMs => {
      const cut = setTimeout(() => {
        isTimeUp = true
        for (const socket of sockets) socket.destroy()
      }, drainTimeoutMs)
      // Requests that arrived before the stop are still accepted and read. From then on they are in flight.
      for (let done = 0; done < pace.iterationsBeforeClosing; done++) await nextIteration()
      const closed = acceptors.map(acceptor => once(acceptor.close(), 'close'))
      await Promise.all([listener.close(), ...closed])
      clearTimeout(cut)
    },
  }
}

/** Gives a request to the pipeline of the endpoint that its path leads to. */
const route = (options: PipelineOptions): Serve => {
  const routes = new RouteTable<Serve>(
    (Object.keys(endpoints) as EndpointId[]).map(id => {
      const endpoint: Endpoint = endpoints[id]
      const to =
        id === 'invokeProxy'
          ? serveProxy(options, endpoint)
          : serve(options, endpoint, handlers[id] as Handle)
      return { ...endpoint, to }
    }),
  )
  return (exchange: Exchange) => {
    const found = routes.find(exchange.method, exchange.url)
    if ('to' in found) {
      exchange.params = found.params
      found.to(exchange)
    } else refuse(options, () => noSuchRoute(found))(exchange)
  }
}
