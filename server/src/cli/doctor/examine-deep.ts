import type { Config } from '../../config/config.ts'
import { KeyProviderError } from '../../crypto/key-provider.ts'
import { counted } from '../../domain/text/counted.ts'
import { printable } from '../../domain/text/printable.ts'
import type { AffectedTokens, Audit } from '../../operations/audit/audit.ts'
import { auditSample, auditTenant } from '../../operations/audit-tenant.ts'
import { openTenant } from '../../operations/grants/grant-rows.ts'
import { repairTenant } from '../../operations/repair-tenant.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { withVault } from '../storage/with-vault.ts'
import { vaultFlags } from '../vault-flags.ts'
import type { Finding, Remedy, Repair } from './finding.ts'
import type { Report } from './report.ts'

/**
 * Looks at all tokens of each tenant, with index, counters and matches, and repairs them if asked to; or looks at `sample` tokens,
 * which are too few to tell what to repair.
 */
export type DeepOptions =
  | { readonly repair: boolean; readonly sample?: never }
  | { readonly sample: number; readonly repair?: never }

const idsShown = 20

/** Compares everything that is stored about tokens with what the opened tokens say, tenant by tenant. */
export const examineDeep = (
  config: Config,
  { sample, repair }: DeepOptions,
  { findings, repairs, notes }: Report,
): Promise<void> =>
  withVault(config, async vault => {
    for (const row of await vault.store.listTenants()) {
      const keys = await vault.keyring.of(row.tenant, row.id).catch(unlessDamaged)
      if (keys === undefined) continue
      const tenant = {
        tenantNumber: row.tenant,
        keys,
        createdAt: openTenant(vault.vaultKeys, row).createdAt,
      }
      const before = repair
        ? await auditTenant(vault, tenant, differences => repairTenant(vault, tenant, differences))
        : undefined
      const found =
        sample === undefined
          ? await auditTenant(vault, tenant)
          : await auditSample(vault, tenant, sample, Math.random)
      if (before !== undefined) repairs.push(...describeRepairs(row.id, before, found))
      findings.push(...describe(config, row.id, found))
      if (found.wasWritten)
        notes.push(`tenant ${row.id} was written to meanwhile, so its counters were not judged`)
    }
  })

/** The check of the keys has reported them (key-check.ts). */
const unlessDamaged = (error: unknown): undefined => {
  if (!(error instanceof KeyProviderError)) throw error
}

const describe = (config: Config, tenantId: string, audit: Audit): Finding[] => {
  const repair = { command: `strongroom doctor --deep --repair ${vaultFlags(config)}` }
  const found = (problems: Repair[], remedy: Remedy): Finding[] =>
    problems.map(problem => ({ ...problem, ...remedy, blocks: false }))
  return [
    ...found(
      about('tokens', tenantId, 'rows of tokens that do not open', audit.unreadable),
      configuredStorage(config).doctor.restore(),
    ),
    ...found(
      repairable.flatMap(({ kind, check, text }) => about(check, tenantId, text, audit[kind])),
      repair,
    ),
    ...found(aboutCounters(tenantId, audit.wrongCounters), repair),
  ]
}

/** What was wrong before, and is no longer. */
export const describeRepairs = (tenantId: string, before: Audit, after: Audit): Repair[] => [
  ...repairable.flatMap(({ kind, check, text }) =>
    about(check, tenantId, text, before[kind].without(after[kind])),
  ),
  ...aboutCounters(tenantId, before.wrongCounters - after.wrongCounters),
]

const repairable = [
  { kind: 'deadFields', check: 'tokens', text: 'tokens with a transient field that does not open' },
  { kind: 'missing', check: 'index', text: 'tokens that lack index entries' },
  { kind: 'extra', check: 'index', text: 'index entries of tokens that should not have them' },
  { kind: 'matches', check: 'deduplication', text: 'tokens listed for a value they do not have' },
] as const

const about = (check: string, tenantId: string, text: string, tokens: AffectedTokens): Repair[] =>
  tokens.isEmpty ? [] : [{ check, problem: `tenant ${tenantId}: ${text}: ${listed(tokens)}` }]

const aboutCounters = (tenantId: string, wrong: number): Repair[] =>
  wrong <= 0
    ? []
    : [
        {
          check: 'counters',
          problem: `tenant ${tenantId}: ${counted(wrong, 'counter is', 'counters are')} wrong`,
        },
      ]

const listed = ({ ids, areMore }: AffectedTokens): string => {
  const more = ids.length - idsShown
  const shown = ids.slice(0, idsShown).map(printable)
  return `${shown.join(', ')}${more > 0 ? ` and ${areMore ? 'more than ' : ''}${more} more` : ''}`
}
