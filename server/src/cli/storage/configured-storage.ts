import type { Config } from '../../config/config.ts'
import { requireDataFolder } from '../data-folder.ts'
import { folderStorage } from './folder-storage.ts'
import { serverStorage } from './server-storage.ts'
import type { Storage } from './storage.ts'

/** Production starts only with what it was told explicitly (C35). */
export const configuredStorage = (config: Config): Storage =>
  config.database === undefined ? folderStorage(requireDataFolder(config)) : serverStorage(config.database)
