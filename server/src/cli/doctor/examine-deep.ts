import type { Config } from '../../config/config.ts'
import { KeyProviderError } from '../../keys/key-provider.ts'
import { openTenant } from '../../operations/grants/grant-rows.ts'
import { repairTenant } from '../../operations/verify/repair-tenant.ts'
import { verifySample, verifyTenant } from '../../operations/verify/verify-tenant.ts'
import { withVault } from '../storage/with-vault.ts'
import { describeFindings, describeRepairs } from './describe-verification.ts'
import type { Report } from './report.ts'
import { unfinishedRekey } from './unfinished-rekey.ts'

/**
 * Examines all tokens of each tenant with index, counters and matches, and repairs them on request. With `sample`, examines that
 * many tokens, which are too few to tell what to repair.
 */
export type DeepOptions =
  | { readonly repair: boolean; readonly sample?: never }
  | { readonly sample: number; readonly repair?: never }

/** Compares everything that is stored about tokens with what the opened tokens say, tenant by tenant. */
export const examineDeep = (
  config: Config,
  { sample, repair }: DeepOptions,
  { findings, repairs, notes }: Report,
): Promise<void> =>
  withVault(config, async vault => {
    const tenants = await vault.store.listTenants()
    // Before any verification, because a counter can be moved by a difference only once it holds a number.
    if (repair) for (const { tenant } of tenants) await vault.store.mendNumbers(tenant)
    for (const row of tenants) {
      const keys = await vault.keyring.of(row.tenant, row.id).catch(unlessDamaged)
      if (keys === undefined) continue
      const tenant = {
        tenantNumber: row.tenant,
        keys,
        createdAt: openTenant(vault.vaultKeys, row).createdAt,
      }
      const before = repair
        ? await verifyTenant(vault, tenant, differences => repairTenant(vault, tenant, differences))
        : undefined
      const found =
        sample === undefined
          ? await verifyTenant(vault, tenant)
          : await verifySample(vault, tenant, sample, Math.random)
      if (before !== undefined) repairs.push(...describeRepairs(row.id, before, found))
      findings.push(...describeFindings(config, row.id, found))
      const unfinished = unfinishedRekey(config, row.id)
      // The check of the keys may have found it in the counters (key-check.ts).
      if (found.notRekeyed > 0 && !findings.some(({ problem }) => problem === unfinished.problem))
        findings.push(unfinished)
      if (found.wasWritten)
        notes.push(`tenant ${row.id} was written to meanwhile, so its counters were not judged`)
    }
  })

/** The check of the keys has reported them (key-check.ts). */
const unlessDamaged = (error: unknown): undefined => {
  if (!(error instanceof KeyProviderError)) throw error
}
