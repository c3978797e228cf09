import { accessSync, constants, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { envKeyProvider } from '../crypto/env-key-provider.ts'
import { fileKeyProvider } from '../crypto/file-key-provider.ts'
import type { KeyProvider } from '../crypto/key-provider.ts'
import { errorCode } from '../domain/log.ts'

export const databasePath = (dataFolder: string): string => join(dataFolder, 'vault.db')

export const requireDataFolder = ({ dataFolder }: Config): string => {
  if (dataFolder === undefined)
    throw new ConfigError(
      'storage is not configured: set --data or STRONGROOM_DATA to a folder, or STRONGROOM_DATABASE_URL',
    )
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

export const masterKeyPath = (dataFolder: string): string => join(dataFolder, 'master.key')
export const devKeysPath = (dataFolder: string): string => join(dataFolder, 'dev-keys.json')

/** The folder of `strongroom dev` carries its own key file, so naming the folder is enough there. */
export const keyProviderFor = (config: Config): KeyProvider => {
  const { dataFolder } = config
  const isDev =
    dataFolder !== undefined && (existsSync(masterKeyPath(dataFolder)) || existsSync(devKeysPath(dataFolder)))
  return config.keyProvider === undefined && isDev
    ? fileKeyProvider(masterKeyPath(dataFolder))
    : configuredKeyProvider(config)
}

export const baseUrl = ({ host, tls }: Config, port: number): string =>
  `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
