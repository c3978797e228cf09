import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TlsOptions } from 'node:tls'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.ts'
import { type EndpointId, endpoints } from '../contract/endpoints.ts'
import { ownHeaders } from '../contract/headers.ts'
import { VaultError } from '../domain/errors.ts'
import { limits } from '../domain/limits.ts'
import { describeError, type Log } from '../domain/log.ts'
import { pace } from '../domain/pace.ts'
import { type Answer, type AnyCall, handlers } from './handlers.ts'
import { inOrder } from './in-order.ts'
import { admit, answer, type PipelineOptions } from './pipeline.ts'
import { plainLane } from './plain/lane.ts'
import { asVaultError, problem, problemType } from './problem.ts'
import { isDraining } from './send.ts'
import { traceId } from './trace-id.ts'

/** The HTTP service, ready to listen. */
export const buildServer = (options: PipelineOptions & { readonly tls?: TlsOptions }): FastifyInstance => {
  const { log, headerPrefix, tls } = options
  const { apiKey: keyHeader, traceId: traceHeader } = ownHeaders(headerPrefix)
  // Node would refuse a request without Host, but without a body or a trace id; `admit` refuses it in our form.
  const http = { requireHostHeader: false, maxHeaderSize: limits.headBytes }
  const app: FastifyInstance = fastify({
    ...(tls ? { https: { ...tls, ...http } } : { http }),
    routerOptions: {
      // As long as a head may be: a wrong id is refused only after the key was checked.
      maxParamLength: pace.pathParameterCharactersMax,
      querystringParser: () => ({}),
      // Published client libraries join a base address and `/`: they send `POST /tokens/`.
      ignoreTrailingSlash: true,
    },
    genReqId: ({ headers }) => traceId(headers[traceHeader]),
    requestTimeout: pace.requestArrivalMs,
    keepAliveTimeout: pace.idleMs,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    exposeHeadRoutes: true,
    // On shutdown, requests in flight are still answered, also on connections that are kept alive (in-order.ts).
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // Paths that the router cannot read.
    frameworkErrors: (error, request, reply) => refuse(() => asVaultError(error), request, reply),
    clientErrorHandler: (error, socket) =>
      order.afterAnswers(socket, () => refuseRaw(error, socket, headerPrefix)),
  })
  const order = inOrder(app.server, pace.idleMs + pace.idleGraceMs)

  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const known = asVaultError(error)
    const { status, headers, body } = problem(known, request.id)
    if (status >= 500 && known.code !== 'overloaded')
      log.error(
        { trace_id: request.id, route: request.routeOptions?.url, status, ...describeError(error) },
        'request failed',
      )
    // A key can also become invalid while its request is under way, so every 401 passes here.
    if (status === 401) reply.header('www-authenticate', `ApiKey header="${keyHeader.toUpperCase()}"`)
    if (isDraining(reply)) reply.header('connection', 'close')
    return reply
      .code(status)
      .headers({
        [traceHeader]: request.id,
        'cache-control': 'no-store',
        ...request.corsHeaders,
        ...headers,
      })
      .type(problemType)
      .send(body)
  }

  /** Refuses what no route takes. A caller without a key is not told why (C3). */
  const refuse = (
    refusal: (path: string) => VaultError,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void => admit(options, undefined, refusal)(request, reply, error => fail(error, request, reply))

  Object.assign(app.server, { httpAllowHalfOpen: true })
  app.decorateRequest('caller')
  app.decorateRequest('corsHeaders')
  // Fastify must read no body, whatever the method: `answer` does (body-bytes.ts).
  for (const method of app.supportedMethods)
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  app.setErrorHandler((error, request, reply) => fail(error, request, reply))
  if (log.isDebug) logAnswers(app, log)
  app.server.on('connect', ({ socket, headers }) =>
    order.afterAnswers(socket, () => refuseRaw(noTunnel, socket, headerPrefix, headers[traceHeader])),
  )
  app.setNotFoundHandler((request, reply) => refuse(noSuchRoute, request, reply))

  for (const id of Object.keys(endpoints) as EndpointId[]) {
    const declared: Endpoint = endpoints[id]
    // One hook for each route, because `request.routeOptions` would be built again for each request.
    app.route({
      method: declared.method,
      url: declared.path,
      onRequest: admit(options, declared),
      handler: answer(options, declared, handlers[id] as (call: AnyCall) => Promise<Answer>),
    })
  }
  const lane = plainLane(app.server, (request, response) => app.routing(request, response))
  app.addHook('preClose', async () => {
    // Requests that arrived before the stop are still accepted and read, and are then in flight.
    for (let turn = 0; turn < pace.loopTurnsBeforeClosing; turn++) await nextTurn()
    lane.close()
  })
  return app
}

/** No route has a schema (decision 0003); without this Fastify would load its two compilers for them at every start. */
const noSchemas = (): never => {
  throw new Error('no route has a schema')
}

/** Logs the route's pattern, never the URL: an id or a filter may be anything (C2). */
const logAnswers = (app: FastifyInstance, log: Log): void => {
  app.addHook('onResponse', (request, reply, done) => {
    log.debug(
      {
        trace_id: request.id,
        method: request.method,
        route: request.routeOptions.url,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
      },
      'answered',
    )
    done()
  })
}

const patterns = Object.values<Endpoint>(endpoints).map(({ method, path }) => ({
  method,
  matches: new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`),
}))

/** 404, or 405 if the path has other methods. */
const noSuchRoute = (path: string): VaultError => {
  const methods = patterns.filter(({ matches }) => matches.test(path)).map(({ method }) => method)
  return methods.length === 0 ? new VaultError('notFound') : allowing(methods)
}

const allowing = (methods: readonly string[]): VaultError => {
  const allowed = new Set(methods)
  if (allowed.has('GET')) allowed.add('HEAD')
  return new VaultError('methodNotAllowed', { headers: { allow: [...allowed].join(', ') } })
}

/** CONNECT names a host to tunnel to, not a path of ours. */
const noTunnel = allowing(patterns.map(({ method }) => method))

/** What never became a request (broken HTTP, headers too large) still gets a problem body and a trace id. */
const refuseRaw = (
  error: Error & { code?: string },
  socket: Socket,
  headerPrefix: string,
  sentTraceId?: string | string[],
): void => {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const known = asVaultError(error)
  const trace = traceId(sentTraceId)
  const { status, title, headers, body } = problem(
    known.code === 'internal' ? new VaultError('badRequest') : known,
    trace,
  )
  socket.end(
    [
      `HTTP/1.1 ${status} ${title}`,
      `Date: ${new Date().toUTCString()}`,
      `Content-Type: ${problemType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `${ownHeaders(headerPrefix).traceId.toUpperCase()}: ${trace}`,
      'Cache-Control: no-store',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
