import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import { folderStorage } from './folder-storage.ts'
import { serverStorage } from './server-storage.ts'
import type { Storage } from './storage.ts'

/** Production starts only with explicit settings (C35). */
export const configuredStorage = ({ database, dataFolder }: Config): Storage => {
  if (database !== undefined) return serverStorage(database)
  if (dataFolder !== undefined) return folderStorage(dataFolder)
  throw new ConfigError(
    `storage is not configured: set --data or STRONGROOM_DATA to a folder, or STRONGROOM_DATABASE_URL; strongroom dev keeps its vault in --data .strongroom`,
  )
}
