import { KeyProviderError } from '../../crypto/key-provider.ts'
import { rowLogName, TamperedError } from '../../domain/errors.ts'
import { pace } from '../../domain/pace.ts'
import type { TokenRow } from '../../store/rows.ts'
import { toToken } from '../tokens/token-rows.ts'
import { TokenWrites } from '../tokens/token-writes.ts'
import type { Vault } from '../vault/vault.ts'

export type SweepResult = {
  readonly purged: number
  /** Rows that do not open: how many, and the first of them. */
  readonly unreadable: number
  readonly unreadableNames: readonly string[]
  /** Why tokens of some tenant had to wait for another sweep. */
  readonly locked?: KeyProviderError
}

/** Enough to find them by; they come again with every run until somebody has looked after them. */
const namesMax = 10

/**
 * C17: purges tokens whose time has come, in bounded batches; requests are answered between them. A row that
 * does not open is left for the operator and reported; what cannot be purged never keeps others from being so.
 */
export const sweepExpired = async (vault: Vault, stopping?: AbortSignal): Promise<SweepResult> => {
  const now = vault.clock()
  const unreadableNames: string[] = []
  let unreadable = 0
  let locked: KeyProviderError | undefined
  let purged = 0
  let left = 0
  for (;;) {
    const rows = await vault.store.expiredTokens(now, { offset: left, limit: pace.sweepBatchRows })
    const outcomes = await Promise.all(rows.map(row => purge(vault, row)))
    for (const outcome of outcomes) {
      if (outcome === 'purged') purged++
      else left++
      if (outcome instanceof TamperedError && ++unreadable <= namesMax)
        unreadableNames.push(rowLogName(outcome.row))
      if (outcome instanceof KeyProviderError) locked = outcome
    }
    if (rows.length < pace.sweepBatchRows || stopping?.aborted)
      return { purged, unreadable, unreadableNames, ...(locked && { locked }) }
  }
}

/** `missed`: the tenant is gone, or the token changed meanwhile. */
const purge = async (
  vault: Vault,
  row: TokenRow,
): Promise<'purged' | 'missed' | TamperedError | KeyProviderError> => {
  const tenant = await vault.store.getTenant(row.tenant)
  if (tenant === undefined) return 'missed'
  try {
    const keys = await vault.tenantKeys.of(row.tenant, tenant.id)
    const writes = new TokenWrites({ tenantNumber: row.tenant, keys })
    writes.remove(toToken(row, [], keys))
    await vault.activity.settle(row.tenant, row.id)
    return (await vault.store.commit(writes.set)).committed ? 'purged' : 'missed'
  } catch (error) {
    if (error instanceof TamperedError || error instanceof KeyProviderError) return error
    throw error
  }
}
