import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import { unwrapVaultKeys } from '../../keys/unwrap-keys.ts'
import { recordedForOperator } from '../../operations/log/acting.ts'
import { rewrapKeys } from '../../operations/maintenance/rewrap-keys.ts'
import type { Vault } from '../../operations/vault/vault.ts'
import { schemaMismatch } from '../../store/sql/migration.ts'
import type { Run } from '../command.ts'
import { requireDataFolder } from '../data-folder/paths.ts'
import {
  backupFiles,
  copyBackup,
  makeWorkshop,
  replaceVault,
  requireReplaceable,
} from '../data-folder/replace-vault.ts'
import { examineAnchors } from '../doctor/anchor-check.ts'
import { contentChecks, makeChecks, reportDamage } from '../doctor/examine.ts'
import { examineDeep } from '../doctor/examine-deep.ts'
import type { Finding } from '../doctor/finding.ts'
import { findingJson, findingText } from '../doctor/finding-text.ts'
import { needsBackup } from '../doctor/folder-doctor.ts'
import { thisMachine } from '../doctor/machine.ts'
import { Report } from '../doctor/report.ts'
import { configuredOrDevKeyProvider, keyProviderKind } from '../key-providers/configured-key-provider.ts'
import { print } from '../print.ts'
import { removeFolder, removeOnSignal } from '../removed-folder.ts'
import { folderStorage } from '../storage/folder-storage.ts'
import { openOrMake, withVault } from '../storage/with-vault.ts'

/**
 * Puts a backup in the place of the vault. All work is done on a copy in a folder of its own: bringing it to the schema of this
 * release and under the first master key, and examining every token. Only then are files moved, so a kill at any moment leaves what
 * was there before, or the whole backup, or nothing that serves.
 */
export const restore: Run = async ({ config, flags, words: [word = ''] }) => {
  if (config.database !== undefined)
    throw new ConfigError('a vault on PostgreSQL is restored with psql: see docs/backups.md')
  const folder = requireDataFolder(config)
  const files = backupFiles(resolve(word))
  requireReplaceable(folder, { files, setsAside: flags['set-aside'] === true })
  const workshop = makeWorkshop(folder)
  const stopWatching = removeOnSignal(workshop)
  try {
    await copyBackup(files, workshop)
    const there = inWorkshop(config, workshop)
    const found = (await prepare(there, word)).map(finding => aboutFolder(finding, workshop, folder))
    const damage = found.filter(isDamage)
    const isHopeless = damage.some(({ blocks }) => blocks)
    if (isHopeless || (damage.length > 0 && !flags['accept-damage'])) {
      print(
        flags.json,
        { restored: false, findings: damage.map(findingJson) },
        damage.map(({ check, problem }) => `${check}: ${problem}`).join('\n'),
      )
      throw new Error(
        `nothing was restored, because ${word} is damaged: take another backup${isHopeless ? '' : ', or this one as it is with --accept-damage'}`,
      )
    }
    const aside = replaceVault(folder, workshop)
    const refusals = await anchorFindings(config)
    const findings = [...found, ...refusals]
    print(
      flags.json,
      { restored: true, ...(aside && { set_aside: aside }), findings: findings.map(findingJson) },
      [
        `${folder} holds the vault of ${word}; every token was examined`,
        ...(aside === undefined ? [] : [`what was there is in ${aside}: delete it once nothing is missed`]),
        ...findings.map(findingText),
      ].join('\n'),
    )
    // While an anchor is ahead, `serve` refuses the vault.
    return refusals.length === 0 ? 0 : 1
  } finally {
    removeFolder(workshop)
    stopWatching()
  }
}

/** The same vault in another folder. The folder of `strongroom dev` has its key file in it. */
const inWorkshop = (config: Config, workshop: string): Config => ({
  ...config,
  ...(config.keyProvider === undefined && {
    keyProvider: 'file',
    masterKeyFile: keyProviderKind(config).requireMasterKeyFile(config),
  }),
  dataFolder: workshop,
  // A backup is older than its anchors. What to do about it is said once it is in its place.
  auditAnchors: [],
})

/** Makes a copy of a backup what `serve` expects, and returns what is wrong with it. */
const prepare = async (config: Config, name: string): Promise<readonly Finding[]> => {
  const { dataFolder: workshop = '' } = config
  const storage = folderStorage(workshop)
  const report = new Report()
  const context = { config, machine: thisMachine }
  const unlessBlocked = async (work: () => Promise<void>): Promise<void> => {
    if (!report.isBlocked) await reportDamage(config, report, work)
  }
  // From before a rotation of the master key, it opens only with keys that are retired, or stand behind the first.
  const keyProvider = keyProviderKind(config).retired(config)?.provider ?? configuredOrDevKeyProvider(config)
  await unlessBlocked(async () => {
    const found = await storage.inspect()
    if (found === undefined) throw new ConfigError(`${name} holds no vault`)
    const { schema, vaultKeys } = found
    if (schema.current > schema.newest)
      throw new Error(`${schemaMismatch(name, schema)}: install that release`)
    await unwrapVaultKeys(keyProvider, vaultKeys)
    if (schema.pending) await (await openOrMake(storage, () => keyProvider)).store.close()
  })
  await unlessBlocked(() => makeChecks(contentChecks.schema, context, report))
  await unlessBlocked(async () => {
    await withVault(config, rewrapKeys, { otherKeyProvider: keyProvider })
  })
  await unlessBlocked(() => makeChecks(contentChecks.access, context, report))
  await unlessBlocked(() => examineCopy(config, workshop, report))
  await unlessBlocked(() => withVault(config, record))
  return report.findings
}

/** Examines a further copy: verifying a log signs a checkpoint, and one that the anchors do not have would be a second future (L4). */
const examineCopy = async (config: Config, workshop: string, report: Report): Promise<void> => {
  const names = readdirSync(workshop)
  const copy = join(workshop, 'examined')
  mkdirSync(copy, { mode: 0o700 })
  for (const name of names) cpSync(join(workshop, name), join(copy, name), { recursive: true })
  try {
    const before = report.findings.length
    await examineDeep({ ...config, dataFolder: copy }, { repair: false }, report)
    const found = report.findings.splice(before)
    report.findings.push(...found.map(finding => aboutFolder(finding, copy, workshop)))
  } finally {
    removeFolder(copy)
  }
}

const record = (vault: Vault): Promise<void> =>
  recordedForOperator(vault, { operation: 'restore', entityType: 'tenant' }, async act => {
    act.says({ count: (await vault.store.listTenants()).length })
  })

/** Nothing that a command makes good once the backup is restored. */
const isDamage = (finding: Finding): boolean =>
  finding.blocks || finding.check === 'log' || needsBackup(finding)

/** The finding, in the words that hold once the vault is in its place. */
const aboutFolder = (finding: Finding, workshop: string, folder: string): Finding => {
  const moved = (text: string): string => text.replaceAll(workshop, folder)
  const { problem } = finding
  return 'command' in finding
    ? { ...finding, problem: moved(problem), command: moved(finding.command) }
    : { ...finding, problem: moved(problem), byHand: moved(finding.byHand) }
}

const anchorFindings = async (config: Config): Promise<readonly Finding[]> => {
  const report = new Report()
  if (config.auditAnchors.length > 0) await examineAnchors(config, report)
  return report.findings
}
