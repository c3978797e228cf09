import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { checkDatabaseFiles, checkDataFolder, unusable } from './check-data-folder.ts'

/** Makes a folder that only its owner may enter, unless it exists. */
export const makeDataFolder = (dataFolder: string): void => {
  try {
    makeFolders(dataFolder)
  } catch (error) {
    throw unusable(dataFolder, error)
  }
  checkDataFolder(dataFolder)
  checkDatabaseFiles(dataFolder)
}

/** Makes one folder at a time: Node's own `recursive` never ends if a parent exists and takes no folders, as in /proc. */
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
