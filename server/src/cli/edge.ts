import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { envKeyProvider } from '../crypto/env-key-provider.ts'
import { fileKeyProvider } from '../crypto/file-key-provider.ts'
import type { KeyProvider } from '../crypto/key-provider.ts'
import { errorCode } from '../domain/log.ts'
import { openVault } from '../operations/open-vault.ts'
import type { Vault } from '../operations/vault.ts'
import type { Store } from '../store/port.ts'
import type { AskWriter } from '../store/sqlite/asked-writing.ts'
import { openSqlite } from '../store/sqlite/sqlite-store.ts'

export const databasePath = (dataFolder: string): string => join(dataFolder, 'vault.db')

/** Production starts only with what it was told explicitly (C35). */
export const requireDataFolder = ({ dataFolder }: Config): string => {
  if (dataFolder === undefined)
    throw new ConfigError('storage is not configured: set --data or STRONGROOM_DATA to a folder')
  return dataFolder
}

export const configuredKeyProvider = ({ keyProvider, masterKeyFile, masterKey }: Config): KeyProvider => {
  switch (keyProvider) {
    case 'file':
      if (masterKeyFile === undefined)
        throw new ConfigError('the key provider file needs --master-key-file or STRONGROOM_MASTER_KEY_FILE')
      return fileKeyProvider(masterKeyFile)
    case 'env':
      if (masterKey === undefined) throw new ConfigError('the key provider env needs STRONGROOM_MASTER_KEY')
      return envKeyProvider('STRONGROOM_MASTER_KEY', masterKey)
    default:
      throw new ConfigError('no key provider is configured: set --key-provider or STRONGROOM_KEY_PROVIDER')
  }
}

/** A folder that only its owner may enter, unless it is there already. */
export const makeDataFolder = (dataFolder: string): void => {
  try {
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unusable(dataFolder, error)
  }
  checkDataFolder(dataFolder)
}

/** Whether this user may work on what is there; a folder that is closed to him looks like an empty one. */
export const checkDataFolder = (dataFolder: string): void => {
  const { R_OK, W_OK, X_OK } = constants
  try {
    readdirSync(dataFolder)
    accessSync(dataFolder, R_OK | W_OK | X_OK)
    const path = databasePath(dataFolder)
    if (existsSync(path)) accessSync(path, R_OK | W_OK)
  } catch (error) {
    throw unusable(dataFolder, error)
  }
}

const unusable = (dataFolder: string, error: unknown): ConfigError => {
  const code = errorCode(error)
  const reason =
    code === 'EEXIST' || code === 'ENOTDIR' ? 'it is not a folder' : `this user may not write there (${code})`
  return new ConfigError(`the data folder ${dataFolder} cannot be used: ${reason}`)
}

/** The embedded store. Its file is there before the engine opens it, so that the engine's logs get its mode. */
export const openDataFolder = (dataFolder: string, writing: 'thread' | AskWriter = 'thread'): Store => {
  makeDataFolder(dataFolder)
  const path = databasePath(dataFolder)
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  try {
    return openSqlite({ path, writing })
  } catch (error) {
    if (errorCode(error) !== 'ERR_SQLITE_ERROR') throw error
    throw new Error(`${path} cannot be opened: ${error instanceof Error ? error.message : ''}`)
  }
}

export const masterKeyPath = (dataFolder: string): string => join(dataFolder, 'master.key')
export const devKeysPath = (dataFolder: string): string => join(dataFolder, 'dev-keys.json')

/** The folder of `strongroom dev` carries its own key file, so naming the folder is enough there. */
export const keyProviderFor = (config: Config): KeyProvider => {
  const dataFolder = requireDataFolder(config)
  const isDev = existsSync(masterKeyPath(dataFolder)) || existsSync(devKeysPath(dataFolder))
  return config.keyProvider === undefined && isDev
    ? fileKeyProvider(masterKeyPath(dataFolder))
    : configuredKeyProvider(config)
}

export const requireVault = (dataFolder: string): void => {
  if (existsSync(dataFolder)) checkDataFolder(dataFolder)
  if (!existsSync(databasePath(dataFolder)))
    throw new ConfigError(`${dataFolder} holds no vault: strongroom migrate makes one`)
}

/** For the commands that work beside a running server. */
export const withVault = async <T>(config: Config, work: (vault: Vault) => Promise<T>): Promise<T> => {
  const dataFolder = requireDataFolder(config)
  requireVault(dataFolder)
  const keyProvider = keyProviderFor(config)
  const store = openDataFolder(dataFolder)
  try {
    return await work(await openVault({ store, keyProvider, clock: Date.now }))
  } finally {
    await store.close()
  }
}

export const baseUrl = ({ host, tls }: Config, port: number): string =>
  `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
