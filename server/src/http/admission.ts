import type { Endpoint } from '../contract/endpoint.ts'
import { ownHeaders } from '../contract/headers.ts'
import { holds } from '../domain/access/access.ts'
import type { ActKind } from '../domain/acts/act.ts'
import { VaultError } from '../domain/errors.ts'
import { describeError, type Log } from '../domain/log.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import { authenticate } from '../operations/keys/authenticate.ts'
import type { Caller, CallerKey, KnownCaller, Vault } from '../operations/vault/vault.ts'
import type { Cors } from './cors.ts'
import type { Exchange } from './exchange.ts'
import { requireBodyForm } from './input.ts'
import { actKindOf, beginAct } from './recording.ts'
import type { SourceOf } from './source-address.ts'
import type { Visit } from './visit.ts'

export type AdmissionOptions = {
  readonly vault: Vault
  readonly log: Log
  readonly headerPrefix: string
  readonly rateLimit: RateLimit
  readonly cors: Cors
  readonly sourceOf: SourceOf
}

/** Decides everything that can be decided before the body is read. Returns a promise only where it must wait. */
export type Admission = {
  /** Returns the caller, `undefined` if the endpoint needs none, or `answered` for a preflight. Throws the refusal. */
  admit(exchange: Exchange, visit: Visit): Admitted | Promise<Admitted>
  /** Returns the caller as of now, or throws 401 or 403. */
  identify(exchange: Exchange, visit: Visit): Caller | Promise<Caller>
}

/** What is done where no route leads is not recorded. */
const noAct: ActKind = { operation: 'none', entityType: 'tenant' }

type Admitted = Caller | undefined | 'answered'

/** Checks in the order of C3. Without an endpoint, it stops once the caller is known. */
export const admission = (
  options: AdmissionOptions,
  endpoint: Endpoint | undefined,
  find = callerFinder(options),
): Admission => {
  const { vault, rateLimit, cors, sourceOf } = options
  const kind = (endpoint && actKindOf(endpoint)) ?? noAct

  /** Throws 401. If the key was unknown when the request arrived, its holder is charged from now on. */
  const requireCaller = (exchange: Exchange, visit: Visit): Caller | Promise<Caller> => {
    const found = find(exchange, visit)
    if (!(found instanceof Promise)) return asCaller(found, exchange, visit)
    return found.then(async known => {
      await visit.chargeTo(known)
      return asCaller(known, exchange, visit)
    })
  }

  const asCaller = (known: KnownCaller | undefined, exchange: Exchange, visit: Visit): Caller => {
    if (known === undefined) throw new VaultError('unauthorized')
    const caller = {
      ...known,
      work: visit.work,
      trace: visit.trace,
      traceparent: visit.traceparent,
      memory: visit.memory,
      act: beginAct(kind, known, exchange, {
        status: endpoint?.status ?? 404,
        address: sourceOf(exchange),
      }),
    }
    visit.caller = caller
    vault.acts.requireOpen(known.tenantNumber)
    return caller
  }

  const requireRights = (exchange: Exchange, visit: Visit, caller: Caller): Caller => {
    if (endpoint === undefined) return caller
    requirePermission(caller, endpoint)
    requireBodyForm(exchange, endpoint)
    if (!visit.hasRoom) throw new VaultError('overloaded')
    return caller
  }

  const admitCaller = (exchange: Exchange, visit: Visit, caller: Caller): Caller | Promise<Caller> => {
    const { apiKey } = caller
    if (apiKey === undefined) throw new VaultError('unauthorized')
    vault.keyUses.note(apiKey.hash, vault.clock())
    exchange.corsHeaders = cors.allow(exchange, caller)
    const limiting = rateLimit(apiKey)
    return limiting === undefined
      ? requireRights(exchange, visit, caller)
      : limiting.then(() => requireRights(exchange, visit, caller))
  }

  return {
    admit: (exchange, visit) => {
      if (endpoint?.permission === 'open') return undefined
      if (cors.preflight(exchange)) return 'answered'
      const caller = requireCaller(exchange, visit)
      return caller instanceof Promise
        ? caller.then(found => admitCaller(exchange, visit, found))
        : admitCaller(exchange, visit, caller)
    },
    identify: async (exchange, visit) => {
      const caller = await requireCaller(exchange, visit)
      if (endpoint !== undefined) requirePermission(caller, endpoint)
      return caller
    },
  }
}

/** 403 to an application that holds the endpoint's permission nowhere (C3: "permission as such"). */
const requirePermission = ({ application }: Caller, { permission }: Endpoint): void => {
  const isPermitted = permission === 'open' || permission === 'any key' || holds(application, permission)
  if (!isPermitted) throw new VaultError('forbidden', { detail: `This needs the permission ${permission}.` })
}

/** A key grants nothing if its rows do not open. It is treated as unknown, and the log names the row. */
export const refuseKey = (log: Log, error: unknown, { traceId }: Exchange): undefined => {
  if (!(error instanceof TamperedError)) throw error
  log.error({ trace_id: traceId, ...describeError(error) }, 'a key was refused')
}

export type FindCaller = (
  exchange: Exchange,
  visit: Visit,
) => KnownCaller | undefined | Promise<KnownCaller | undefined>

/** Finds who holds the key of a request, as of now. Returns a promise only where storage must be asked. */
export const callerFinder = ({ vault, log, headerPrefix }: AdmissionOptions): FindCaller => {
  const { apiKey } = ownHeaders(headerPrefix)

  return (exchange, { keyName }) => {
    const keyText = exchange.headers[apiKey]
    if (typeof keyText !== 'string') return undefined
    const found = authenticate(vault, keyText, keyName)
    return found instanceof Promise ? found.catch(error => refuseKey(log, error, exchange)) : found
  }
}

/** Refuses a key that is over its rate with 429 and Retry-After. Returns a promise if several processes share the buckets. */
export type RateLimit = (apiKey: CallerKey) => undefined | Promise<undefined>

/** `takeShare` is undefined if no rate is set. */
export const rateLimit = (takeShare: ((name: string) => number | Promise<number>) | undefined): RateLimit => {
  if (takeShare === undefined) return () => undefined
  return ({ hash }) => {
    const waitSeconds = takeShare(Buffer.from(hash).toString('base64'))
    return typeof waitSeconds === 'number' ? refuseIf(waitSeconds) : waitSeconds.then(refuseIf)
  }
}

const refuseIf = (waitSeconds: number): undefined => {
  if (waitSeconds > 0)
    throw new VaultError('rateLimited', { headers: { 'retry-after': String(waitSeconds) } })
}
