import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.ts'
import { dropNulls } from '../contract/null-fields.ts'
import { holds } from '../domain/access.ts'
import { type Issue, invalid, TamperedError, VaultError } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'
import { limits } from '../domain/limits.ts'
import { describeError, type Log } from '../domain/log.ts'
import { parseJson } from '../domain/parse-json.ts'
import { chosenName } from '../domain/place.ts'
import { authenticate } from '../operations/authenticate.ts'
import type { Caller, Vault } from '../operations/vault.ts'
import type { Answer } from './handlers.ts'
import { readQuery } from './query.ts'
import { traceId } from './trace-id.ts'

/**
 * The life of a request, in the order of C3:
 *
 *   admit:   trace id → 401 → 404/405 of the route → 403 permission as such → 415, 413
 *   (the body is read)
 *   answer:  JSON → 400 → operation: 403 destinations → 404 → 400 of the whole → deduplication → 409
 *            → commit → answer
 */
declare module 'fastify' {
  interface FastifyRequest {
    traceId: string
    caller: Caller | undefined
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint
  }
}

export type PipelineOptions = { readonly vault: Vault; readonly headerPrefix: string; readonly log: Log }
type Done = (error?: Error) => void

/** Everything that can be said before the body is read. `allowed` names the methods of a path. */
export const admit = ({ vault, headerPrefix, log }: PipelineOptions, allowed: (path: string) => string[]) => {
  const traceHeader = `${headerPrefix}-trace-id`
  const keyHeader = `${headerPrefix}-api-key`
  const challenge = `ApiKey header="${keyHeader.toUpperCase()}"`

  const authorize = (request: FastifyRequest, caller: Caller | undefined): void => {
    if (caller === undefined)
      throw new VaultError('unauthorized', { headers: { 'www-authenticate': challenge } })
    request.caller = caller
    const { endpoint } = request.routeOptions.config
    if (endpoint === undefined) throw noSuchRoute(allowed(pathOf(request)))
    if (endpoint.permission !== 'open' && !holds(caller.application, endpoint.permission))
      throw new VaultError('forbidden')
    requireBodyForm(request, endpoint)
  }

  return (request: FastifyRequest, reply: FastifyReply, done: Done): void => {
    request.traceId = traceId(request.headers[traceHeader])
    reply.header(traceHeader, request.traceId).header('cache-control', 'no-store')
    if (request.routeOptions.config.endpoint?.permission === 'open') {
      done()
      return
    }
    const settle = (caller: Caller | undefined): void => {
      let refusal: Error | undefined
      try {
        authorize(request, caller)
      } catch (error) {
        refusal = error as Error
      }
      done(refusal)
    }
    // A grant that was changed in storage grants nothing: the caller hears what everyone without a key hears.
    const refuse = (error: Error): void => {
      if (!(error instanceof TamperedError)) {
        done(error)
        return
      }
      log.error({ trace_id: request.traceId, ...describeError(error) }, 'a stored grant does not open')
      settle(undefined)
    }
    const keyText = request.headers[keyHeader]
    // A known key is found without waiting; only its first use goes to storage.
    const caller = typeof keyText === 'string' ? authenticate(vault, keyText) : undefined
    if (caller instanceof Promise) caller.then(settle, refuse)
    else settle(caller)
  }
}

const pathOf = (request: FastifyRequest): string => request.url.split('?', 1)[0] ?? ''

const noSuchRoute = (methods: readonly string[]): VaultError =>
  methods.length === 0
    ? new VaultError('notFound')
    : new VaultError('methodNotAllowed', { headers: { allow: methods.join(', ') } })

const requireBodyForm = (request: FastifyRequest, { bodyType }: Endpoint): void => {
  if (bodyType === undefined) return
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers
  if (type?.split(';', 1)[0]?.trim().toLowerCase() !== bodyType)
    throw new VaultError('unsupportedMediaType', { detail: `The Content-Type must be ${bodyType}.` })
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new VaultError('unsupportedMediaType', {
      detail: 'The body must be sent without a Content-Encoding.',
    })
  if (Number(length) > limits.bodyBytes) throw new VaultError('bodyTooLarge')
}

/** From the bytes of the body to the answer; errors go to the one mapper. */
export const answer =
  ({ vault }: PipelineOptions, endpoint: Endpoint, handle: (call: never) => Promise<Answer>) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const query = readQuery(request.url)
    if (endpoint.query === undefined && endpoint.permission !== 'open') refuseQuery(query)
    const { id = '' } = request.params as { id?: string }
    const call = { vault, caller: request.caller, id, query, body: readBody(endpoint, request.body) }
    const { body, text, headers } = await handle(call as never)
    reply.code(endpoint.status)
    if (headers !== undefined) reply.headers(headers)
    if (text !== undefined) return reply.type(text.type).send(text.content)
    if (body === undefined) return reply.send()
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
  }

const readBody = (endpoint: Endpoint, bytes: unknown): unknown => {
  if (endpoint.checkBody === undefined) return undefined
  let body: Json = parseJson(bytes instanceof Uint8Array ? bytes : new Uint8Array(0))
  if (endpoint.nullIsAbsentExcept !== undefined) body = dropNulls(body, endpoint.nullIsAbsentExcept)
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
