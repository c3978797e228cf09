import { dirname } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import { newMasterKeyText } from '../../crypto/master-key.ts'
import { createMasterKeyFile } from '../../crypto/master-key-file.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import type { Run } from '../command.ts'
import { makeFolders } from '../data-folder.ts'
import { printText } from '../print.ts'

export const masterKey: Run = async ({ config }) => {
  if (config.masterKeyFile === undefined) printText(newMasterKeyText())
  else {
    try {
      makeFolders(dirname(config.masterKeyFile))
      createMasterKeyFile(config.masterKeyFile)
    } catch (error) {
      if (foreignCode(error) !== 'EEXIST') throw error
      throw new ConfigError(
        `${config.masterKeyFile} exists and is not overwritten: strongroom master-key add rotates it`,
      )
    }
    printText(`a new master key is in ${config.masterKeyFile}; keep a copy apart from the data`)
  }
  return 0
}
