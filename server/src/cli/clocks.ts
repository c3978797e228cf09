import { pace } from '../domain/pace.ts'
import type { Instant } from '../domain/time/instant.ts'
import { visibleTerms } from '../domain/tokens/token-filter.ts'
import { hashTerm } from '../operations/tokens/index-entries.ts'
import type { Vault } from '../operations/vault/vault.ts'
import type { Store } from '../store/port.ts'
import type { ProcessLog } from './log.ts'

type Clock = () => Instant

/**
 * How far this machine's clock is ahead of storage's clock, or behind it (negative). Undefined if they agree as far as nodes
 * must, or if there is no other clock.
 */
export const clockSkewMs = async (store: Store, clock: Clock): Promise<number | undefined> => {
  const askedAt = clock()
  const there = await store.time()
  if (there === undefined) return undefined
  // Storage read its clock at some moment between the question and now: a slow answer is no wrong clock.
  const skewMs = Math.max(askedAt - there, 0) + Math.min(clock() - there, 0)
  return Math.abs(skewMs) > pace.clockSkewMs ? skewMs : undefined
}

export type FutureTokens = {
  /** One for each tenant that has such tokens. */
  readonly counts: readonly { readonly tenantId: string; readonly count: number }[]
  /** When none of them is from the future any more. */
  readonly until: Instant
}

/** Tokens created in the future, by more than the clocks of nodes may differ. */
export const futureTokens = async (vault: Vault, now: Instant): Promise<FutureTokens | undefined> => {
  const { store } = vault
  const newest = await store.newestTokenAt()
  const last = now + pace.clockSkewMs
  if (newest === undefined || newest <= last) return undefined
  const counts: { tenantId: string; count: number }[] = []
  // The newest token may be deleted by now, which counters do not show.
  for (const { tenant, id } of await store.listTenants()) {
    const unlocked = { tenantNumber: tenant, keys: await vault.tenantKeys.of(tenant, id) }
    const everyType = visibleTerms(['/']).map(term => hashTerm(unlocked, term))
    const count = await store.countTokens({ tenant, now, groups: [everyType], createdAt: { from: last + 1 } })
    if (count > 0) counts.push({ tenantId: id, count })
  }
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
