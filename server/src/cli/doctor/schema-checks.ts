import { ConfigError } from '../../config/config-error.ts'
import { printable } from '../../domain/text/terminal.ts'
import { IncompleteVaultError, type Inspection } from '../../store/sql/inspection.ts'
import { schemaMismatch } from '../../store/sql/migration.ts'
import { isDamage } from '../../store/sqlite/failure-codes.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { storageFlags, vaultFlags } from '../vault-flags.ts'
import type { Check, Finding, Remedy } from './finding.ts'

export const schema: Check = async ({ config }) => {
  const finding = (problem: string, remedy: Remedy): Finding[] => [
    { check: 'storage', problem, ...remedy, blocks: true },
  ]
  const storage = configuredStorage(config)
  let found: Inspection | undefined
  try {
    found = await storage.inspect()
  } catch (error) {
    if (isDamage(error) || error instanceof ConfigError) throw error
    if (error instanceof IncompleteVaultError)
      return finding(
        error.message,
        error.remedy === 'restore' ? storage.doctor.restore(vaultFlags(config)) : copyAgain,
      )
    const { problem, remedy } = storage.doctor.explain(error)
    return finding(problem, remedy)
  }
  if (found === undefined)
    return finding(`${storage.name} holds no vault yet`, {
      command: `strongroom migrate ${storageFlags(config)}`,
    })
  const { current, newest, pending } = found.schema
  if (pending)
    return finding(schemaMismatch('storage', found.schema), {
      command: `strongroom migrate ${vaultFlags(config)}`,
    })
  if (current > newest)
    return finding(schemaMismatch('storage', found.schema), {
      byHand:
        'install the newer release again; this one can only serve a backup from before the newer one was started',
    })
  return []
}

/** Parts that an interrupted restore leaves out. Nobody misses them until there are two rows where one belongs. */
export const schemaParts: Check = async ({ config }) => {
  const storage = configuredStorage(config)
  const { unknown, missing, foreign } = await storage.compareSchema()
  const finding = (problem: string, blocks: boolean): Finding => ({
    check: 'storage',
    problem,
    ...storage.doctor.restore(vaultFlags(config)),
    blocks,
  })
  return [
    ...(unknown === undefined
      ? []
      : [
          {
            check: 'storage',
            problem: unknown.problem,
            byHand: printable(unknown.byHand),
            blocks: false,
          } as const,
        ]),
    ...(missing.length > 0
      ? [
          finding(
            `the schema lacks what this release made: ${toldOnce(missing).join('; ')}`,
            missing.some(keepsVaultClosed),
          ),
        ]
      : []),
    ...(foreign.length > 0
      ? [finding(`the schema holds what no release made: ${printable(foreign.join('; '))}`, true)]
      : []),
  ]
}

/** Without a key or an index, the vault still opens, and later checks can go on. */
const keepsVaultClosed = (part: string): boolean => /^(table|column|trigger) /.test(part)

/** If a table is missing, its parts are not listed. */
const toldOnce = (missing: readonly string[]): readonly string[] => {
  const lost = missing.flatMap(part => /^table (\w+)$/.exec(part)?.[1] ?? [])
  const belongs = new RegExp(`^column (${lost.join('|')})\\.| (of|on) (${lost.join('|')})( |$)`)
  return lost.length === 0 ? missing : missing.filter(part => !belongs.test(part))
}

const copyAgain = {
  byHand:
    'run the same strongroom migrate-store again, with the folder that it copies from; it goes on where it was',
}
