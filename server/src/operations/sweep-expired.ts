import { TamperedError } from '../domain/errors.ts'
import { limits } from '../domain/limits.ts'
import { toToken } from './token-rows.ts'
import { TokenWrites } from './token-writes.ts'
import type { Vault } from './vault.ts'

export type SweepResult = { readonly purged: number; readonly unreadable: readonly TamperedError[] }

/**
 * C17: purges tokens whose time has come, in bounded batches; requests are answered between them. A row that
 * does not open is left for the operator and reported.
 */
export const sweepExpired = async (vault: Vault): Promise<SweepResult> => {
  const unreadable: TamperedError[] = []
  let purged = 0
  let left = 0
  for (;;) {
    const rows = await vault.store.expiredTokens(vault.clock(), {
      offset: left,
      limit: limits.sweepBatchRows,
    })
    const commits = await Promise.all(
      rows.map(async row => {
        const tenant = await vault.store.getTenant(row.tenant)
        if (tenant === undefined) return false
        const keys = await vault.tenantKeys.of(row.tenant, tenant.id)
        const writes = new TokenWrites({ tenantNumber: row.tenant, keys })
        try {
          writes.remove(toToken(row, [], keys))
        } catch (error) {
          if (!(error instanceof TamperedError)) throw error
          unreadable.push(error)
          return false
        }
        return (await vault.store.commit(writes.set)).committed
      }),
    )
    const done = commits.filter(Boolean).length
    purged += done
    // What could not be purged comes again; the next batch starts behind it.
    left += rows.length - done
    if (rows.length < limits.sweepBatchRows) return { purged, unreadable }
  }
}
