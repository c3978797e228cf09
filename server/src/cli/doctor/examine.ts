import type { Config } from '../../config/config.ts'
import { databasePath, requireDataFolder } from '../data-folder.ts'
import { isDamage } from '../sqlite-failure.ts'
import { access } from './access-check.ts'
import type { Check, Context } from './check.ts'
import { dataFolder, fileAccess, fileModes } from './file-checks.ts'
import type { Finding } from './finding.ts'
import { keyProvider } from './key-check.ts'
import { clock, freeSpace, openFiles } from './machine-checks.ts'
import { restoreStorage } from './restore-storage.ts'
import { schema, schemaParts } from './schema-checks.ts'
import { tlsFiles } from './tls-check.ts'

const checks: readonly Check[] = [
  tlsFiles,
  dataFolder,
  fileAccess,
  fileModes,
  schema,
  schemaParts,
  keyProvider,
  clock,
  openFiles,
  freeSpace,
  access,
]

/** All findings, up to the first that makes the rest unknowable. If a check throws, `findings` still has those made before. */
export const examine = async (context: Context, findings: Finding[] = []): Promise<Finding[]> => {
  for (const check of checks) {
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
    return [{ check: 'storage', problem, ...restoreStorage(config), blocks: true }]
  }
}

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'failed'
  return error.cause instanceof Error ? causeOf(error.cause) : error.message
}
