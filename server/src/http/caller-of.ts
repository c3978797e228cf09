import { ownHeaders } from '../contract/headers.ts'
import { describeError, type Log } from '../domain/log.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import { authenticate } from '../operations/keys/authenticate.ts'
import type { Caller, KnownCaller, Vault } from '../operations/vault/vault.ts'
import type { Turns } from '../scheduling/scheduler.ts'
import type { Exchange } from './exchange.ts'

export type CallerOf = (exchange: Exchange, work: Turns) => Caller | undefined | Promise<Caller | undefined>

/** The caller whose key a request carries, as of now; undefined if nobody holds it. */
export const callerOf = (options: {
  readonly vault: Vault
  readonly log: Log
  readonly headerPrefix: string
}): CallerOf => {
  const { vault, log, headerPrefix } = options
  const { apiKey } = ownHeaders(headerPrefix)

  /** A key whose rows do not open grants nothing: it is treated as unknown, and the log names the row. */
  const refuse = (error: unknown, { traceId }: Exchange): undefined => {
    if (!(error instanceof TamperedError)) throw error
    log.error({ trace_id: traceId, ...describeError(error) }, 'a key was refused')
  }

  return (exchange, work) => {
    const keyText = exchange.headers[apiKey]
    if (typeof keyText !== 'string') return undefined
    // A known key is found without waiting; only its first use goes to storage.
    const found = authenticate(vault, keyText)
    if (!(found instanceof Promise)) return found && withWork(found, work)
    return found.then(caller => caller && withWork(caller, work)).catch(error => refuse(error, exchange))
  }
}

const withWork = (caller: KnownCaller, work: Turns): Caller => ({ ...caller, work })
