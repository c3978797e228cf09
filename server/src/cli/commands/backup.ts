import { closeSync, linkSync, lstatSync, mkdirSync, openSync, renameSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { backUpSqlite, flush } from '../../store/sqlite/back-up.ts'
import { isDiskFailure, isFull } from '../../store/sqlite/failure-codes.ts'
import type { Run } from '../command.ts'
import { requireUnmoved } from '../data-folder/moved-folder.ts'
import { databasePath, requireDataFolder } from '../data-folder/paths.ts'
import { printText } from '../print.ts'
import { removeFolder, removeOnSignal } from '../removed-folder.ts'
import { folderStorage } from '../storage/folder-storage.ts'
import { leaveRecord } from '../storage/leave-record.ts'
import { requireVault } from '../storage/with-vault.ts'

/**
 * Copies the embedded store into a file that is either complete or absent. Rows and keys in it stay sealed. The copy is made in a
 * folder of its own: no signal stops the engine, but it cannot create a file in a folder that was removed.
 */
export const backup: Run = async ({ config, words: [word = ''] }) => {
  if (config.database !== undefined)
    throw new ConfigError('a vault on PostgreSQL is backed up with pg_dump: see docs/backups.md')
  const folder = requireDataFolder(config)
  await requireVault(folderStorage(folder))
  // An old schedule must not back up a folder that moved, so that nobody takes its backups for those of the vault.
  requireUnmoved(folder)
  const file = resolve(word)
  if (isThere(file)) throw taken(file)
  const workshop = `${file}.part`
  const draft = make(workshop)
  const stopWatching = removeOnSignal(workshop)
  try {
    await backUpSqlite({ path: databasePath(folder), to: draft })
    giveName(draft, file)
    flush(dirname(file))
  } catch (error) {
    throw explained(error, folder, file)
  } finally {
    removeFolder(workshop)
    stopWatching()
  }
  await leaveRecord(config, { operation: 'backup', entityType: 'tenant' })
  printText(`${folder} is backed up in ${file}; the master key is not in it`)
  return 0
}

/** Also true for a link that leads nowhere, because a rename would replace it. */
const isThere = (file: string): boolean => {
  try {
    lstatSync(file)
    return true
  } catch {
    return false
  }
}

const taken = (file: string): ConfigError => new ConfigError(`${file} exists and is not overwritten`)

/** Closes folder and file to others before anything is in them. */
const make = (workshop: string): string => {
  const draft = join(workshop, 'vault.db')
  try {
    mkdirSync(workshop, { mode: 0o700 })
  } catch (error) {
    if (foreignCode(error) === 'EEXIST')
      throw new ConfigError(
        `${workshop} exists: wait for the backup that is under way, or delete what is left of one`,
      )
    if (foreignCode(error) === 'ENOENT') throw new ConfigError(`there is no folder ${dirname(workshop)}`)
    throw unwritable(workshop, error)
  }
  try {
    closeSync(openSync(draft, 'wx', 0o600))
  } catch (error) {
    removeFolder(workshop)
    throw unwritable(workshop, error)
  }
  return draft
}

const unwritable = (workshop: string, error: unknown): ConfigError =>
  new ConfigError(`${workshop} cannot be written (${foreignCode(error)})`)

/** Unlike a rename, a link does not replace a file that appeared meanwhile. Not all file systems have links. */
const giveName = (draft: string, file: string): void => {
  try {
    linkSync(draft, file)
  } catch {
    if (isThere(file)) throw taken(file)
    renameSync(draft, file)
  }
}

/** Two disks may be to blame, and neither the engine nor the kernel says which. */
const explained = (error: unknown, folder: string, file: string): unknown => {
  if (!(error instanceof Error)) return error
  if (isFull(error) || 'syscall' in error) return new Error(`${file} cannot be written: ${error.message}`)
  if (isDiskFailure(error)) return new Error(`${folder} cannot be copied to ${file}: ${error.message}`)
  return error
}
