import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.ts'
import { dropNulls } from '../contract/null-fields.ts'
import { holds } from '../domain/access.ts'
import { type Issue, invalid, TamperedError, VaultError } from '../domain/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../domain/json.ts'
import { limits } from '../domain/limits.ts'
import { describeError, type Log } from '../domain/log.ts'
import { parseJson } from '../domain/parse-json.ts'
import { chosenName } from '../domain/place.ts'
import { authenticate } from '../operations/authenticate.ts'
import { changesWaiting } from '../operations/commit.ts'
import type { Caller, Vault } from '../operations/vault.ts'
import type { Cors } from './cors.ts'
import { type Answer, ReadyText } from './handlers.ts'
import { type Idempotency, readIdempotencyKey } from './idempotency.ts'
import type { LoadShedding } from './load-shedding.ts'
import { readQuery } from './query.ts'
import type { RateLimit } from './rate-limit.ts'
import { traceId } from './trace-id.ts'
import type { Turns } from './turns.ts'

/**
 * The life of a request, in the order of C3:
 *
 *   admit:   trace id → 503 overload → 401 → 429 → 404/405 of the route → 403 permission as such → 415, 413
 *   (the body is read)
 *   (the others of this turn are read, too)
 *   answer:  idempotent replay or claim → JSON → 400 → operation: 403 destinations → 404 → 400 of the whole → deduplication → 409
 *            → commit → answer
 */
declare module 'fastify' {
  interface FastifyRequest {
    traceId: string
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
  readonly turns: Turns
}
type Done = (error?: Error) => void

/**
 * Everything that can be said before the body is read, for one endpoint, or for none: then `refusal` says what is wrong
 * with the path, to those who have a key.
 */
export const admit = (
  { vault, log, headerPrefix, rateLimit, cors, shedding, turns }: PipelineOptions,
  endpoint: Endpoint | undefined,
  refusal: (path: string) => VaultError = () => new VaultError('notFound'),
) => {
  const traceHeader = `${headerPrefix}-trace-id`
  const keyHeader = `${headerPrefix}-api-key`

  const authorize = (request: FastifyRequest, caller: Caller | undefined): undefined | Promise<undefined> => {
    if (caller === undefined) throw new VaultError('unauthorized')
    request.caller = caller
    vault.keyUses.note(caller.apiKey.hash, vault.clock())
    request.corsHeaders = cors.allow(request, caller)
    const waiting = rateLimit(caller)
    if (waiting === undefined) return requireRoute(request, caller)
    return waiting.then(() => requireRoute(request, caller))
  }

  const requireRoute = (request: FastifyRequest, caller: Caller): undefined => {
    if (endpoint === undefined) throw refusal(pathOf(request))
    if (!isPermitted(caller, endpoint)) throw new VaultError('forbidden')
    requireBodyForm(request, endpoint)
  }

  return (request: FastifyRequest, reply: FastifyReply, done: Done): void => {
    const { headers } = request
    request.traceId = traceId(headers[traceHeader])
    if (headers.host === undefined && request.raw.httpVersion !== '1.0') {
      done(new VaultError('badRequest'))
      return
    }
    try {
      if (endpoint?.isProbe !== true) {
        shedding.requireTurn(turns.ahead(Number(headers['content-length'] ?? 0)))
        shedding.requireRoom(request.method === 'GET' ? 0 : changesWaiting(vault.store))
      }
    } catch (error) {
      done(error as Error)
      return
    }
    if (endpoint?.permission === 'open') {
      done()
      return
    }
    if (cors.preflight(request, reply)) return
    const settle = (caller: Caller | undefined): void => {
      let refusal: Error | undefined
      try {
        const waiting = authorize(request, caller)
        if (waiting !== undefined) {
          waiting.then(done, done)
          return
        }
      } catch (error) {
        refusal = error as Error
      }
      done(refusal)
    }
    /** A row that grants and does not open grants nothing: its key is unknown, and the log names the row. */
    const refuse = (error: Error): void => {
      if (error instanceof TamperedError) {
        log.error({ trace_id: request.traceId, ...describeError(error) }, 'a key was refused')
        settle(undefined)
      } else done(error)
    }
    const keyText = headers[keyHeader]
    // A known key is found without waiting; only its first use goes to storage.
    const caller = typeof keyText === 'string' ? authenticate(vault, keyText) : undefined
    if (caller instanceof Promise) caller.then(settle, refuse)
    else settle(caller)
  }
}

const isPermitted = ({ application }: Caller, { permission }: Endpoint): boolean =>
  permission === 'open' || permission === 'any key' || holds(application, permission)

/** One spelling for all that name the same thing: with a host or a slash at the end, or letters written as `%74`. */
const pathOf = ({ url }: FastifyRequest): string => {
  const path = (url.split('?', 1)[0] ?? '').replace(/^https?:\/\/[^/]*/i, '').replace(/\/$/, '')
  if (!path.includes('%')) return path
  try {
    const parts = path.split('/').map(part => decodeURIComponent(part).replaceAll('/', '%2F'))
    return parts.join('/')
  } catch {
    return path
  }
}

const requireBodyForm = (request: FastifyRequest, { bodyType, bodyIsOptional }: Endpoint): void => {
  if (bodyType === undefined) return
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers
  const isEmpty = length === undefined ? request.headers['transfer-encoding'] === undefined : length === '0'
  if (bodyIsOptional === true && isEmpty) return
  if (type?.split(';', 1)[0]?.trim().toLowerCase() !== bodyType)
    throw new VaultError('unsupportedMediaType', { detail: `The Content-Type must be ${bodyType}.` })
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new VaultError('unsupportedMediaType', {
      detail: 'The body must be sent without a Content-Encoding.',
    })
  if (Number(length) > limits.bodyBytes) throw new VaultError('bodyTooLarge')
}

/** From the bytes of the body to the answer; errors go to the one mapper. */
export const answer = (
  { vault, idempotency, headerPrefix, shedding, turns }: PipelineOptions,
  endpoint: Endpoint,
  handle: (call: never) => Promise<Answer>,
  headersOf: (body: JsonObject) => Record<string, string> = () => ({}),
) => {
  const traceHeader = `${headerPrefix}-trace-id`

  const run = (request: FastifyRequest, caller: Caller | undefined): Promise<Answer> => {
    const query = readQuery(request.url)
    if (endpoint.query === undefined && endpoint.permission !== 'open') refuseQuery(query)
    const body = readBody(endpoint, request.body)
    return handle({ vault, headerPrefix, caller, params: request.params, query, body } as never)
  }

  /**
   * Written past Fastify's reply, which would look at each header and at the payload once more; that costs as
   * much as finding the token.
   */
  const send = (request: FastifyRequest, reply: FastifyReply, answer: Answer, replayed: boolean): void => {
    const headers: Record<string, string | number> = { 'cache-control': 'no-store' }
    headers[traceHeader] = request.traceId
    let content: string | undefined
    if (answer instanceof ReadyText) {
      Object.assign(headers, answer.headers)
      headers['content-type'] = answer.type
      content = answer.content
    } else if (answer !== undefined && endpoint.status !== 204) {
      if (isJsonObject(answer)) Object.assign(headers, headersOf(answer))
      headers['content-type'] = 'application/json; charset=utf-8'
      content = JSON.stringify(answer)
    }
    if (content !== undefined) headers['content-length'] = Buffer.byteLength(content)
    if (replayed) headers['idempotent-replayed'] = 'true'
    if (isDraining(reply)) headers.connection = 'close'
    if (request.corsHeaders !== undefined) Object.assign(headers, request.corsHeaders)
    reply.hijack()
    reply.raw.writeHead(endpoint.status, headers)
    reply.raw.end(content)
  }

  /** The kept answer, or the one that is kept now. */
  const answerOnce = (request: FastifyRequest, caller: Caller, key: string | string[]) =>
    idempotency.once(
      caller,
      {
        method: request.method,
        path: pathOf(request),
        key: readIdempotencyKey(key),
        body: request.body as Uint8Array | undefined,
      },
      keeping => run(request, keeping),
    )

  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { caller } = request
    const bodyBytes = (request.body as Uint8Array | undefined)?.length ?? 0
    const key = endpoint.takesIdempotencyKey === undefined ? undefined : request.headers[idempotency.header]
    // Once more: others were let in while this body was on its way.
    shedding.requireTurn(turns.ahead(bodyBytes))
    shedding.enter()
    try {
      await turns.next(bodyBytes)
      if (key === undefined || caller === undefined) send(request, reply, await run(request, caller), false)
      else {
        const { answer, replayed } = await answerOnce(request, caller, key)
        send(request, reply, answer, replayed)
      }
    } finally {
      shedding.leave()
    }
  }
}

/** A connection whose request was in flight when the service stopped would be kept alive after its answer. */
export const isDraining = (reply: FastifyReply): boolean => !reply.server.server.listening

const readBody = (endpoint: Endpoint, bytes: unknown): unknown => {
  if (endpoint.checkBody === undefined) return undefined
  const hasBytes = bytes instanceof Uint8Array && bytes.length > 0
  if (!hasBytes && endpoint.bodyIsOptional === true) return {}
  let body: Json = parseJson(hasBytes ? bytes : new Uint8Array(0))
  if (endpoint.body !== undefined && endpoint.nullIsAbsentExcept !== undefined)
    body = dropNulls(body, endpoint.body, endpoint.nullIsAbsentExcept)
  const issues: Issue[] = []
  const checked = endpoint.checkBody(body, '', issues)
  if (issues.length > 0) throw invalid(...issues)
  return checked
}

/** C6: a misspelt filter must not go unnoticed. */
const refuseQuery = (query: readonly { name: string }[]): void => {
  if (query.length === 0) return
  throw invalid(
    ...query.slice(0, limits.errorsPerAnswer).map(({ name }, index) => ({
      path: chosenName(name, index + 1),
      message: 'is not a known query parameter',
    })),
  )
}
