import { ownHeaders } from '../contract/headers.ts'
import type { Caller } from '../operations/vault/vault.ts'
import type { Exchange } from './exchange.ts'

/** C4: off unless origins are named, and then for keys of public applications only. */
export type Cors = {
  /** Answers a preflight, which carries no key. Returns false if the request is no preflight. */
  preflight(exchange: Exchange): boolean
  /** Headers that let the browser show the answer to the page. */
  allow(exchange: Exchange, caller: Pick<Caller, 'application'>): Readonly<Record<string, string>> | undefined
}

export const cors = (origins: readonly string[], headerPrefix: string): Cors => {
  if (origins.length === 0) return { preflight: () => false, allow: () => undefined }
  const { apiKey, traceId, idempotencyKey } = ownHeaders(headerPrefix)
  const allowed = ({ headers }: Exchange): string | undefined =>
    origins.find(origin => origin === headers.origin)
  return {
    preflight: exchange => {
      const origin = allowed(exchange)
      const isPreflight =
        exchange.method === 'OPTIONS' && exchange.headers['access-control-request-method'] !== undefined
      if (origin === undefined || !isPreflight) return false
      exchange.send(204, {
        [traceId]: exchange.traceId,
        'cache-control': 'no-store',
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'POST, PATCH',
        // `*` allows the headers in which client libraries describe themselves. The service does not read them.
        'access-control-allow-headers': `content-type, ${apiKey}, ${traceId}, ${idempotencyKey}, *`,
        'access-control-max-age': '600',
        vary: 'origin',
      })
      return true
    },
    allow: (exchange, caller) => {
      const origin = allowed(exchange)
      if (origin === undefined || caller.application.type !== 'public') return undefined
      return {
        'access-control-allow-origin': origin,
        'access-control-expose-headers': `location, retry-after, ${traceId}, idempotent-replayed`,
        vary: 'origin',
      }
    },
  }
}
