import { constants, fsyncSync, ftruncateSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { foreignCode } from '../../domain/foreign-code.ts'
import { KeyProviderError } from '../key-provider.ts'
import { type MasterKeys, retiredMark } from '../master-key.ts'
import { readMasterKeyFile, retiredKeysPath } from './read-master-key-file.ts'
import { replaceMasterKeyFile } from './replace-master-key-file.ts'
import { giveTo, type Owner, syncFile, withFile } from './write-file.ts'

/**
 * Moves all keys but the first to `retiredKeysPath`, because backups may still need them. Says how many. Refuses if the keys are
 * no longer those that the caller knows: nothing may be wrapped yet with a first key that came after the caller looked.
 */
export const retireMasterKeys = (path: string, known: MasterKeys = readMasterKeyFile(path)): number => {
  const [, ...older] = known.keys
  if (older.length === 0) return 0
  const byHand = `move every key below its first line to ${retiredKeysPath(path)}`
  replaceMasterKeyFile(path, byHand, ({ keys, retired, lines }) => {
    if (keys.length !== known.keys.length || !keys.every((key, n) => known.keys[n]?.equals(key)))
      throw new KeyProviderError(
        `the master key file ${path} has changed meanwhile, so nothing was retired: run strongroom master-key rewrap, and this again`,
      )
    const [first = '', ...others] = lines.filter(line => !retired.includes(line))
    keepRetired(retiredKeysPath(path), others, statSync(path))
    // A key that was brought back for a restore has its mark already.
    const marks = new Set([...older.map(retiredMark), ...retired])
    return [first, ...marks]
  })
  return older.length
}

const keepRetired = (path: string, lines: readonly string[], owner: Owner): void => {
  try {
    withFile(path, retiredFlags, file => {
      giveTo(file, owner)
      const kept = readFileSync(file, 'utf8')
      const missing = lines.filter(line => !kept.includes(line)).map(line => `${line}\n`)
      try {
        // Unlike `writeSync`, which may write only a part and says so in what it returns.
        writeFileSync(file, [kept === '' || kept.endsWith('\n') ? '' : '\n', ...missing].join(''))
        fsyncSync(file)
      } catch (error) {
        // With half a line at its end, doctor could not read the keys above it either.
        ftruncateSync(file, Buffer.byteLength(kept))
        throw error
      }
    })
    syncFile(dirname(path))
  } catch (error) {
    throw new KeyProviderError(
      `the older master keys cannot be kept in ${path} (${foreignCode(error)}), so nothing was changed`,
    )
  }
}

// Not through a link: whoever may write to the folder could lead root to a file of root's, which would become theirs.
const retiredFlags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW
