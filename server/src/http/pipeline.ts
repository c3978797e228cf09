import type { Endpoint } from '../contract/endpoint.ts'
import { ownHeaders } from '../contract/headers.ts'
import { checkNames, type QueryPair } from '../contract/query-pairs.ts'
import { holds } from '../domain/access/access.ts'
import { type Issue, requireNone, VaultError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import type { Caller, Vault } from '../operations/vault/vault.ts'
import { readBody, requireBodyForm } from './body.ts'
import { callerOf } from './caller-of.ts'
import type { Cors } from './cors.ts'
import type { Exchange, Serve } from './exchange.ts'
import type { Answer, AnyCall } from './handlers.ts'
import { type Idempotency, type Replayed, readIdempotencyKey } from './idempotency.ts'
import type { LoadShedding } from './load-shedding.ts'
import { logAnswers } from './log-answers.ts'
import type { LoopTurns } from './loop-turns.ts'
import type { PageRoom } from './page-room.ts'
import { pathOf } from './path-of.ts'
import { readQuery } from './query.ts'
import type { RateLimit } from './rate-limit.ts'
import { answerSender } from './send.ts'
import { problemSender, type SendProblem } from './send-problem.ts'

export type PipelineOptions = {
  readonly vault: Vault
  readonly log: Log
  readonly headerPrefix: string
  readonly idempotency: Idempotency
  readonly rateLimit: RateLimit
  readonly cors: Cors
  readonly shedding: LoadShedding
  readonly loopTurns: LoopTurns
  readonly pageRoom: PageRoom
}
type Admission = undefined | 'answered' | Promise<undefined>
type Admit = (exchange: Exchange) => Admission

/** The life of a request of this endpoint. Waits only where a step does. */
export const serve = (
  options: PipelineOptions,
  endpoint: Endpoint,
  handle: (call: AnyCall) => Promise<Answer>,
): Serve => {
  const sendProblem = problemSender(options, endpoint.path)
  const work = answer(options, endpoint, handle, sendProblem)
  return serving(options, endpoint.path, admit(options, endpoint), sendProblem, work)
}

/** Refuses what leads to no endpoint. A caller without a key is not told why (C3). */
export const refuse = (options: PipelineOptions, refusal: (path: string) => VaultError): Serve => {
  const sendProblem = problemSender(options)
  const refused: Serve = exchange => sendProblem(exchange, refusal(pathOf(exchange.url)))
  return serving(options, undefined, admit(options, undefined), sendProblem, refused)
}

const serving = (
  { log }: PipelineOptions,
  route: string | undefined,
  admission: Admit,
  sendProblem: SendProblem,
  goOn: (exchange: Exchange) => void | Promise<void>,
): Serve =>
  logAnswers(log, route, exchange => {
    try {
      const step = admission(exchange)
      if (step instanceof Promise)
        void step.then(
          () => goOn(exchange),
          (error: unknown) => sendProblem(exchange, error),
        )
      else if (step === undefined) void goOn(exchange)
    } catch (error) {
      sendProblem(exchange, error)
    }
  })

/**
 * The first half of a request's life, in the order of C3: everything that can be decided before the body is read.
 *
 *   503 overload, but for probes → (an open endpoint is admitted here) → 204 to a CORS preflight, which has no key → 401 → 429
 *   → (without an endpoint the request is refused here) → 403 permission as such → 415 → 413
 */
const admit = (options: PipelineOptions, endpoint: Endpoint | undefined): Admit => {
  const { vault, rateLimit, cors, shedding, loopTurns } = options
  const findCaller = callerOf(options)

  const authorize = (exchange: Exchange, caller: Caller | undefined): undefined | Promise<undefined> => {
    if (caller?.apiKey === undefined) throw new VaultError('unauthorized')
    exchange.caller = caller
    vault.keyUses.note(caller.apiKey.hash, vault.clock())
    exchange.corsHeaders = cors.allow(exchange, caller)
    const waiting = rateLimit(caller.apiKey)
    if (waiting === undefined) return requireEndpointsTerms(exchange, caller)
    return waiting.then(() => requireEndpointsTerms(exchange, caller))
  }

  const requireEndpointsTerms = ({ headers }: Exchange, caller: Caller): undefined => {
    if (endpoint === undefined) return
    requirePermission(caller, endpoint)
    requireBodyForm(headers, endpoint)
  }

  return exchange => {
    if (endpoint?.isProbe !== true) {
      shedding.requireShortQueue(loopTurns.ahead(Number(exchange.headers['content-length'] ?? 0)))
      shedding.requireRoom(endpoint?.changes ? vault.changesWaiting.count : 0)
    }
    if (endpoint?.permission === 'open') return undefined
    if (cors.preflight(exchange)) return 'answered'
    const caller = findCaller(exchange)
    return caller instanceof Promise
      ? caller.then(found => authorize(exchange, found))
      : authorize(exchange, caller)
  }
}

const requirePermission = ({ application }: Caller, { permission }: Endpoint): void => {
  const isPermitted = permission === 'open' || permission === 'any key' || holds(application, permission)
  if (!isPermitted) throw new VaultError('forbidden', { detail: `This needs the permission ${permission}.` })
}

/**
 * The second half, from the bytes of the body to the answer; errors go to the one mapper.
 *
 *   401, 403, 503 once more, for what changed while the body was on its way, or while a page waited for its turn
 *   (now the other requests that arrived in this turn of the event loop are read, too)
 *   → with an idempotency key: 400 of the key → replay, 422 or 409 in flight → 400 of the query → JSON → 400 of the body
 *   → operation: 403 destinations → 404 → 400 of the whole → deduplication → 409 → commit → answer
 */
const answer = (
  options: PipelineOptions,
  endpoint: Endpoint,
  handle: (call: AnyCall) => Promise<Answer>,
  sendProblem: SendProblem,
) => {
  const { vault, idempotency, headerPrefix, shedding, loopTurns, pageRoom } = options
  const findCaller = callerOf(options)
  const send = answerSender(endpoint, ownHeaders(headerPrefix).traceId)
  const takesBody = endpoint.method !== 'GET'

  /** C27: a key may be revoked, or its rules may change, while the body is on its way or a page waits for its turn. */
  const replaceCaller = async (exchange: Exchange): Promise<void> => {
    exchange.caller = await findCaller(exchange)
    if (exchange.caller === undefined) throw new VaultError('unauthorized')
    requirePermission(exchange.caller, endpoint)
  }

  const run = (
    { url, params }: Exchange,
    caller: Caller | undefined,
    bytes: Buffer | undefined,
  ): Promise<Answer> => {
    const query = readQuery(url)
    if (endpoint.query === undefined && endpoint.permission !== 'open') refuseQuery(query)
    const body = readBody(endpoint, bytes)
    return handle({ vault, headerPrefix, caller, params, query, body })
  }

  /** With an idempotency key: the answer that was kept under it, or a new one, which is then kept. */
  const answerTo = (
    exchange: Exchange,
    caller: Caller | undefined,
    bytes: Buffer | undefined,
  ): Promise<Answer | Replayed> => {
    const { method, url, headers } = exchange
    const key = endpoint.takesIdempotencyKey ? headers[idempotency.header] : undefined
    if (key === undefined || caller === undefined) return run(exchange, caller, bytes)
    const asked = { method, path: pathOf(url), key: readIdempotencyKey(key), body: bytes }
    return idempotency.once(caller, asked, keeping => run(exchange, keeping, bytes))
  }

  /** C27: a row that does not open may be sealed with a key that another process made a moment ago. */
  const callerWithNewKeys = async (error: unknown, caller: Caller | undefined): Promise<Caller> => {
    if (!(error instanceof TamperedError) || caller === undefined) throw error
    const keys = await vault.keyring.lookAgain(caller.tenantNumber, caller.tenant.id)
    if (keys.currentDataVersion === caller.keys.currentDataVersion) throw error
    return { ...caller, keys }
  }

  return async (exchange: Exchange): Promise<void> => {
    let isEntered = false
    let isInRoom = false
    try {
      let bytes = takesBody ? exchange.body() : undefined
      if (bytes instanceof Promise) {
        bytes = await bytes
        if (exchange.caller !== undefined) await replaceCaller(exchange)
      }
      const length = bytes?.length ?? 0
      // Checked again: other requests were admitted while this body was on its way.
      shedding.requireShortQueue(loopTurns.ahead(length))
      shedding.enter()
      isEntered = true
      if (endpoint.isPage) {
        await pageRoom.enter()
        isInRoom = true
        if (exchange.caller !== undefined) await replaceCaller(exchange)
      }
      await loopTurns.next(length)
      const { caller } = exchange
      let answer: Answer | Replayed
      try {
        answer = await answerTo(exchange, caller, bytes)
      } catch (error) {
        answer = await answerTo(exchange, await callerWithNewKeys(error, caller), bytes)
      }
      send(exchange, answer)
    } catch (error) {
      sendProblem(exchange, error)
    } finally {
      if (isInRoom) pageRoom.leave(exchange.socket)
      if (isEntered) shedding.leave()
    }
  }
}

const refuseQuery = (query: readonly QueryPair[]): void => {
  const issues: Issue[] = []
  checkNames(query, [], issues)
  requireNone(issues)
}
