import { accessSync, constants, readdirSync } from 'node:fs'
import { ConfigError } from '../../config/config-error.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { type ClosedFile, closedTo } from '../closed-file.ts'
import { databaseFiles } from './paths.ts'

/** Throws if this user may not work in the folder. A closed folder looks like an empty one. */
export const checkDataFolder = (dataFolder: string): void => {
  const { R_OK, W_OK, X_OK } = constants
  try {
    readdirSync(dataFolder)
    accessSync(dataFolder, R_OK | W_OK | X_OK)
  } catch (error) {
    throw unusable(dataFolder, error)
  }
}

export const checkDatabaseFiles = (dataFolder: string): void => {
  const [closed] = closedFiles(dataFolder)
  if (closed !== undefined) throw new ConfigError(`${closed.problem}: ${closed.advice}`)
}

/** The vault's files that this user may not read and write. */
export const closedFiles = (dataFolder: string): ClosedFile[] =>
  databaseFiles(dataFolder).flatMap(path => closedTo(path, 'read and write') ?? [])

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it leads nowhere (ENOENT)',
  EEXIST: 'it is not a folder',
  ENOTDIR: 'it is not a folder',
  EACCES: 'this user may not write there (EACCES)',
  EPERM: 'this user may not write there (EPERM)',
  EROFS: 'the file system is read-only (EROFS)',
  ENAMETOOLONG: 'its name is too long (ENAMETOOLONG)',
  ENOSPC: 'the disk is full (ENOSPC)',
}

export const unusable = (dataFolder: string, error: unknown): ConfigError =>
  new ConfigError(
    `the data folder ${dataFolder} cannot be used: ${reasons[foreignCode(error)] ?? foreignCode(error)}`,
  )
