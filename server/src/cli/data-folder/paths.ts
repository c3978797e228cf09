import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'

/** For commands that work only on a folder, where naming a database would not help. */
export const requireDataFolder = ({ dataFolder }: Config): string => {
  if (dataFolder === undefined)
    throw new ConfigError('the folder of the vault is missing: set --data or STRONGROOM_DATA')
  return dataFolder
}

export const databasePath = (dataFolder: string): string => join(dataFolder, 'vault.db')
export const masterKeyPath = (dataFolder: string): string => join(dataFolder, 'master.key')
export const devKeysPath = (dataFolder: string): string => join(dataFolder, 'dev-keys.json')

/** The database, its log, which also holds writes that were answered, and the index of the log. They belong together. */
export const databaseFiles = (dataFolder: string): string[] =>
  ['', '-wal', '-shm'].map(ending => `${databasePath(dataFolder)}${ending}`)

/** In which a restore prepares and examines what it brings. */
export const restoringPath = (dataFolder: string): string => join(dataFolder, 'restoring')

/** A restore moves the files that it replaces into a folder with this prefix inside the data folder. */
export const setAsidePrefix = 'set-aside-'
