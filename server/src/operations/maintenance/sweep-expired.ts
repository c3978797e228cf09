import { pace } from '../../domain/pace.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import { KeyProviderError } from '../../keys/key-provider.ts'
import { StoreUnavailableError } from '../../store/port.ts'
import type { TokenRow } from '../../store/rows.ts'
import type { WriteSet } from '../../store/write-set.ts'
import { openTokenRow } from '../tokens/token-rows.ts'
import { TokenWrites } from '../tokens/token-writes.ts'
import { type Unreadable, UnreadableRows } from '../tokens/unreadable-rows.ts'
import { keysUnlessDeleted } from '../vault/tenant-keyring.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

export type SweepResult = Unreadable & {
  readonly purged: number
  /** Why the tokens of some tenant must wait for another sweep. */
  readonly locked?: KeyProviderError
}

/**
 * C17: purges expired tokens in bounded batches, and answers requests in between. A row that does not open is reported and left
 * to the operator. A token that cannot be purged does not hold up the others.
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
    // If storage accepts no removal of a page, it accepts none of the next.
    if (refused !== undefined && purged === before) throw refused
    if (rows.length < pace.sweepBatchRows || stopping?.aborted) {
      if (refused !== undefined) throw refused
      return { purged, ...unreadable.summary, ...(locked && { locked }) }
    }
  }
}

/** `missed`: the tenant is gone, or the token has changed since. */
type NotPurged = 'missed' | TamperedError | KeyProviderError | StoreUnavailableError
type Purged = 'purged' | NotPurged

/** After so many refusals of single rows, the rest of the rows that were refused together is left for later. */
const refusedAloneMax = 3

/**
 * Removals share commits, and a locked row fails all that share its commit. So refused ones are tried once more, each alone. Rows
 * are prepared one after another, because a row may be large.
 */
const purgeAll = async (vault: Vault, rows: readonly TokenRow[]): Promise<Purged[]> => {
  const work = vault.scheduler.background('sweep-expired')
  const tenants = new Map<number, Promise<UnlockedTenant | undefined>>()
  const removals: (WriteSet | NotPurged)[] = []
  for (const row of rows) {
    if (!work.hasTurn) await work.turn()
    const tenant = tenants.get(row.tenant) ?? unlock(vault, row.tenant)
    tenants.set(row.tenant, tenant)
    removals.push(await removalOf(vault, row, tenant))
  }
  const outcomes = await Promise.all(removals.map(removal => carryOut(vault, removal)))
  let refusedAlone = 0
  for (const [at, row] of rows.entries()) {
    if (!(outcomes[at] instanceof StoreUnavailableError) || refusedAlone === refusedAloneMax) continue
    const again = await carryOut(vault, await removalOf(vault, row, unlock(vault, row.tenant)))
    outcomes[at] = again
    if (again instanceof StoreUnavailableError) refusedAlone++
  }
  return outcomes
}

/** Undefined if the tenant is gone. */
const unlock = async (vault: Vault, tenantNumber: number): Promise<UnlockedTenant | undefined> => {
  const tenant = await vault.store.getTenant(tenantNumber)
  const keys = tenant && (await keysUnlessDeleted(vault, tenantNumber, tenant.id))
  return keys && { tenantNumber, keys }
}

const removalOf = (
  vault: Vault,
  row: TokenRow,
  unlocked: Promise<UnlockedTenant | undefined>,
): Promise<WriteSet | NotPurged> =>
  unlessRefused(async () => {
    const tenant = await unlocked
    if (tenant === undefined) return 'missed'
    const writes = new TokenWrites(tenant)
    writes.remove(openTokenRow(row, [], tenant.keys))
    await vault.activity.settle(row.tenant, row.id)
    return writes.set
  })

const carryOut = async (vault: Vault, removal: WriteSet | NotPurged): Promise<Purged> =>
  removal === 'missed' || removal instanceof Error
    ? removal
    : unlessRefused(async () => ((await vault.store.commit(removal)).committed ? 'purged' : 'missed'))

/** A fault of one token keeps no other from being purged. */
const unlessRefused = async <T>(work: () => Promise<T>): Promise<T | NotPurged> => {
  try {
    return await work()
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
