import { pace } from '../../domain/pace.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import { KeyProviderError } from '../../keys/key-provider.ts'
import { StoreUnavailableError } from '../../store/port.ts'
import type { TokenRow } from '../../store/rows.ts'
import { openTokenRow } from '../tokens/token-rows.ts'
import { TokenWrites } from '../tokens/token-writes.ts'
import { type Unreadable, UnreadableRows } from '../tokens/unreadable-rows.ts'
import { keysUnlessDeleted } from '../vault/tenant-keyring.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import { commitPurge } from '../writing/commit.ts'

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
 * The tokens of a tenant go together, under one record that names them. If one of them was changed meanwhile, or somebody holds its
 * row, each is tried once more by itself. What to remove is found out for one row after the other, because a row may be large.
 */
const purgeAll = async (vault: Vault, rows: readonly TokenRow[]): Promise<Purged[]> => {
  const outcomes = new Map<TokenRow, Purged>()
  await Promise.all(
    [...Map.groupBy(rows, row => row.tenant)].map(async ([tenantNumber, ofTenant]) => {
      for (const [row, outcome] of await purgeTenant(vault, tenantNumber, ofTenant))
        outcomes.set(row, outcome)
    }),
  )
  return rows.map(row => outcomes.get(row) ?? 'missed')
}

const purgeTenant = async (
  vault: Vault,
  tenantNumber: number,
  rows: readonly TokenRow[],
): Promise<Map<TokenRow, Purged>> => {
  const outcomes = new Map<TokenRow, Purged>()
  const tenant = await unlessRefused(() => unlock(vault, tenantNumber))
  if (tenant === undefined || tenant === 'missed' || tenant instanceof Error) {
    for (const row of rows) outcomes.set(row, tenant ?? 'missed')
    return outcomes
  }
  const work = vault.scheduler.background('sweep-expired')
  const readable: TokenRow[] = []
  const together = new TokenWrites(tenant)
  for (const row of rows) {
    if (!work.hasTurn) await work.turn()
    const outcome = await unlessRefused(() => prepare(vault, tenant, together, row))
    if (outcome === undefined) readable.push(row)
    else outcomes.set(row, outcome)
  }
  if (readable.length === 0) return outcomes
  const all = await carryOut(vault, tenant, together)
  let refusedAlone = 0
  for (const row of readable) {
    const isTriedAlone = all !== 'purged' && readable.length > 1 && refusedAlone < refusedAloneMax
    const outcome = isTriedAlone ? await purgeAlone(vault, tenant, row) : all
    if (outcome instanceof StoreUnavailableError) refusedAlone++
    outcomes.set(row, outcome)
  }
  return outcomes
}

const purgeAlone = async (vault: Vault, tenant: UnlockedTenant, row: TokenRow): Promise<Purged> => {
  const writes = new TokenWrites(tenant)
  return (
    (await unlessRefused(() => prepare(vault, tenant, writes, row))) ??
    (await carryOut(vault, tenant, writes))
  )
}

/** Undefined if the tenant is gone. */
const unlock = async (vault: Vault, tenantNumber: number): Promise<UnlockedTenant | undefined> => {
  const tenant = await vault.store.getTenant(tenantNumber)
  const keys = tenant && (await keysUnlessDeleted(vault, tenantNumber, tenant.id))
  return keys && { tenantNumber, keys }
}

const prepare = async (
  vault: Vault,
  tenant: UnlockedTenant,
  writes: TokenWrites,
  row: TokenRow,
): Promise<undefined> => {
  const token = openTokenRow(row, [], tenant.keys)
  await vault.activity.settle(row.tenant, row.id)
  writes.purge(token)
}

const carryOut = (vault: Vault, tenant: UnlockedTenant, writes: TokenWrites): Promise<Purged> =>
  unlessRefused(async () =>
    (await commitPurge(vault, tenant, writes.changes)).committed ? 'purged' : 'missed',
  )

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
