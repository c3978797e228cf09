import { pace } from '../domain/pace.ts'
import type { Instant } from '../domain/time/instant.ts'
import type { TenantCount } from '../operations/maintenance/count-created-after.ts'
import type { Vault } from '../operations/vault/vault.ts'
import type { Store } from '../store/port.ts'
import type { ProcessLog } from './log.ts'

type Clock = () => Instant

/**
 * How far this machine's clock is ahead of storage's clock, or behind it (negative). Undefined if they agree closely enough, or
 * if there is no other clock.
 */
export const clockSkewMs = async (store: Store, clock: Clock): Promise<number | undefined> => {
  const askedAt = clock()
  const there = await store.time()
  if (there === undefined) return undefined
  // Storage read its clock at some moment between the question and now. A slow answer does not mean a wrong clock.
  const skewMs = Math.max(askedAt - there, 0) + Math.min(clock() - there, 0)
  return Math.abs(skewMs) > pace.clockSkewMs ? skewMs : undefined
}

export type FutureTokens = {
  readonly counts: readonly TenantCount[]
  /** The moment from which none of them lies in the future. */
  readonly until: Instant
}

/** Tokens created further in the future than the clocks of nodes may differ. */
export const futureTokens = async (vault: Vault, now: Instant): Promise<FutureTokens | undefined> => {
  const newest = await vault.store.newestTokenAt()
  const last = now + pace.clockSkewMs
  if (newest === undefined || newest <= last) return undefined
  // Loaded on demand: most commands need nothing about tokens, which is half of the vault's code.
  const { countCreatedAfter } = await import('../operations/maintenance/count-created-after.ts')
  // The newest token may be deleted by now. Counters do not show that.
  const counts = await countCreatedAfter(vault, last, now)
  return counts.length === 0 ? undefined : { counts, until: newest - pace.clockSkewMs }
}

/** Expiry and the cvc's hour follow this machine's clock, so a wrong clock is reported when the server starts. */
export const warnOfClocks = async (vault: Vault, log: ProcessLog): Promise<void> => {
  const skewMs = await clockSkewMs(vault.store, vault.clock)
  if (skewMs !== undefined)
    log.warn(
      { skew_ms: skewMs },
      'the clock of this machine and that of the database differ by more than a minute: set the one that is wrong',
    )
  else if ((await futureTokens(vault, vault.clock())) !== undefined)
    log.warn(
      {},
      'storage holds tokens from the future: this clock is behind, or one was ahead; strongroom doctor says more',
    )
}
