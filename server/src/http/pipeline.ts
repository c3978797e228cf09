import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.ts'
import { ownHeaders } from '../contract/headers.ts'
import { checkNames, type QueryPair } from '../contract/query-pairs.ts'
import { holds } from '../domain/access/access.ts'
import { type Issue, requireNone, VaultError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import type { Caller, Vault } from '../operations/vault/vault.ts'
import { readBody, requireBodyForm } from './body.ts'
import { bodyBytes } from './body-bytes.ts'
import { callerOf } from './caller-of.ts'
import type { Cors } from './cors.ts'
import type { Answer, AnyCall } from './handlers.ts'
import { type Idempotency, type Replayed, readIdempotencyKey } from './idempotency.ts'
import type { LoadShedding } from './load-shedding.ts'
import type { LoopTurns } from './loop-turns.ts'
import type { PageRoom } from './page-room.ts'
import { pathOf } from './path-of.ts'
import { readQuery } from './query.ts'
import type { RateLimit } from './rate-limit.ts'
import { sender } from './send.ts'

/** What `admit` finds out about a request, for the steps that follow. */
declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined
    corsHeaders: Readonly<Record<string, string>> | undefined
  }
}

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
type Done = (error?: Error) => void

/**
 * The first half of a request's life, in the order of C3: everything that can be decided before the body is read. Its trace
 * id is already the request's id.
 *
 *   400 without a Host, or with two → 503 overload, but for probes → (an open endpoint is admitted here)
 *   → 204 to a CORS preflight, which has no key → 401 → 429 → 404 or 405 of the route, 400 of a path that cannot be read
 *   → 403 permission as such → 415 → 413
 *
 * Without an endpoint, `refusal` says what is wrong with the path, to callers who have a key.
 */
export const admit = (
  options: PipelineOptions,
  endpoint: Endpoint | undefined,
  refusal: (path: string) => VaultError = () => new VaultError('notFound'),
) => {
  const { vault, rateLimit, cors, shedding, loopTurns } = options
  const findCaller = callerOf(options)

  const authorize = (request: FastifyRequest, caller: Caller | undefined): undefined | Promise<undefined> => {
    if (caller?.apiKey === undefined) throw new VaultError('unauthorized')
    request.caller = caller
    vault.keyUses.note(caller.apiKey.hash, vault.clock())
    request.corsHeaders = cors.allow(request, caller)
    const waiting = rateLimit(caller.apiKey)
    if (waiting === undefined) return requireRoute(request, caller)
    return waiting.then(() => requireRoute(request, caller))
  }

  const requireRoute = (request: FastifyRequest, caller: Caller): undefined => {
    if (endpoint === undefined) throw refusal(pathOf(request))
    requirePermission(caller, endpoint)
    requireBodyForm(request, endpoint)
  }

  return asHook((request, reply) => {
    if (!isHttp1(request.raw)) throw new VaultError('badRequest')
    if (endpoint?.isProbe !== true) {
      shedding.requireShortQueue(loopTurns.ahead(Number(request.headers['content-length'] ?? 0)))
      shedding.requireRoom(endpoint?.changes ? vault.changesWaiting.count : 0)
    }
    if (endpoint?.permission === 'open') return undefined
    if (cors.preflight(request, reply)) return 'answered'
    const caller = findCaller(request)
    return caller instanceof Promise
      ? caller.then(found => authorize(request, found))
      : authorize(request, caller)
  })
}

type Step = undefined | 'answered' | Promise<undefined>

/** Calls `done` outside the `try`: it runs the handler, whose errors are not the hook's. Waits only where a step does. */
const asHook =
  (admission: (request: FastifyRequest, reply: FastifyReply) => Step) =>
  (request: FastifyRequest, reply: FastifyReply, done: Done): void => {
    let step: Step
    try {
      step = admission(request, reply)
    } catch (error) {
      done(error as Error)
      return
    }
    if (step instanceof Promise) step.then(done, done)
    else if (step === undefined) done()
  }

/** There must be one Host, which 1.0 may omit (RFC 9112, 3.2). A plain request has no `headersDistinct`, and repeats no field. */
const isHttp1 = ({ headers, headersDistinct, httpVersion, httpVersionMajor }: IncomingMessage): boolean =>
  httpVersionMajor === 1 &&
  (headers.host !== undefined || httpVersion === '1.0') &&
  (headersDistinct?.host ?? []).length <= 1

const requirePermission = ({ application }: Caller, { permission }: Endpoint): void => {
  const isPermitted = permission === 'open' || permission === 'any key' || holds(application, permission)
  if (!isPermitted) throw new VaultError('forbidden')
}

/**
 * The second half, from the bytes of the body to the answer; errors go to the one mapper.
 *
 *   401, 403, 503 once more, for what changed while the body was on its way, or while a page waited for its turn
 *   (now the other requests that arrived in this turn of the event loop are read, too)
 *   → with an idempotency key: 400 of the key → replay, 422 or 409 in flight → 400 of the query → JSON → 400 of the body
 *   → operation: 403 destinations → 404 → 400 of the whole → deduplication → 409 → commit → answer
 */
export const answer = (
  options: PipelineOptions,
  endpoint: Endpoint,
  handle: (call: AnyCall) => Promise<Answer>,
) => {
  const { vault, idempotency, headerPrefix, shedding, loopTurns, pageRoom } = options
  const findCaller = callerOf(options)
  const send = sender(endpoint, ownHeaders(headerPrefix).traceId)
  const takesBody = endpoint.method !== 'GET'

  /** C27: a key may be revoked, or its rules may change, while the body is on its way or a page waits for its turn. */
  const replaceCaller = async (request: FastifyRequest): Promise<void> => {
    request.caller = await findCaller(request)
    if (request.caller === undefined) throw new VaultError('unauthorized')
    requirePermission(request.caller, endpoint)
  }

  const run = (
    request: FastifyRequest,
    caller: Caller | undefined,
    bytes: Buffer | undefined,
  ): Promise<Answer> => {
    const query = readQuery(request.url)
    if (endpoint.query === undefined && endpoint.permission !== 'open') refuseQuery(query)
    const body = readBody(endpoint, bytes)
    return handle({ vault, headerPrefix, caller, params: request.params, query, body })
  }

  /** With an idempotency key: the answer that was kept under it, or a new one, which is then kept. */
  const answerTo = (
    request: FastifyRequest,
    caller: Caller | undefined,
    bytes: Buffer | undefined,
  ): Promise<Answer | Replayed> => {
    const key = endpoint.takesIdempotencyKey ? request.headers[idempotency.header] : undefined
    if (key === undefined || caller === undefined) return run(request, caller, bytes)
    const asked = { method: request.method, path: pathOf(request), key: readIdempotencyKey(key), body: bytes }
    return idempotency.once(caller, asked, keeping => run(request, keeping, bytes))
  }

  /** C27: a row that does not open may be sealed with a key that another process made a moment ago. */
  const callerWithNewKeys = async (error: unknown, caller: Caller | undefined): Promise<Caller> => {
    if (!(error instanceof TamperedError) || caller === undefined) throw error
    const keys = await vault.keyring.lookAgain(caller.tenantNumber, caller.tenant.id)
    if (keys.currentDataVersion === caller.keys.currentDataVersion) throw error
    return { ...caller, keys }
  }

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    let bytes = takesBody ? bodyBytes(request.raw, reply.raw) : undefined
    if (bytes instanceof Promise) {
      bytes = await bytes
      if (request.caller !== undefined) await replaceCaller(request)
    }
    const length = bytes?.length ?? 0
    // Checked again: other requests were admitted while this body was on its way.
    shedding.requireShortQueue(loopTurns.ahead(length))
    shedding.enter()
    let isInRoom = false
    try {
      if (endpoint.isPage) {
        await pageRoom.enter()
        isInRoom = true
        if (request.caller !== undefined) await replaceCaller(request)
      }
      await loopTurns.next(length)
      const { caller } = request
      let answer: Answer | Replayed
      try {
        answer = await answerTo(request, caller, bytes)
      } catch (error) {
        answer = await answerTo(request, await callerWithNewKeys(error, caller), bytes)
      }
      send(request, reply, answer)
    } finally {
      if (isInRoom) pageRoom.leave(request.raw.socket)
      shedding.leave()
    }
  }
}

const refuseQuery = (query: readonly QueryPair[]): void => {
  const issues: Issue[] = []
  checkNames(query, [], issues)
  requireNone(issues)
}
