import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { flush } from '../../store/sqlite/back-up.ts'
import { brokenLink } from './broken-link.ts'
import { makeDataFolder } from './make-data-folder.ts'
import { requireUnmoved } from './moved-folder.ts'
import { databaseFiles, databasePath, restoringPath, setAsidePrefix } from './paths.ts'

/** The file of a backup and its log, if it has one, which holds the newest writes. Also the same of a copied data folder. */
export const backupFiles = (path: string): readonly string[] => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) throw new ConfigError(`there is no backup ${path}`)
  const file = stat.isDirectory() ? databasePath(path) : path
  if (sizeOf(file) === 0) throw new ConfigError(`${file} is ${existsSync(file) ? 'empty' : 'not there'}`)
  const log = `${file}-wal`
  return sizeOf(log) > 0 ? [file, log] : [file]
}

/** Throws unless the folder may get another vault. */
export const requireReplaceable = (
  folder: string,
  { files, setsAside }: { files: readonly string[]; setsAside: boolean },
): void => {
  const broken = brokenLink(folder)
  if (broken !== undefined) throw new ConfigError(`${broken.problem}: ${broken.advice}`)
  makeDataFolder(folder)
  requireUnmoved(folder)
  const present = databaseFiles(folder).filter(file => existsSync(file))
  if (files.some(file => present.some(own => isSame(own, file))))
    throw new ConfigError(`${files[0]} is the vault itself, not a backup of it`)
  if (present.length > 0 && !setsAside)
    throw new ConfigError(
      `${folder} holds a vault, which is not overwritten: add --set-aside to keep its files in a folder of their own, once every server and command on it has stopped`,
    )
}

/** Copies a backup into a folder of its own inside the data folder, where it is a vault like any other. */
export const copyBackup = async (files: readonly string[], workshop: string): Promise<void> => {
  for (const [index, file] of files.entries()) {
    const copy = `${databasePath(workshop)}${index === 0 ? '' : '-wal'}`
    await copyFile(file, copy)
    chmodSync(copy, 0o600)
  }
}

/** Where a restore works. It stands in the way of `serve` until the vault is in its place. */
export const makeWorkshop = (folder: string): string => {
  const workshop = restoringPath(folder)
  try {
    mkdirSync(workshop, { mode: 0o700 })
  } catch (error) {
    if (foreignCode(error) === 'EEXIST')
      throw new ConfigError(
        `${workshop} exists: wait for the restore that is under way, or, if it was stopped, delete that folder`,
      )
    throw new ConfigError(`${workshop} cannot be made (${foreignCode(error)})`)
  }
  return workshop
}

/**
 * Moves what is there aside, and then the vault from the workshop to its place. Returns where the former is, if there was
 * anything. Until the last move, `serve` refuses what it finds (`describeRemains`).
 */
export const replaceVault = (folder: string, workshop: string): string | undefined => {
  const restored = databasePath(workshop)
  if (sizeOf(`${restored}-wal`) > 0) throw new Error(`${restored} was not closed`)
  giveToOwner(folder, restored)
  flush(restored)
  const present = databaseFiles(folder).filter(file => existsSync(file))
  const aside = present.length === 0 ? undefined : mkdtempSync(join(folder, setAsidePrefix))
  if (aside !== undefined) {
    giveToOwner(folder, aside)
    setAside(present, aside)
    flush(folder)
  }
  renameSync(restored, databasePath(folder))
  flush(folder)
  return aside
}

/** No kill parts a database from its log: all of them are there before the first is removed. Not all file systems have links. */
const setAside = (files: readonly string[], aside: string): void => {
  const pairs = files.map(file => [file, join(aside, basename(file))] as const)
  try {
    for (const [file, kept] of pairs) linkSync(file, kept)
  } catch {
    for (const [file, kept] of pairs) renameSync(file, kept)
    return
  } finally {
    flush(aside)
  }
  for (const [file] of pairs) rmSync(file)
}

/** What root makes would be closed to the user who serves it. */
const giveToOwner = (folder: string, path: string): void => {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  chownSync(path, uid, gid)
}

const isSame = (one: string, other: string): boolean => {
  const [a, b] = [statSync(one), statSync(other)]
  return a.dev === b.dev && a.ino === b.ino
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
