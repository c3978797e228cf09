import { accessSync, constants, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { foreignCode } from '../domain/errors.ts'

export const databasePath = (dataFolder: string): string => join(dataFolder, 'vault.db')
export const masterKeyPath = (dataFolder: string): string => join(dataFolder, 'master.key')
export const devKeysPath = (dataFolder: string): string => join(dataFolder, 'dev-keys.json')

export const requireDataFolder = ({ dataFolder }: Config): string => {
  if (dataFolder === undefined)
    throw new ConfigError(
      'storage is not configured: set --data or STRONGROOM_DATA to a folder, or STRONGROOM_DATABASE_URL',
    )
  return dataFolder
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

/** Whether this user may work on what is there; a folder that is closed to them looks like an empty one. */
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
  const code = foreignCode(error)
  const reason =
    code === 'EEXIST' || code === 'ENOTDIR' ? 'it is not a folder' : `this user may not write there (${code})`
  return new ConfigError(`the data folder ${dataFolder} cannot be used: ${reason}`)
}
