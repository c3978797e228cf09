import type { Endpoint } from '../contract/endpoint.ts'
import { ownHeaders } from '../contract/headers.ts'
import { checkNames } from '../contract/query-pairs.ts'
import { type Issue, requireNone, VaultError } from '../domain/errors.ts'
import { knownCaller } from '../operations/keys/authenticate.ts'
import type { Caller } from '../operations/vault/vault.ts'
import { withNewerKeys } from '../operations/vault/with-newer-keys.ts'
import type { ByteAccount } from '../scheduling/byte-budget.ts'
import { GoneError, type Work } from '../scheduling/scheduler.ts'
import { readBody, requireBodyForm } from './body.ts'
import type { Answer, Handle } from './call.ts'
import { type CallerOf, callerOf } from './caller-of.ts'
import type { Exchange, Serve } from './exchange.ts'
import { type Replayed, readIdempotencyKey } from './idempotency.ts'
import { logAnswers } from './log-answers.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import { readQuery } from './query.ts'
import { requirePermission } from './require-permission.ts'
import { plainPath } from './routes.ts'
import { answerSender } from './send-answer.ts'
import { problemSender } from './send-problem.ts'

/**
 * The life of a request of this endpoint, in the order of C3. Every step may end it; errors go to the one mapper.
 *
 *   a turn          503 if it does not come in time; probes take none
 *   admission       204 to a CORS preflight → 401 → 429 → 403 permission as such → 415 → 413 → 503 no room for the body
 *   the body        and 401, 403 once more, for what changed while it was on its way
 *   the answer      idempotent replay, 422 or 409 → 400 of the query → JSON → 400 of the body → the operation, which refuses or commits
 */
export const serve = (options: PipelineOptions, endpoint: Endpoint, handle: Handle): Serve => {
  const { vault, idempotency, headerPrefix } = options
  const steps = admission(options, endpoint)
  const sendProblem = problemSender(options, endpoint.path)
  const send = answerSender(endpoint, ownHeaders(headerPrefix).traceId)
  const takesBody = endpoint.method !== 'GET'

  const run = (
    { url, params }: Exchange,
    caller: Caller | undefined,
    body: Buffer | undefined,
  ): Promise<Answer> => {
    const query = readQuery(url)
    if (endpoint.query === undefined && endpoint.permission !== 'open') refuseQuery(query)
    const call = { vault, headerPrefix, params, query, body: readBody(endpoint, body) }
    return caller === undefined
      ? handle({ ...call, caller })
      : withNewerKeys(vault, caller, current => handle({ ...call, caller: current }))
  }

  /** With an idempotency key: the answer that was kept under it, or a new one, which is then kept. */
  const answerTo = (
    exchange: Exchange,
    caller: Caller | undefined,
    body: Buffer | undefined,
  ): Promise<Answer | Replayed> => {
    const { method, url, headers } = exchange
    const key = endpoint.takesIdempotencyKey ? headers[idempotency.header] : undefined
    if (key === undefined || caller === undefined) return run(exchange, caller, body)
    const asked = { method, path: plainPath(url), key: readIdempotencyKey(key), body }
    return idempotency.once(caller, asked, keeping => run(exchange, keeping, body))
  }

  const live = async (exchange: Exchange): Promise<void> => {
    const visit = enter(options, exchange)
    const { work } = visit
    try {
      if (endpoint.isProbe !== true) await work.turn()
      let caller = await steps.admit(exchange, visit)
      if (caller === 'answered') return
      let body = takesBody ? exchange.body(bytes => visit.memory.hold(bytes)) : undefined
      if (body instanceof Promise) {
        body = await body
        await work.turn()
        // C27: the key may have been revoked, or its rules may have changed.
        if (caller !== undefined) caller = await steps.identify(exchange, visit)
      }
      const answer = await answerTo(exchange, caller && { ...caller, work }, body)
      if (endpoint.isProbe !== true) await work.turn()
      await send(exchange, answer, visit.memory)
    } catch (error) {
      visit.memory.keep(0)
      if (!(error instanceof GoneError)) sendProblem(exchange, error)
    } finally {
      work.end()
    }
  }
  return logAnswers(options.log, endpoint.path, exchange => void live(exchange))
}

/** Refuses what leads to no endpoint. A caller without a key is not told why (C3). */
export const refuse = (options: PipelineOptions, refusal: (exchange: Exchange) => VaultError): Serve => {
  const steps = admission(options, undefined)
  const sendProblem = problemSender(options)
  const live = async (exchange: Exchange): Promise<void> => {
    const visit = enter(options, exchange)
    try {
      await visit.work.turn()
      if ((await steps.admit(exchange, visit)) !== 'answered') sendProblem(exchange, refusal(exchange))
    } catch (error) {
      if (!(error instanceof GoneError)) sendProblem(exchange, error)
    } finally {
      visit.memory.keep(0)
      visit.work.end()
    }
  }
  return logAnswers(options.log, undefined, exchange => void live(exchange))
}

/** What a request takes of the processor and of memory, and to whom it is charged. */
type Visit = { readonly work: Work; memory: ByteAccount; hasRoom: boolean }

/** Those whose key is not known yet share as one tenant, each where it calls from. */
const strangers = Symbol('strangers')

const enter = ({ vault, scheduler, memory, headerPrefix }: PipelineOptions, exchange: Exchange): Visit => {
  const keyText = exchange.headers[ownHeaders(headerPrefix).apiKey]
  const known = typeof keyText === 'string' ? knownCaller(vault, keyText) : undefined
  const [tenant, key] = known?.apiKey
    ? [known.tenantNumber, known.apiKey.hash]
    : [strangers, exchange.remoteAddress]
  const work = scheduler.work(tenant, key)
  exchange.onGone = () => work.cancel()
  const account = memory.account(tenant, key)
  return { work, memory: account, hasRoom: account.hold(exchange.bodyBytes) }
}

type Admission = {
  /** The caller, or undefined where none is needed; `answered` for a preflight. Throws the refusal. */
  admit(exchange: Exchange, visit: Visit): Promise<Caller | undefined | 'answered'>
  /** 401, 403: the caller as of now. */
  identify(exchange: Exchange, visit: Visit): Promise<Caller>
}

/** Everything that can be decided before the body is read. Without an endpoint, as far as the caller goes. */
const admission = (options: PipelineOptions, endpoint: Endpoint | undefined): Admission => {
  const { vault, rateLimit, cors } = options
  const findCaller = callerOf(options)

  const identify = async (exchange: Exchange, visit: Visit): Promise<Caller> => {
    const caller = await lookUp(findCaller, exchange, visit, options)
    if (endpoint !== undefined) requirePermission(caller, endpoint)
    return caller
  }

  return {
    identify,
    admit: async (exchange, visit) => {
      if (endpoint?.permission === 'open') return undefined
      if (cors.preflight(exchange)) return 'answered'
      const caller = await lookUp(findCaller, exchange, visit, options)
      if (caller.apiKey === undefined) throw new VaultError('unauthorized')
      vault.keyUses.note(caller.apiKey.hash, vault.clock())
      exchange.corsHeaders = cors.allow(exchange, caller)
      await rateLimit(caller.apiKey)
      if (endpoint === undefined) return caller
      requirePermission(caller, endpoint)
      requireBodyForm(exchange, endpoint)
      if (!visit.hasRoom) throw new VaultError('overloaded')
      return caller
    },
  }
}

/** 401. A key that was not known when the request came is charged from now on. */
const lookUp = async (
  findCaller: CallerOf,
  exchange: Exchange,
  visit: Visit,
  { memory }: PipelineOptions,
): Promise<Caller> => {
  const found = findCaller(exchange, visit.work)
  if (!(found instanceof Promise)) {
    if (found === undefined) throw new VaultError('unauthorized')
    return found
  }
  const caller = await found
  if (caller?.apiKey === undefined) {
    await visit.work.turn()
    throw new VaultError('unauthorized')
  }
  const { tenantNumber, apiKey } = caller
  visit.work.chargeTo(tenantNumber, apiKey.hash)
  const held = visit.memory.held
  visit.memory.keep(0)
  visit.memory = memory.account(tenantNumber, apiKey.hash)
  visit.hasRoom = visit.memory.hold(held || exchange.bodyBytes)
  await visit.work.turn()
  return caller
}

const refuseQuery = (query: ReturnType<typeof readQuery>): void => {
  const issues: Issue[] = []
  checkNames(query, [], issues)
  requireNone(issues)
}
