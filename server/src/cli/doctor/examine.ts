import type { Config } from '../../config/config.ts'
import { isDamage } from '../../store/sqlite/failure-codes.ts'
import { databasePath, requireDataFolder } from '../data-folder/paths.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { vaultFlags } from '../vault-flags.ts'
import { access } from './access-check.ts'
import { examineAnchors } from './anchor-check.ts'
import type { Check, Context } from './finding.ts'
import { keyProvider } from './key-check.ts'
import { clock, openFiles } from './machine-checks.ts'
import type { Report } from './report.ts'
import { schema, schemaParts } from './schema-checks.ts'
import type { StorageDoctor } from './storage-doctor.ts'
import { tlsFiles } from './tls-check.ts'

const checksOf = ({ accessChecks, roomChecks }: StorageDoctor): readonly Check[] => [
  tlsFiles,
  ...accessChecks,
  schema,
  schemaParts,
  keyProvider,
  clock,
  openFiles,
  ...roomChecks,
  access,
]

/** Makes all checks. */
export const examine = async (context: Context, report: Report): Promise<void> => {
  await makeChecks(checksOf(configuredStorage(context.config).doctor), context, report)
  if (!report.isBlocked)
    await reportDamage(context.config, report, () => examineAnchors(context.config, report))
}

/** The checks of what a backup brings, not of the machine that it comes to. */
export const contentChecks = {
  schema: [schema, schemaParts],
  access: [keyProvider, access],
} as const satisfies Readonly<Record<string, readonly Check[]>>

/** Up to the first finding after which later checks could tell nothing. */
export const makeChecks = async (
  checks: readonly Check[],
  context: Context,
  report: Report,
): Promise<void> => {
  for (const check of checks) {
    await reportDamage(context.config, report, async () => {
      report.findings.push(...(await check(context, report.notes)))
    })
    if (report.isBlocked) return
  }
}

/** Any read of storage may meet a damaged page. */
export const reportDamage = async (
  config: Config,
  report: Report,
  look: () => Promise<void>,
): Promise<void> => {
  try {
    await look()
  } catch (error) {
    if (!isDamage(error)) throw error
    const problem = `${databasePath(requireDataFolder(config))} is damaged (${causeOf(error)}): restore a backup; what is there now is kept beside it`
    report.findings.push({
      check: 'storage',
      problem,
      ...configuredStorage(config).doctor.restore(vaultFlags(config)),
      blocks: true,
    })
  }
}

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'failed'
  return error.cause instanceof Error ? causeOf(error.cause) : error.message
}
