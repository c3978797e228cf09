import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs'
import { type Config, ConfigError, type DatabaseConfig } from '../config.ts'
import { foreignCode } from '../domain/errors.ts'
import { openVault } from '../operations/open-vault.ts'
import type { Vault } from '../operations/vault.ts'
import type { Store } from '../store/port.ts'
import type { PostgresSettings } from '../store/postgres/postgres-store.ts'
import type { SchemaState } from '../store/sql/migration.ts'
import type { AskWriter } from '../store/sqlite/asked-writing.ts'
import { schemaState } from '../store/sqlite/migrate.ts'
import { openSqlite } from '../store/sqlite/sqlite-store.ts'
import { checkDataFolder, databasePath, makeDataFolder, requireDataFolder } from './data-folder.ts'
import { configuredOrDevKeyProvider } from './key-provider.ts'
import type { Worker } from './worker.ts'

/** Where the vault's rows are: in a folder of this machine, or on a database server. */
export type Storage = {
  /** As flags, without any secret. */
  readonly flags: Readonly<Record<string, string>>
  /**
   * Makes the vault where there is none, and brings its schema up to date. A worker shares what can be had once only:
   * the writer, where storage takes one.
   */
  open(worker?: Pick<Worker, 'askWriter' | 'neighbours'>): Promise<Store>
  /** How far the schema is, without changing it. */
  schema(): Promise<SchemaState>
  /** Brings the schema up to date and spreads it over the nodes of a cluster. */
  distribute(): Promise<void>
  /** Says in one line what is missing where there is no vault. */
  requireVault(): Promise<void>
}

/** Production starts only with what it was told explicitly (C35). A database comes before a folder. */
export const configuredStorage = (config: Config): Storage =>
  config.database === undefined ? folderStorage(requireDataFolder(config)) : serverStorage(config.database)

export const folderStorage = (dataFolder: string): Storage => ({
  flags: { data: dataFolder },
  open: async worker => openDataFolder(dataFolder, worker?.askWriter),
  schema: async () => schemaState(databasePath(dataFolder)),
  distribute: async () => {
    throw new ConfigError('--distribute needs a Citus cluster: set STRONGROOM_DATABASE_URL')
  },
  requireVault: async () => {
    if (existsSync(dataFolder)) checkDataFolder(dataFolder)
    if (!existsSync(databasePath(dataFolder)))
      throw new ConfigError(`${dataFolder} holds no vault: strongroom migrate makes one`)
  },
})

const serverStorage = (database: DatabaseConfig): Storage => {
  // Loaded when it is needed: the client of a server costs a start of the embedded store 30 ms.
  const engine = () => import('../store/postgres/postgres-store.ts')
  const schema = async () => (await engine()).postgresSchema(postgresSettings(database))
  return {
    flags: {
      'database-url': withoutPassword(database),
      ...(database.passwordFile !== undefined && { 'database-password-file': database.passwordFile }),
      ...(database.caFile !== undefined && { 'database-ca': database.caFile }),
    },
    open: async worker => (await engine()).openPostgres(postgresSettings(database), worker?.neighbours),
    schema,
    distribute: async () => (await engine()).distributePostgres(postgresSettings(database)),
    requireVault: async () => {
      if ((await schema()).current === 0)
        throw new ConfigError('the database holds no vault: strongroom migrate makes one')
    },
  }
}

/** The embedded store. Its file is there before the engine opens it, so that the engine's logs get its mode. */
export const openDataFolder = (dataFolder: string, writing: 'thread' | AskWriter = 'thread'): Store => {
  makeDataFolder(dataFolder)
  const path = databasePath(dataFolder)
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  try {
    return openSqlite({ path, writing })
  } catch (error) {
    if (foreignCode(error) !== 'ERR_SQLITE_ERROR') throw error
    throw new Error(`${path} cannot be opened: ${error instanceof Error ? error.message : ''}`)
  }
}

export const postgresSettings = ({ caFile, passwordFile, ...settings }: DatabaseConfig): PostgresSettings => {
  if (passwordFile !== undefined) checkSecretFile(passwordFile)
  return {
    ...settings,
    ...(passwordFile !== undefined && { passwordFile }),
    ...(caFile !== undefined && { ca: readSettingFile(caFile) }),
  }
}

const readSettingFile = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${path} cannot be read (${foreignCode(error)})`)
  }
}

const checkSecretFile = (path: string): void => {
  readSettingFile(path)
  if ((statSync(path).mode & 0o077) !== 0)
    throw new ConfigError(`${path} holds a password and is open to others: run chmod 600 ${path}`)
}

const withoutPassword = ({ address: { hosts, user, database, sslmode } }: DatabaseConfig): string => {
  const [first] = hosts
  const socket = first?.host.startsWith('/') ? `&host=${encodeURIComponent(first.host)}` : ''
  const list = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
  return `postgres://${encodeURIComponent(user)}@${socket === '' ? list : ''}/${encodeURIComponent(database)}?sslmode=${sslmode}${socket}`
}

/** For the commands that work beside a running server. */
export const withVault = async <T>(config: Config, work: (vault: Vault) => Promise<T>): Promise<T> => {
  const storage = configuredStorage(config)
  await storage.requireVault()
  const keyProvider = configuredOrDevKeyProvider(config)
  const store = await storage.open()
  try {
    return await work(await openVault({ store, keyProvider, clock: Date.now }))
  } finally {
    await store.close()
  }
}
