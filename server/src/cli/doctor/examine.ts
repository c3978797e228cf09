import type { Config } from '../../config/config.ts'
import { databasePath, requireDataFolder } from '../data-folder.ts'
import { isDamage } from '../sqlite-failure.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { access } from './access-check.ts'
import type { Check, Context } from './check.ts'
import type { Finding } from './finding.ts'
import { keyProvider } from './key-check.ts'
import { clock, openFiles } from './machine-checks.ts'
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

/** All findings, up to the first that makes the rest unknowable. If a check throws, `findings` still has those made before. */
export const examine = async (context: Context, findings: Finding[] = []): Promise<Finding[]> => {
  for (const check of checksOf(configuredStorage(context.config).doctor)) {
    const found = await orDamage(context.config, async () => check(context))
    findings.push(...found)
    if (found.some(({ blocks }) => blocks)) break
  }
  return findings
}

/** Any check may be the one that comes upon a damaged page. */
export const orDamage = async (config: Config, look: () => Promise<Finding[]>): Promise<Finding[]> => {
  try {
    return await look()
  } catch (error) {
    if (!isDamage(error)) throw error
    const problem = `${databasePath(requireDataFolder(config))} is damaged (${causeOf(error)}): restore a backup; what is there now is kept beside it`
    return [{ check: 'storage', problem, ...configuredStorage(config).doctor.restore(), blocks: true }]
  }
}

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'failed'
  return error.cause instanceof Error ? causeOf(error.cause) : error.message
}
