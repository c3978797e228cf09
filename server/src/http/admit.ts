import type { Endpoint } from '../contract/endpoint.ts'
import { VaultError } from '../domain/errors.ts'
import type { Caller } from '../operations/vault/vault.ts'
import { requireBodyForm } from './body.ts'
import { callerOf } from './caller-of.ts'
import type { Exchange } from './exchange.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import { requirePermission } from './require-permission.ts'

/** Throws the refusal. Waits only where a step does. */
export type Admit = (exchange: Exchange) => undefined | 'answered' | Promise<undefined>

/**
 * The first half of a request's life, in the order of C3: everything that can be decided before the body is read.
 *
 *   503 overload, but for probes → (an open endpoint is admitted here) → 204 to a CORS preflight, which has no key → 401 → 429
 *   → (without an endpoint the request is refused here) → 403 permission as such → 415 → 413
 */
export const admit = (options: PipelineOptions, endpoint: Endpoint | undefined): Admit => {
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

  const requireEndpointsTerms = (exchange: Exchange, caller: Caller): undefined => {
    if (endpoint === undefined) return
    requirePermission(caller, endpoint)
    requireBodyForm(exchange, endpoint)
  }

  return exchange => {
    if (endpoint?.isProbe !== true) {
      shedding.requireShortQueue(loopTurns.ahead(exchange.bodyBytes))
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
