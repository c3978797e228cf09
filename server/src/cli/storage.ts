import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import type { DatabaseConfig } from '../config/database-config.ts'
import { readNamedFile } from '../config/named-file.ts'
import type { KeyProvider } from '../crypto/key-provider.ts'
import { unwrapVaultKeys } from '../crypto/keys.ts'
import { foreignCode } from '../domain/errors.ts'
import { openVault } from '../operations/open-vault.ts'
import type { Vault } from '../operations/vault/vault.ts'
import type { Store } from '../store/port.ts'
import type { PostgresSettings } from '../store/postgres/postgres-store.ts'
import type { Look } from '../store/sql/look.ts'
import type { Writer } from '../store/sqlite/asked-writing.ts'
import { lookAtSqlite } from '../store/sqlite/look-at.ts'
import { compareSqliteSchema, type SchemaDifference } from '../store/sqlite/schema-parts.ts'
import { openSqlite } from '../store/sqlite/sqlite-store.ts'
import {
  checkDatabaseFiles,
  checkDataFolder,
  databasePath,
  describeRemains,
  makeDataFolder,
  requireDataFolder,
} from './data-folder.ts'
import { configuredOrDevKeyProvider } from './key-provider.ts'
import type { Worker } from './worker.ts'

/** What the workers of one server share. */
type Sharing = Pick<Worker, 'writer' | 'neighbours'>

/** Where the vault's rows are: in a folder of this machine, or on a database server. */
export type Storage = {
  /** For people: the folder, or the address of the database without its password. */
  readonly name: string
  /** As flags, without any secret. */
  readonly flags: Readonly<Record<string, string>>
  /** Looks at what is there without changing it; undefined if there is no vault. Throws if what is there cannot be one. */
  look(): Promise<Look | undefined>
  /** How the schema differs from what the migrations make, in words. */
  compareSchema(): Promise<SchemaDifference>
  /**
   * Makes the vault if there is none, and brings its schema up to date. Callers must have looked first. A worker shares what can
   * exist only once: the writer, where storage takes one.
   */
  open(worker?: Sharing): Promise<Store>
  /** The same for one command, which writes on its own thread: to start another takes longer than all that it writes. */
  openForCommand(): Promise<Store>
  /** Brings the schema up to date and spreads it over the nodes of a cluster. */
  distribute(): Promise<void>
}

/** Production starts only with what it was told explicitly (C35). */
export const configuredStorage = (config: Config): Storage =>
  config.database === undefined ? folderStorage(requireDataFolder(config)) : serverStorage(config.database)

export const folderStorage = (dataFolder: string): Storage => ({
  name: dataFolder,
  flags: { data: dataFolder },
  look: async () => lookAtFolder(dataFolder),
  compareSchema: async () => compareSqliteSchema(databasePath(dataFolder)),
  open: async worker => openDataFolder(dataFolder, worker?.writer ?? 'thread'),
  openForCommand: async () => openDataFolder(dataFolder, 'inline'),
  distribute: async () => {
    throw new ConfigError('--distribute needs a Citus cluster: set STRONGROOM_DATABASE_URL')
  },
})

const serverStorage = (database: DatabaseConfig): Storage => {
  // Loaded on demand: the PostgreSQL client would add 30 ms to a start of the embedded store.
  const engine = () => import('../store/postgres/postgres-store.ts')
  const url = withoutPassword(database)
  return {
    name: url,
    flags: {
      'database-url': url,
      ...(database.passwordFile !== undefined && { 'database-password-file': database.passwordFile }),
      ...(database.caFile !== undefined && { 'database-ca': database.caFile }),
    },
    look: async () => {
      const { lookAtPostgres } = await import('../store/postgres/look-at.ts')
      const look = await (await engine()).withClient(postgresSettings(database), lookAtPostgres)
      return look.schema.current === 0 ? undefined : look
    },
    // Foreign parts are not reported: what else an owner keeps in their own database is for them to know.
    compareSchema: async () => {
      const { missingPostgresParts } = await import('../store/postgres/schema-parts.ts')
      const missing = await (await engine()).withClient(postgresSettings(database), missingPostgresParts)
      return { missing, foreign: [] }
    },
    open: async worker => (await engine()).openPostgres(postgresSettings(database), worker?.neighbours),
    openForCommand: async () => (await engine()).openPostgres(postgresSettings(database)),
    distribute: async () => (await engine()).distributePostgres(postgresSettings(database)),
  }
}

const lookAtFolder = (dataFolder: string): Look | undefined => {
  if (!existsSync(dataFolder)) return undefined
  checkDataFolder(dataFolder)
  checkDatabaseFiles(dataFolder)
  const remains = describeRemains(dataFolder)
  if (remains !== undefined) throw new Error(remains)
  const path = databasePath(dataFolder)
  if (!existsSync(path)) return undefined
  const look = opened(path, () => lookAtSqlite(path))
  if (look.isForeign) throw new Error(`${path} is another program's SQLite database: use another folder`)
  return look
}

/** Opens the embedded store. Its file is made before the engine opens it, so that the engine's logs get its mode. */
const openDataFolder = (dataFolder: string, writing: 'thread' | 'inline' | Writer): Store => {
  makeDataFolder(dataFolder)
  const path = databasePath(dataFolder)
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  return opened(path, () => openSqlite({ path, writing }))
}

const opened = <T>(path: string, open: () => T): T => {
  try {
    return open()
  } catch (error) {
    if (foreignCode(error) !== 'ERR_SQLITE_ERROR') throw error
    throw new Error(`${path} cannot be opened: ${error instanceof Error ? error.message : ''}`, {
      cause: error,
    })
  }
}

export const postgresSettings = ({ caFile, passwordFile, ...settings }: DatabaseConfig): PostgresSettings => {
  if (passwordFile !== undefined) checkSecretFile(passwordFile)
  return {
    ...settings,
    ...(passwordFile !== undefined && { passwordFile }),
    ...(caFile !== undefined && { ca: readNamedFile(caFile) }),
  }
}

const checkSecretFile = (path: string): void => {
  readNamedFile(path)
  if ((statSync(path).mode & 0o077) !== 0)
    throw new ConfigError(`${path} holds a password and is open to others: run chmod 600 ${path}`)
}

const withoutPassword = ({ address: { hosts, user, database, sslmode } }: DatabaseConfig): string => {
  const [first] = hosts
  const socket = first?.host.startsWith('/') ? `&host=${encodeURIComponent(first.host)}` : ''
  const list = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
  return `postgres://${encodeURIComponent(user)}@${socket === '' ? list : `localhost:${first?.port}`}/${encodeURIComponent(database)}?sslmode=${sslmode}${socket}`
}

/** A schema is changed only with the vault's master key, so that settings that name the wrong vault change nothing. */
export const checkBeforeMigration = async (
  { schema, vaultKeys }: Look,
  keyProvider: () => KeyProvider,
): Promise<void> => {
  if (schema.pending && vaultKeys.length > 0) await unwrapVaultKeys(keyProvider(), vaultKeys)
}

/** For commands that make a vault if there is none, and bring an older one up to date. */
export const openOrMake = async (
  storage: Storage,
  keyProvider: () => KeyProvider,
  worker?: Sharing,
): Promise<{ store: Store; isNew: boolean }> => {
  const look = await storage.look()
  if (look !== undefined) await checkBeforeMigration(look, keyProvider)
  return { store: await storage.open(worker), isNew: look === undefined || look.schema.current === 0 }
}

/** Throws, with one line that says what is missing, if there is no vault. */
export const requireVault = async (storage: Storage): Promise<Look> => {
  const look = await storage.look()
  if (look === undefined)
    throw new ConfigError(`${storage.name} holds no vault: strongroom migrate makes one`)
  return look
}

/** For the commands that work beside a running server: they make no vault and change no schema. */
export const withVault = async <T>(config: Config, work: (vault: Vault) => Promise<T>): Promise<T> => {
  const storage = configuredStorage(config)
  const { schema } = await requireVault(storage)
  const keyProvider = configuredOrDevKeyProvider(config)
  if (schema.pending)
    throw new Error(
      `${storage.name} has schema ${schema.current}, this release needs ${schema.newest}: run strongroom migrate`,
    )
  const store = await storage.openForCommand()
  try {
    return await work(await openVault({ store, keyProvider, clock: Date.now }))
  } finally {
    await store.close()
  }
}
