import type { Config } from '../../config/config.ts'
import { counted, printable } from '../../domain/text/terminal.ts'
import type { AffectedTokens, Verification } from '../../operations/verify/verification.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { vaultFlags } from '../vault-flags.ts'
import type { Finding, Remedy, Repair } from './finding.ts'

const idsShown = 20

/** What is wrong, and how to repair it. */
export const describeFindings = (config: Config, tenantId: string, verification: Verification): Finding[] => {
  const repair = repairing(config)
  const found = (problems: Repair[], remedy: Remedy): Finding[] =>
    problems.map(problem => ({ ...problem, ...remedy, blocks: false }))
  return [
    ...found(
      about('tokens', tenantId, 'rows of tokens that do not open', verification.unreadable),
      configuredStorage(config).doctor.restore(vaultFlags(config)),
    ),
    ...found(
      repairable.flatMap(({ kind, check, text }) => about(check, tenantId, text, verification[kind])),
      repair,
    ),
    ...found(aboutCounters(tenantId, verification.wrongCounters), repair),
  ]
}

const repairing = (config: Config): Remedy => ({
  command: `strongroom doctor --deep --repair ${vaultFlags(config)}`,
})

/** What was wrong and has been repaired. */
export const describeRepairs = (tenantId: string, before: Verification, after: Verification): Repair[] => [
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
