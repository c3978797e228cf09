import { realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { foreignCode } from '../../domain/foreign-code.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import { KeyProviderError } from '../key-provider.ts'
import { type MasterKeyFile, readMasterKeyFile } from './read-master-key-file.ts'
import { viaDraft, withFile } from './write-file.ts'

/** The file is whole at every moment, and stays its owner's: root may rotate the key of a service. */
export const replaceMasterKeyFile = (
  path: string,
  byHand: string,
  revise: (found: MasterKeyFile) => readonly string[],
): void => {
  // Without a lock, so that what is wrong with the file itself is said first.
  readMasterKeyFile(path)
  try {
    const target = realpathSync(path)
    whileLocked(target, () => {
      const text = `${revise(readMasterKeyFile(path)).join('\n')}\n`
      viaDraft(target, text, draft => renameSync(draft, target), statSync(target))
    })
  } catch (error) {
    if (error instanceof KeyProviderError) throw error
    throw new KeyProviderError(
      `the master key file ${path} cannot be replaced (${foreignCode(error)}): do it by hand, ${byHand}`,
    )
  }
}

/**
 * Of two commands that have read the same file, the second to write would drop the key of the first, and with it whatever that key
 * has wrapped by then. A command that is killed leaves its lock, since only the operator can tell that it is gone: a process id
 * means nothing in another container.
 */
const whileLocked = (path: string, work: () => void): void => {
  const lock = `${path}.lock`
  try {
    withFile(lock, 'wx', () => {})
  } catch (error) {
    if (foreignCode(error) !== 'EEXIST') throw error
    throw new KeyProviderError(
      `another command changes the master key file ${path}: try again; if none does, run rm ${shellWord(lock)} first`,
    )
  }
  try {
    work()
  } finally {
    rmSync(lock, { force: true })
  }
}
