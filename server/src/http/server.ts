import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TlsOptions } from 'node:tls'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.ts'
import { type EndpointId, endpoints } from '../contract/endpoints.ts'
import { ownHeaders } from '../contract/headers.ts'
import { VaultError } from '../domain/errors.ts'
import { limits } from '../domain/limits.ts'
import { pace } from '../domain/pace.ts'
import type { Handle } from './call.ts'
import type { Serve } from './exchange.ts'
import { handlers } from './handlers.ts'
import { logAnswers } from './log-answers.ts'
import { noSuchRoute, noTunnel } from './no-such-route.ts'
import { NodeExchange } from './node/exchange.ts'
import { inOrder } from './node/in-order.ts'
import { keepWatch } from './node/keep-watch.ts'
import { refuseRaw } from './node/refuse-raw.ts'
import { refuse, serve } from './pipeline.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import { plainLane } from './plain/lane.ts'
import { plainRoutes } from './plain/routes.ts'
import { asVaultError } from './problem.ts'
import { problemSender } from './send-problem.ts'

/** The HTTP service, ready to listen. */
export const buildServer = (options: PipelineOptions & { readonly tls?: TlsOptions }): FastifyInstance => {
  const { headerPrefix, tls } = options
  const { traceId: traceHeader } = ownHeaders(headerPrefix)
  const sendProblem = problemSender(options)
  const refuseHost = logAnswers(options.log, undefined, exchange =>
    sendProblem(exchange, new VaultError('invalidHttp')),
  )

  const through =
    (to: Serve) =>
    (request: FastifyRequest, reply: FastifyReply): void => {
      const exchange = new NodeExchange(request, reply, traceHeader)
      if (exchange.isValidHttp1) to(exchange)
      else refuseHost(exchange)
    }

  // Node would refuse a request without Host, but without a body or a trace id; `through` refuses it in our form.
  const http = {
    requireHostHeader: false,
    maxHeaderSize: limits.headBytes,
    connectionsCheckingInterval: pace.arrivalCheckMs,
  }
  const app: FastifyInstance = fastify({
    ...(tls ? { https: { ...tls, ...http } } : { http }),
    routerOptions,
    requestTimeout: pace.requestArrivalMs,
    keepAliveTimeout: pace.idleMs,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    exposeHeadRoutes: true,
    // On shutdown, requests in flight are still answered, also on connections that are kept alive (in-order.ts).
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // Paths that the router cannot read.
    frameworkErrors: (error, request, reply) =>
      through(refuse(options, () => asVaultError(error)))(request, reply),
    clientErrorHandler: (error, socket) =>
      order.afterAnswers(socket, () => refuseRaw(error, socket, headerPrefix)),
  })
  const order = inOrder(app.server, pace.idleMs + pace.idleGraceMs)

  // A client that has said all and closed its side still gets its answers. Node offers no option for it.
  Object.assign(app.server, { httpAllowHalfOpen: true })
  // Fastify must read no body, whatever the method: `answer.ts` does (body-bytes.ts).
  for (const method of app.supportedMethods)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  app.server.on('connect', ({ socket, headers }) => {
    keepWatch(app.server, socket)
    order.afterAnswers(socket, () => refuseRaw(noTunnel, socket, headerPrefix, headers[traceHeader]))
  })
  app.setNotFoundHandler(through(refuse(options, noSuchRoute)))

  const routes = (Object.keys(endpoints) as EndpointId[]).map(id => {
    const { method, path }: Endpoint = endpoints[id]
    const handle = handlers[id] as Handle
    return { method, path, to: serve(options, endpoints[id], handle) }
  })
  for (const { method, path, to } of routes) app.route({ method, url: path, handler: through(to) })
  const lane = plainLane(app.server, { traceHeader, findRoute: plainRoutes(routes) })

  app.addHook('preClose', async () => {
    // Requests that arrived before the stop are still accepted and read, and are then in flight.
    for (let turn = 0; turn < pace.loopTurnsBeforeClosing; turn++) await nextTurn()
    lane.close()
  })
  return app
}

/** How paths are read; the routes of plain requests must agree. */
export const routerOptions = {
  // As long as a head may be: a wrong id is refused only after the key was checked.
  maxParamLength: pace.pathParameterCharactersMax,
  querystringParser: () => ({}),
  // Published client libraries join a base address and `/`: they send `POST /tokens/`.
  ignoreTrailingSlash: true,
}

/** No route has a schema (decision 0003); without this Fastify would load its two compilers for them at every start. */
const noSchemas = (): never => {
  throw new Error('no route has a schema')
}
