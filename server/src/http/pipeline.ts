import type { Endpoint } from '../contract/endpoint.ts'
import { ownHeaders } from '../contract/headers.ts'
import { checkNames } from '../contract/query-pairs.ts'
import { type Issue, requireNone, VaultError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { pace } from '../domain/pace.ts'
import { withNewerKeys } from '../operations/vault/tenant-keyring.ts'
import type { Caller, Idempotent } from '../operations/vault/vault.ts'
import { GoneError } from '../scheduling/scheduler.ts'
import type { Tracer } from '../telemetry/traces.ts'
import { type AdmissionOptions, admission } from './admission.ts'
import type { Exchange, Serve } from './exchange.ts'
import type { Answer, Handle } from './handlers.ts'
import { type Idempotency, type Replayed, readIdempotencyKey } from './idempotency.ts'
import { readBody, readQuery } from './input.ts'
import { actKindOf, refusalRecorder } from './recording.ts'
import type { RequestMeters } from './request-meters.ts'
import { requestTrace } from './request-trace.ts'
import { plainPath } from './routes.ts'
import { answerSender } from './send-answer.ts'
import { problemSender } from './send-problem.ts'
import { Visit, type VisitOptions } from './visit.ts'

export type PipelineOptions = AdmissionOptions &
  VisitOptions & {
    readonly idempotency: Idempotency
    readonly meters: RequestMeters
    /** Undefined if no requests are traced. */
    readonly tracer: Tracer | undefined
    /** Called for each request that is refused because of overload. */
    readonly noteRefusal: () => void
  }

/**
 * The life of a request of this endpoint, in the order of C3. Every stage may end it; errors go to the one mapper.
 *
 *   a turn          503 if it does not come in time; probes take none
 *   admission       204 to a CORS preflight → 401 → 429 → 403 permission as such → 415 → 413 → 503 no room for the body
 *   the body        and 401, 403 once more, for what changed while it was on its way
 *   the answer      idempotent replay, 422 or 409 → 400 of the query → JSON → 400 of the body → the operation, which refuses or commits
 *   the record      with what was committed, or before an answer that shows data, or soon
 */
export const serve = (options: PipelineOptions, endpoint: Endpoint, handle: Handle): Serve => {
  const { vault, idempotency, headerPrefix } = options
  const { admit, identify } = admission(options, endpoint)
  const sendProblem = problemSender(options, endpoint.path)
  const send = answerSender(endpoint, options)
  const recordRefusal = refusalRecorder(options, actKindOf(endpoint))
  const { apiKey: keyHeader } = ownHeaders(headerPrefix)
  const takesBody = endpoint.method !== 'GET'
  const count = options.meters.counting(endpoint.id)
  const tracing = requestTrace(options.tracer, endpoint)

  const run = (
    { url, params }: Exchange,
    caller: Caller | undefined,
    body: Buffer | undefined,
    idempotent?: Idempotent,
  ): Promise<Answer> => {
    const query = readQuery(url)
    if (endpoint.query === undefined && endpoint.permission !== 'open') refuseQuery(query)
    const read = readBody(endpoint, body)
    return handle({ vault, headerPrefix, caller, idempotent, params, query, bytes: body ?? none, body: read })
  }

  /** With an idempotency key, returns the kept answer, or makes one and keeps it. */
  const answerTo = (
    exchange: Exchange,
    caller: Caller | undefined,
    body: Buffer | undefined,
  ): Promise<Answer | Replayed> => {
    const { method, url, headers } = exchange
    const key = endpoint.takesIdempotencyKey ? headers[idempotency.header] : undefined
    if (key === undefined || caller === undefined) return run(exchange, caller, body)
    const asked = { method, path: plainPath(url), key: readIdempotencyKey(key), body }
    return idempotency.once(caller, asked, idempotent => run(exchange, caller, body, idempotent))
  }

  const carryOut = async (
    exchange: Exchange,
    visit: Visit,
    caller: Caller | undefined,
    body: Buffer | undefined,
  ): Promise<void> => {
    const { work } = visit
    const span = visit.trace?.begin(endpoint.id)
    const answer = await answerTo(exchange, caller, body)
    span?.end()
    // Short answers of one commit leave together, without another turn: they have already waited for each other.
    if (exchange.bodyBytes > pace.shortBodyBytesMax && !work.hasTurn) await work.turn()
    const sending = send(exchange, answer, visit, caller)
    if (sending !== undefined) await sending
  }

  const live = async (exchange: Exchange): Promise<void> => {
    const begunAt = performance.now()
    const visit = new Visit(options, exchange, keyHeader)
    const { work } = visit
    tracing.begin(exchange, visit, begunAt)
    const { trace } = visit
    try {
      const waiting = trace?.begin('wait for a turn')
      if (endpoint.isProbe !== true) await work.turn()
      waiting?.end()
      const admitted = admit(exchange, visit)
      let caller = admitted instanceof Promise ? await admitted : admitted
      if (caller === 'answered') {
        visit.memory.keep(0)
        return
      }
      let body = takesBody ? exchange.body(bytes => visit.memory.hold(bytes)) : undefined
      if (body instanceof Promise) {
        const arriving = trace?.begin('body arrives')
        body = await body
        arriving?.end()
        const waitingAgain = trace?.begin('wait for a turn')
        await work.turn()
        waitingAgain?.end()
        // C27: the key may have been revoked, or its rules may have changed.
        if (caller !== undefined) caller = await identify(exchange, visit)
      }
      // A page holds some of its tokens in memory until it is sent.
      if (endpoint.isPage && !visit.memory.hold(visit.memory.held + pageBytes))
        throw new VaultError('overloaded')
      try {
        await carryOut(exchange, visit, caller, body)
      } catch (error) {
        const again = await withNewerKeys(vault.keyring, caller, error)
        again.act.startsAgain()
        await carryOut(exchange, visit, again, body)
      }
    } catch (error) {
      visit.memory.keep(0)
      if (error instanceof GoneError) return
      recordRefusal(exchange, visit.caller, error)
      sendProblem(exchange, error)
    } finally {
      work.end()
      count(exchange, begunAt)
      tracing.end(exchange, visit)
    }
  }
  return logAnswers(options.log, endpoint.path, exchange => void live(exchange))
}

const none = Buffer.alloc(0)

/** The memory that a page is charged while it is made. A larger page is sent while it is made. */
const pageBytes = 1 << 18

/** Refuses a request that leads to no endpoint. A caller without a key does not learn why (C3). */
export const refuse = (options: PipelineOptions, refusal: (exchange: Exchange) => VaultError): Serve => {
  const { admit } = admission(options, undefined)
  const { apiKey: keyHeader } = ownHeaders(options.headerPrefix)
  const sendProblem = problemSender(options)
  const count = options.meters.counting('none')
  const tracing = requestTrace(options.tracer)
  const live = async (exchange: Exchange): Promise<void> => {
    const begunAt = performance.now()
    const visit = new Visit(options, exchange, keyHeader)
    tracing.begin(exchange, visit, begunAt)
    try {
      await visit.work.turn()
      if ((await admit(exchange, visit)) !== 'answered') sendProblem(exchange, refusal(exchange))
    } catch (error) {
      if (!(error instanceof GoneError)) sendProblem(exchange, error)
    } finally {
      visit.memory.keep(0)
      visit.work.end()
      count(exchange, begunAt)
      tracing.end(exchange, visit)
    }
  }
  return logAnswers(options.log, undefined, exchange => void live(exchange))
}

const refuseQuery = (query: ReturnType<typeof readQuery>): void => {
  const issues: Issue[] = []
  checkNames(query, [], issues)
  requireNone(issues)
}

/**
 * Logs each answer at the level `debug` when it is sent, even if the client has left. It logs the pattern of the route, never the
 * URL, because an id or a filter may be anything (C2).
 */
export const logAnswers = (log: Log, route: string | undefined, serve: Serve): Serve => {
  if (!log.isDebug) return serve
  return exchange => {
    const begun = performance.now()
    const { method, traceId } = exchange
    const send = exchange.send.bind(exchange)
    exchange.send = (status, ...rest) => {
      const unread = send(status, ...rest)
      const ms = Math.round((performance.now() - begun) * 10) / 10
      log.debug({ trace_id: traceId, method, route, status, ms }, 'answered')
      return unread
    }
    serve(exchange)
  }
}
