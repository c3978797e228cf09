import { KeyProviderError } from '../../crypto/key-provider.ts'
import { pace } from '../../domain/pace.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import { StoreUnavailableError } from '../../store/port.ts'
import type { TokenRow } from '../../store/rows.ts'
import { openTokenRow } from '../tokens/token-rows.ts'
import { TokenWrites } from '../tokens/token-writes.ts'
import { type Unreadable, UnreadableRows } from '../tokens/unreadable-rows.ts'
import { keysUnlessDeleted } from '../vault/keys-unless-deleted.ts'
import type { Vault } from '../vault/vault.ts'

export type SweepResult = Unreadable & {
  readonly purged: number
  /** Why the tokens of some tenant must wait for another sweep. */
  readonly locked?: KeyProviderError
}

/**
 * C17: purges expired tokens in bounded batches, with requests answered between them. A row that does not open is reported and
 * left for the operator. A token that cannot be purged never holds up the others.
 */
export const sweepExpired = async (vault: Vault, stopping?: AbortSignal): Promise<SweepResult> => {
  const now = vault.clock()
  const unreadable = new UnreadableRows()
  let locked: KeyProviderError | undefined
  let purged = 0
  let left = 0
  let refused: StoreUnavailableError | undefined
  for (;;) {
    const rows = await vault.store.listExpiredTokens(now, { offset: left, limit: pace.sweepBatchRows })
    const before = purged
    for (const outcome of await purgeAll(vault, rows)) {
      if (outcome === 'purged') purged++
      else left++
      if (outcome instanceof TamperedError) unreadable.note(outcome)
      if (outcome instanceof KeyProviderError) locked = outcome
      if (outcome instanceof StoreUnavailableError) refused = outcome
    }
    // Storage that takes none of a page takes none of the next.
    if (refused !== undefined && purged === before) throw refused
    if (rows.length < pace.sweepBatchRows || stopping?.aborted) {
      if (refused !== undefined) throw refused
      return { purged, ...unreadable.summary, ...(locked && { locked }) }
    }
  }
}

type Purged = 'purged' | 'missed' | TamperedError | KeyProviderError | StoreUnavailableError

/** Rows that storage refuses alone, one after the other, before the rest of those that it refused together is left for later. */
const refusedAloneMax = 3

/**
 * Together they share commits, and a row that somebody holds fails those that share its commit. So what was refused is tried once
 * more, each row alone.
 */
const purgeAll = async (vault: Vault, rows: readonly TokenRow[]): Promise<Purged[]> => {
  const outcomes = await Promise.all(rows.map(row => purge(vault, row)))
  let refusedAlone = 0
  for (const [at, row] of rows.entries()) {
    if (!(outcomes[at] instanceof StoreUnavailableError) || refusedAlone === refusedAloneMax) continue
    const again = await purge(vault, row)
    outcomes[at] = again
    if (again instanceof StoreUnavailableError) refusedAlone++
  }
  return outcomes
}

/** `missed`: the tenant is gone, or the token changed meanwhile. */
const purge = async (vault: Vault, row: TokenRow): Promise<Purged> => {
  try {
    const tenant = await vault.store.getTenant(row.tenant)
    if (tenant === undefined) return 'missed'
    const keys = await keysUnlessDeleted(vault, row.tenant, tenant.id)
    if (keys === undefined) return 'missed'
    const writes = new TokenWrites({ tenantNumber: row.tenant, keys })
    writes.remove(openTokenRow(row, [], keys))
    await vault.activity.settle(row.tenant, row.id)
    return (await vault.store.commit(writes.set)).committed ? 'purged' : 'missed'
  } catch (error) {
    if (
      error instanceof TamperedError ||
      error instanceof KeyProviderError ||
      error instanceof StoreUnavailableError
    )
      return error
    throw error
  }
}
