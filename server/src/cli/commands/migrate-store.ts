import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { DatabaseConfig } from '../../config/database-config.ts'
import { counted } from '../../domain/text/terminal.ts'
import { type CopyResult, copyVault } from '../../operations/transfer/copy-vault.ts'
import { CopyRefusedError, type CopyTarget } from '../../store/copying.ts'
import { schemaMismatch } from '../../store/sql/migration.ts'
import { openCopySource } from '../../store/sqlite/copy-source.ts'
import type { Run } from '../command.ts'
import { identityAsCopied, markAsMoved } from '../data-folder/moved-folder.ts'
import { databasePath } from '../data-folder/paths.ts'
import { configuredOrDevKeyProvider, keyProviderKind } from '../key-providers/configured-key-provider.ts'
import { asCalled } from '../pasteable.ts'
import { print } from '../print.ts'
import { progressOn } from '../progress.ts'
import { folderStorage } from '../storage/folder-storage.ts'
import { leaveRecord } from '../storage/leave-record.ts'
import { postgresSettings, serverStorage } from '../storage/server-storage.ts'
import { requireVault } from '../storage/with-vault.ts'
import { vaultFlags } from '../vault-flags.ts'

const faultsShown = 20

export const migrateStore: Run = async ({ config, options, flags }) => {
  if (/^postgres(ql)?:/.test(options.from ?? ''))
    throw new ConfigError('--from must be a folder: a vault on PostgreSQL is not copied back')
  const json = flags.json === true
  const started = performance.now()
  const result = await copy(config, json)
  const seconds = Math.round(performance.now() - started) / 1_000
  const { rows, copied, wasDone, faults } = result
  const done = faults.length === 0
  if (done)
    await leaveRecord(
      { ...withKeyFile(config), dataFolder: undefined },
      { operation: 'migrate-store', entityType: 'tenant' },
    )
  print(json, { done, was_done: wasDone, rows, copied, faults, seconds }, describe(config, result, seconds))
  return done ? 0 : 1
}

const copy = async (config: Config, json: boolean): Promise<CopyResult> => {
  const folder = requireSource(config)
  const database = requireDestination(config)
  await requireCurrentSchema(config, folder)
  const keyProvider = configuredOrDevKeyProvider(config)
  const source = openCopySource(databasePath(folder))
  const progress = progressOn(process.stderr, { json, now: () => performance.now() })
  let target: CopyTarget | undefined
  try {
    const { openCopyTarget } = await import('../../store/postgres/copy-target.ts')
    const copied = identityAsCopied(folder, source.identity)
    target = await openCopyTarget(postgresSettings(database), copied)
    const result = await copyVault({ source, target, keyProvider, report: progress.show })
    if (result.faults.length > 0) return result
    // While the source is still held, so that nobody serves it in between. Nothing sweeps a folder that nobody serves (C11).
    // Forgetting the fields changes the source, so its earlier identity is written down first: a run that is killed meanwhile can
    // be repeated.
    const to = serverStorage(database).name
    markAsMoved(folder, { to, copied })
    markAsMoved(folder, { to, copied, left: source.forgetTransients() })
    return result
  } finally {
    progress.end()
    await target?.close()
    source.close()
  }
}

const requireSource = ({ dataFolder }: Config): string => {
  if (dataFolder === undefined) throw new ConfigError('the source is missing: set --from or STRONGROOM_DATA')
  return dataFolder
}

const requireDestination = ({ database }: Config): DatabaseConfig => {
  if (database === undefined)
    throw new ConfigError('the target is missing: set --to or STRONGROOM_DATABASE_URL')
  return database
}

const requireCurrentSchema = async (config: Config, folder: string): Promise<void> => {
  const { schema } = await requireVault(folderStorage(folder))
  const { current, newest } = schema
  if (current === newest) return
  const advice =
    current < newest
      ? `run strongroom migrate ${vaultFlags({ ...config, database: undefined })}`
      : 'install the newer release'
  throw new CopyRefusedError(`${schemaMismatch(folder, schema)}: ${advice}`)
}

const describe = (config: Config, result: CopyResult, seconds: number): string => {
  const { rows, copied, wasDone, faults } = result
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0)
  if (faults.length > 0)
    return [
      `not done: at least ${counted(faults.length, 'row is', 'rows are')} wrong, and the database cannot be served`,
      ...faults.slice(0, faultsShown).map(({ row, problem }) => `  ${row} ${problem}`),
      'restore the source from a backup, and begin again with an empty database',
    ].join('\n')
  return [
    wasDone
      ? 'already done: an earlier run copied and verified this vault'
      : `done: ${counted(copied, 'row')} copied in ${seconds} s; the database holds all ${all}, ${counted(rows.tokens ?? 0, 'token')} among them, and every seal opens`,
    asCalled(
      `serve it with the same keys, instead of the folder, which from now on is only a backup: strongroom serve ${vaultFlags(withKeyFile(config))}`,
    ),
  ].join('\n')
}

/** Only the folder of `strongroom dev` works without naming its keys. A database does not, so the keys are named. */
const withKeyFile = (config: Config): Config =>
  config.keyProvider === undefined
    ? { ...config, keyProvider: 'file', masterKeyFile: keyProviderKind(config).requireMasterKeyFile(config) }
    : config
