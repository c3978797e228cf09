import type { Config } from '../../config/config.ts'
import { counted, printable } from '../../domain/text/terminal.ts'
import { KeyProviderError } from '../../keys/key-provider.ts'
import { openTenant } from '../../operations/grants/grant-rows.ts'
import { operatorAct, recorded } from '../../operations/log/acting.ts'
import { logOwners } from '../../operations/log/log-owner.ts'
import type { UnlockedTenant, Vault } from '../../operations/vault/vault.ts'
import { repairTenant } from '../../operations/verify/repair-tenant.ts'
import type { Verification } from '../../operations/verify/verification.ts'
import { verifySample, verifyTenant } from '../../operations/verify/verify-tenant.ts'
import { withVault } from '../storage/with-vault.ts'
import { existing, verifiedLogs } from '../verified-logs.ts'
import { describeFindings, describeRepairs } from './describe-verification.ts'
import type { Finding } from './finding.ts'
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
    // And because nothing can be recorded in a log whose head storage has set back, not even a repair.
    if (repair)
      for await (const { tenantNumber, keys } of logOwners(vault.store)) {
        const raised = await vault.store.mendNumbers(tenantNumber)
        if (raised > 0)
          repairs.push({
            check: 'log',
            problem: `tenant ${keys.tenantId}: storage counted fewer records than it has, of ${counted(raised, 'writer')}`,
          })
      }
    for (const row of tenants) {
      const keys = await vault.keyring.of(row.tenant, row.id).catch(unlessDamaged)
      if (keys === undefined) continue
      const tenant = {
        tenantNumber: row.tenant,
        keys,
        createdAt: openTenant(vault.vaultKeys, row).createdAt,
      }
      const before = repair ? await repairWhole(vault, tenant) : undefined
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
    if (sample === undefined) await verifyTheLogs(config, vault, findings)
  })

const verifyTheLogs = async (config: Config, vault: Vault, findings: Finding[]): Promise<void> => {
  await verifiedLogs(vault, {
    kind: { operation: 'doctor', entityType: 'log' },
    anchorPaths: existing(config.auditAnchors),
    find: (_severity, problem) =>
      findings.push({
        check: 'log',
        problem: printable(problem),
        byHand:
          'keep a copy of storage as it is, and see docs/operating.md, "A log does not verify"; no command makes good what a log has lost, and strongroom doctor --deep --repair only corrects what storage counts',
        blocks: false,
      }),
  })
}

/** One record says how many differences were repaired (L1). */
const repairWhole = (vault: Vault, tenant: UnlockedTenant): Promise<Verification> => {
  const act = operatorAct({ operation: 'doctor', entityType: 'tenant' })
  act.finds(tenant.keys.tenantId)
  return recorded(vault, tenant, act, async () => {
    let count = 0
    const verification = await verifyTenant(vault, tenant, async differences => {
      const { unreadable: _staysAsItIs, ...repairable } = differences
      for (const found of Object.values(repairable)) count += found.length
      await repairTenant(vault, tenant, differences)
    })
    act.says({ count })
    return verification
  })
}

/** The check of the keys has reported them (key-check.ts). */
const unlessDamaged = (error: unknown): undefined => {
  if (!(error instanceof KeyProviderError)) throw error
}
