import { ownHeaders } from '../contract/headers.ts'
import { isCurrent, knownCaller } from '../operations/keys/authenticate.ts'
import type { KnownCaller } from '../operations/vault/vault.ts'
import type { ByteAccount } from '../scheduling/byte-budget.ts'
import type { Work } from '../scheduling/scheduler.ts'
import type { Exchange } from './exchange.ts'
import type { PipelineOptions } from './pipeline-options.ts'

/** What a request takes of the processor and of memory, and to whom both are charged. */
export type Visit = {
  readonly work: Work
  readonly memory: ByteAccount
  /** The holder of the key, if it was known when the request arrived and no grant has changed since (C27). */
  readonly known: KnownCaller | undefined
  /** Whether there is room in memory for the body that it announces. */
  readonly hasRoom: boolean
  /** Charges the holder of a key that was looked up, and waits for a turn. */
  chargeTo(caller: KnownCaller | undefined): Promise<void>
}

/** Those whose key is not known yet share as one tenant, each by where it calls from. */
const strangers = Symbol('strangers')

/** Begins when a request has arrived, before anything is done for it. */
export const beginVisit = (
  { vault, scheduler, memory, headerPrefix }: PipelineOptions,
  exchange: Exchange,
): Visit => {
  const keyText = exchange.headers[ownHeaders(headerPrefix).apiKey]
  const known = typeof keyText === 'string' ? knownCaller(vault, keyText) : undefined
  const asOf = vault.store.grantsEpoch()
  const work = scheduler.work(...chargedFor(known, exchange))
  exchange.onGone = () => work.cancel()
  let account = memory.account(...chargedFor(known, exchange))
  let hasRoom = account.hold(exchange.bodyBytes)
  return {
    work,
    get known() {
      return vault.store.grantsEpoch() === asOf && isCurrent(known, vault.clock()) ? known : undefined
    },
    get memory() {
      return account
    },
    get hasRoom() {
      return hasRoom
    },
    chargeTo: async caller => {
      const charged = chargedFor(caller, exchange)
      work.chargeTo(...charged)
      account.keep(0)
      account = memory.account(...charged)
      hasRoom = account.hold(exchange.bodyBytes)
      await work.turn()
    },
  }
}

const chargedFor = (
  caller: KnownCaller | undefined,
  { remoteAddress }: Exchange,
): [tenant: unknown, key: unknown] =>
  caller?.apiKey === undefined ? [strangers, remoteAddress] : [caller.tenantNumber, caller.apiKey.hash]
