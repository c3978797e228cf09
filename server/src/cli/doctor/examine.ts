import type { Config } from '../../config/config.ts'
import { isDamage } from '../../store/sqlite/failure-codes.ts'
import { databasePath, requireDataFolder } from '../data-folder/paths.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
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

/** Makes all checks, up to the first finding after which later checks could tell nothing. */
export const examine = async (context: Context, report: Report): Promise<void> => {
  for (const check of checksOf(configuredStorage(context.config).doctor)) {
    await reportDamage(context.config, report, async () => {
      report.findings.push(...(await check(context)))
    })
    if (report.isBlocked) return
  }
  await reportDamage(context.config, report, () => examineAnchors(context.config, report))
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
      ...configuredStorage(config).doctor.restore(),
      blocks: true,
    })
  }
}

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'failed'
  return error.cause instanceof Error ? causeOf(error.cause) : error.message
}
