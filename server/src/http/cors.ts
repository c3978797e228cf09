import type { FastifyReply, FastifyRequest } from 'fastify'
import { ownHeaders } from '../contract/headers.ts'
import type { Caller } from '../operations/vault/vault.ts'

/** C4: off unless origins are named, and then for keys of public applications only. */
export type Cors = {
  /** Answers a preflight, which carries no key; false if the request is not one. */
  preflight(request: FastifyRequest, reply: FastifyReply): boolean
  /** Headers that let the browser show the answer to the page. */
  allow(request: FastifyRequest, caller: Caller): Readonly<Record<string, string>> | undefined
}

export const cors = (origins: readonly string[], headerPrefix: string): Cors => {
  if (origins.length === 0) return { preflight: () => false, allow: () => undefined }
  const { apiKey, traceId, idempotencyKey } = ownHeaders(headerPrefix)
  const allowed = (request: FastifyRequest): string | undefined =>
    origins.find(origin => origin === request.headers.origin)
  return {
    preflight: (request, reply) => {
      const origin = allowed(request)
      const isPreflight =
        request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
      if (origin === undefined || !isPreflight) return false
      reply
        .code(204)
        .headers({
          [traceId]: request.id,
          'cache-control': 'no-store',
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'POST, PATCH',
          // `*` allows the headers in which client libraries describe themselves; nothing here reads them.
          'access-control-allow-headers': `content-type, ${apiKey}, ${traceId}, ${idempotencyKey}, *`,
          'access-control-max-age': '600',
          vary: 'origin',
        })
        .send()
      return true
    },
    allow: (request, caller) => {
      const origin = allowed(request)
      if (origin === undefined || caller.application.type !== 'public') return undefined
      return {
        'access-control-allow-origin': origin,
        'access-control-expose-headers': `location, retry-after, ${traceId}, idempotent-replayed`,
        vary: 'origin',
      }
    },
  }
}
