import {
  accessSync,
  constants,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { foreignCode } from '../domain/foreign-code.ts'
import { type ClosedFile, closedTo } from './closed-file.ts'

export const databasePath = (dataFolder: string): string => join(dataFolder, 'vault.db')
export const masterKeyPath = (dataFolder: string): string => join(dataFolder, 'master.key')
export const devKeysPath = (dataFolder: string): string => join(dataFolder, 'dev-keys.json')

/** The database, its log, which also holds writes that were answered, and the index of the log: they belong together. */
export const databaseFiles = (dataFolder: string): string[] =>
  ['', '-wal', '-shm'].map(ending => `${databasePath(dataFolder)}${ending}`)

/** A restore moves the files that it replaces into a folder with this prefix, inside the data folder. */
export const setAsidePrefix = 'set-aside-'

/** For what works on a folder alone: there it would be no help to name a database. */
export const requireDataFolder = ({ dataFolder }: Config): string => {
  if (dataFolder === undefined)
    throw new ConfigError('the folder of the vault is missing: set --data or STRONGROOM_DATA')
  return dataFolder
}

/** Makes a folder that only its owner may enter, unless it exists already. */
export const makeDataFolder = (dataFolder: string): void => {
  try {
    makeFolders(dataFolder)
  } catch (error) {
    throw unusable(dataFolder, error)
  }
  checkDataFolder(dataFolder)
  checkDatabaseFiles(dataFolder)
}

/** Step by step: Node's own way up never ends where a parent exists and takes no folders, as in /proc. */
export const makeFolders = (path: string): void => {
  if (existsSync(path)) return
  makeFolders(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(path)) throw error
  }
}

/** Throws if this user may not work in the folder: one that is closed to them looks like an empty one. */
export const checkDataFolder = (dataFolder: string): void => {
  const { R_OK, W_OK, X_OK } = constants
  try {
    readdirSync(dataFolder)
    accessSync(dataFolder, R_OK | W_OK | X_OK)
  } catch (error) {
    throw unusable(dataFolder, error)
  }
}

/**
 * The link on the way to the folder that leads nowhere, as when a disk is not mounted: what is behind it only looks as if it had
 * never been made.
 */
export const brokenLink = (path: string): BrokenLink | undefined => {
  if (existsSync(path)) return undefined
  const target = targetOf(path)
  if (target === undefined) return brokenLink(dirname(path))
  return {
    problem: `the link ${path} leads to ${target}, which is not there`,
    advice:
      'mount the disk that it is on, or make the link or --data lead to the folder that holds the vault',
  }
}

type BrokenLink = { readonly problem: string; readonly advice: string }

/** Undefined if it is not a link, or none that this user can see. */
const targetOf = (path: string): string | undefined => {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

export const checkDatabaseFiles = (dataFolder: string): void => {
  const [closed] = closedFiles(dataFolder)
  if (closed !== undefined) throw new ConfigError(`${closed.problem}: ${closed.advice}`)
}

/** The vault's files that this user may not read and write. */
export const closedFiles = (dataFolder: string): ClosedFile[] =>
  databaseFiles(dataFolder).flatMap(path => closedTo(path, 'read and write') ?? [])

/** What may be the remains of a vault. SQLite would begin a new database, and discard a log that belongs to none. */
export const describeRemains = (dataFolder: string): string | undefined => {
  const path = databasePath(dataFolder)
  if (sizeOf(path) > 0) return undefined
  const loss = `${path} ${existsSync(path) ? 'is empty' : 'is gone'}`
  const log = `${path}-wal`
  if (sizeOf(log) > 0)
    return `${log} holds writes, but ${loss}: put the vault.db that belongs to it beside it, or move it away`
  // Whatever is in it, since it may be closed to this user.
  const [aside] = globSync(`${setAsidePrefix}*`, { cwd: dataFolder })
  if (aside === undefined) return undefined
  return `${join(dataFolder, aside)} was set aside by a restore, but ${loss}: restore vault.db from a backup, or move that folder away`
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

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

const unusable = (dataFolder: string, error: unknown): ConfigError =>
  new ConfigError(
    `the data folder ${dataFolder} cannot be used: ${reasons[foreignCode(error)] ?? foreignCode(error)}`,
  )
