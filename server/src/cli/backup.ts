import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ConfigError } from '../config/config-error.ts'
import { foreignCode } from '../domain/errors.ts'
import { backUpSqlite } from '../store/sqlite/back-up.ts'
import type { Run } from './command.ts'
import { databasePath, requireDataFolder } from './data-folder.ts'
import { printText } from './print.ts'
import { folderStorage, requireVault } from './storage.ts'

/** A copy of the embedded store, which is whole or is not there; rows and keys in it are sealed as they are. */
export const backup: Run = async ({ config, words: [word = ''] }) => {
  if (config.database !== undefined)
    throw new ConfigError('a vault on PostgreSQL is backed up with pg_dump: see docs/operating.md')
  const folder = requireDataFolder(config)
  const { schema } = await requireVault(folderStorage(folder))
  if (schema.current === 0) throw new ConfigError(`${folder} holds no vault yet`)
  const file = resolve(word)
  if (existsSync(file)) throw new ConfigError(`${file} exists and is not overwritten`)
  const draft = `${file}.part`
  // Closed to others before anything is in it.
  make(draft)
  try {
    backUpSqlite(databasePath(folder), draft)
    flush(draft)
    renameSync(draft, file)
    flush(dirname(file))
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  printText(`${folder} is backed up in ${file}; the master key is not in it`)
  return 0
}

const make = (draft: string): void => {
  try {
    closeSync(openSync(draft, 'wx', 0o600))
  } catch (error) {
    if (foreignCode(error) === 'EEXIST')
      throw new ConfigError(
        `${draft} exists: wait for the backup that is under way, or delete what is left of one`,
      )
    if (foreignCode(error) === 'ENOENT') throw new ConfigError(`there is no folder ${dirname(draft)}`)
    throw new ConfigError(`${draft} cannot be written (${foreignCode(error)})`)
  }
}

const flush = (path: string): void => {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
