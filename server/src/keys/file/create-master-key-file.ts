import { constants, copyFileSync, linkSync } from 'node:fs'
import { foreignCode } from '../../domain/foreign-code.ts'
import { newMasterKeyText } from '../master-key.ts'
import { syncFile, viaDraft } from './write-file.ts'

/** Never overwrites: a lost master key is a lost vault. */
export const createMasterKeyFile = (path: string): void =>
  viaDraft(path, `${newMasterKeyText()}\n`, draft => linkOrCopy(draft, path))

/** Neither replaces a file that is there, as a rename would. Not all file systems have links. */
const linkOrCopy = (draft: string, path: string): void => {
  try {
    linkSync(draft, path)
  } catch (error) {
    if (foreignCode(error) === 'EEXIST') throw error
    copyFileSync(draft, path, constants.COPYFILE_EXCL)
    syncFile(path)
  }
}
