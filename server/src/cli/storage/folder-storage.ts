import { closeSync, existsSync, openSync } from 'node:fs'
import { ConfigError } from '../../config/config-error.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import type { Store } from '../../store/port.ts'
import type { Inspection } from '../../store/sql/inspection.ts'
import { inspectSqlite } from '../../store/sqlite/inspect.ts'
import { compareSqliteSchema } from '../../store/sqlite/schema-parts.ts'
import { openSqlite } from '../../store/sqlite/sqlite-store.ts'
import type { Writer } from '../../store/sqlite/writing/writer-client.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { brokenLink } from '../data-folder/broken-link.ts'
import { checkDatabaseFiles, checkDataFolder } from '../data-folder/check-data-folder.ts'
import { makeDataFolder } from '../data-folder/make-data-folder.ts'
import { requireUnmoved } from '../data-folder/moved-folder.ts'
import { databasePath } from '../data-folder/paths.ts'
import { describeRemains } from '../data-folder/remains.ts'
import { folderDoctor } from '../doctor/folder-doctor.ts'
import type { Storage } from './storage.ts'

export const folderStorage = (dataFolder: string): Storage => ({
  name: dataFolder,
  flags: { data: dataFolder },
  inspect: async () => inspectFolder(dataFolder),
  compareSchema: async () => compareSqliteSchema(databasePath(dataFolder)),
  open: async (telemetry, worker) => openDataFolder(dataFolder, worker?.writer ?? 'thread', telemetry),
  openForCommand: async writes => openDataFolder(dataFolder, writes === 'much' ? 'thread' : 'inline'),
  distribute: async () => {
    throw new ConfigError('--distribute needs a Citus cluster: set STRONGROOM_DATABASE_URL')
  },
  doctor: folderDoctor(dataFolder),
})

const inspectFolder = (dataFolder: string): Inspection | undefined => {
  const broken = brokenLink(dataFolder)
  if (broken !== undefined) throw new ConfigError(`${broken.problem}: ${broken.advice}`)
  if (!existsSync(dataFolder)) return undefined
  checkDataFolder(dataFolder)
  checkDatabaseFiles(dataFolder)
  const remains = describeRemains(dataFolder)
  if (remains !== undefined) throw new Error(remains)
  const path = databasePath(dataFolder)
  if (!existsSync(path)) return undefined
  return opened(path, () => inspectSqlite(path))
}

/** Opens the embedded store. Its file is made before the engine opens it, so that the engine's logs get the same mode. */
const openDataFolder = (
  dataFolder: string,
  writing: 'thread' | 'inline' | Writer,
  telemetry?: Telemetry,
): Store => {
  makeDataFolder(dataFolder)
  requireUnmoved(dataFolder)
  const path = databasePath(dataFolder)
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  return opened(path, () => openSqlite({ path, writing, telemetry }))
}

const opened = <T>(path: string, open: () => T): T => {
  try {
    return open()
  } catch (error) {
    if (foreignCode(error) !== 'ERR_SQLITE_ERROR') throw error
    throw new Error(`${path} cannot be opened: ${error instanceof Error ? error.message : ''}`, {
      cause: error,
    })
  }
}
