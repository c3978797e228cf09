import { apiKeyName } from '../operations/keys/authenticate.ts'
import type { Caller, KnownCaller, Vault } from '../operations/vault/vault.ts'
import type { ByteAccount, ByteBudget } from '../scheduling/byte-budget.ts'
import type { Scheduler, Work } from '../scheduling/scheduler.ts'
import type { Trace } from '../telemetry/traces.ts'
import type { Exchange } from './exchange.ts'

export type VisitOptions = {
  readonly vault: Vault
  readonly scheduler: Scheduler
  readonly memory: ByteBudget
}

/** Requests with unknown keys share as one tenant, and each is charged by its address. */
const strangers = Symbol('strangers')

/** Clients repeat their headers, and the strict reader returns the same object for repeated headers. */
const namesOfHeaders = new WeakMap<object, string>()

/**
 * The processor time and memory that a request uses, and who is charged for them. Created when a request arrives, before any work
 * on it.
 */
export class Visit {
  readonly work: Work
  memory: ByteAccount
  /** What it does, if it is traced. */
  trace: Trace | undefined = undefined
  /** For requests that it leads to, traced or not. */
  traceparent: string | undefined = undefined
  /** Who calls, once the key is known. */
  caller: Caller | undefined
  /** Whether there is room in memory for the body that it announces. */
  hasRoom: boolean
  /** The name under which the caller cache knows the key's holder. */
  readonly keyName: string | undefined
  readonly #options: VisitOptions
  readonly #tenant: unknown
  readonly #exchange: Exchange

  constructor(options: VisitOptions, exchange: Exchange, keyHeader: string) {
    const { vault, scheduler, memory } = options
    this.#options = options
    this.#exchange = exchange
    this.keyName = nameOfKey(exchange.headers, keyHeader)
    const tenant = this.keyName === undefined ? undefined : vault.callers.lastTenant(this.keyName)
    this.#tenant = tenant ?? strangers
    const key = tenant === undefined ? exchange.remoteAddress : this.keyName
    this.work = scheduler.work(this.#tenant, key)
    this.memory = memory.account(this.#tenant, key)
    this.hasRoom = this.memory.hold(exchange.bodyBytes)
    exchange.onGone = () => this.work.cancel()
  }

  /** Charges the holder of the key that was looked up, and waits for a turn. */
  async chargeTo(caller: KnownCaller | undefined): Promise<void> {
    if (caller !== undefined && caller.tenantNumber !== this.#tenant) {
      const { tenantNumber } = caller
      this.work.chargeTo(tenantNumber, this.keyName)
      this.memory.keep(0)
      this.memory = this.#options.memory.account(tenantNumber, this.keyName)
      this.hasRoom = this.memory.hold(this.#exchange.bodyBytes)
    }
    await this.work.turn()
  }
}

const nameOfKey = (headers: Exchange['headers'], keyHeader: string): string | undefined => {
  const keyText = headers[keyHeader]
  if (typeof keyText !== 'string') return undefined
  let name = namesOfHeaders.get(headers)
  if (name === undefined) {
    name = apiKeyName(keyText)
    namesOfHeaders.set(headers, name)
  }
  return name
}
