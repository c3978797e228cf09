import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { createMasterKeyFile } from '../../keys/file/create-master-key-file.ts'
import { newMasterKeyText } from '../../keys/master-key.ts'
import type { Run } from '../command.ts'
import { makeFolders } from '../data-folder/make-data-folder.ts'
import { printText } from '../print.ts'

export const masterKey: Run = async ({ config: { masterKeyFile } }) => {
  if (masterKeyFile === undefined) printText(newMasterKeyText())
  else {
    make(masterKeyFile)
    printText(`a new master key is in ${masterKeyFile}; keep a copy apart from the data`)
  }
  return 0
}

const make = (path: string): void => {
  const wasThere = existsSync(path)
  try {
    makeFolders(dirname(path))
    createMasterKeyFile(path)
  } catch (error) {
    const code = foreignCode(error)
    throw new ConfigError(
      wasThere || (code === 'EEXIST' && existsSync(path))
        ? `${path} exists and is not overwritten: strongroom master-key add rotates it`
        : `${path} cannot be written (${code})`,
    )
  }
}
