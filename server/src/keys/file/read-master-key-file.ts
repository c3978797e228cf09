import { readFileSync, statSync } from 'node:fs'
import { foreignCode } from '../../domain/foreign-code.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import { KeyProviderError } from '../key-provider.ts'
import { type MasterKeys, readMasterKeys } from '../master-key.ts'

export type MasterKeyFile = MasterKeys & { readonly lines: readonly string[] }

/** One key per line: the one that wraps, and below it those that it has replaced, or the marks of those. */
export const readMasterKeyFile = (path: string): MasterKeyFile => {
  let text: string
  let mode: number
  try {
    const found = statSync(path)
    // A pipe would be read once, and from then on be waited for.
    if (!found.isFile() && !found.isDirectory())
      throw new KeyProviderError(
        `the master key file ${path} is not a file`,
        'the master key is not in a file',
      )
    mode = found.mode
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof KeyProviderError) throw error
    throw new KeyProviderError(
      `the master key file ${path} ${unreadable(path, error)}`,
      `the master key file cannot be read (${foreignCode(error)})`,
    )
  }
  if ((mode & 0o077) !== 0)
    throw new KeyProviderError(
      `the master key file ${path} is open to others: run chmod 600 ${shellWord(path)}`,
      'the master key file is open to others',
    )
  const found = readMasterKeys(text)
  if (found === undefined)
    throw new KeyProviderError(
      `the master key file ${path} does not hold a master key: restore it from your backup`,
      'the master key file does not hold a master key',
    )
  return { ...found, lines: text.trim().split(/\s+/) }
}

/** Tells a missing file from an unreadable one: a key that exists but is closed to this user must not be replaced. */
const unreadable = (path: string, error: unknown): string => {
  const code = foreignCode(error)
  if (code === 'ENOENT')
    return 'does not exist: strongroom master-key makes one; for a vault that exists, restore it from your backup'
  if (code === 'EACCES')
    return `may not be read by this user (EACCES): run this as the user that it belongs to, or as root run chown ${process.geteuid?.()} ${shellWord(path)} && chmod 600 ${shellWord(path)}`
  return `cannot be read (${code}): restore it from your backup`
}

/** Where the keys go that a rotation takes out of this file. */
export const retiredKeysPath = (path: string): string => `${path}.retired`

/** The same file as if its retired keys were still in it; undefined if there are none that this user can read. */
export const readWithRetiredKeys = (path: string): MasterKeys | undefined => {
  let text: string
  try {
    text = readFileSync(retiredKeysPath(path), 'utf8')
  } catch {
    return undefined
  }
  const { keys, retired } = readMasterKeyFile(path)
  const older = readMasterKeys(text)?.keys
  return older && { keys: [...keys, ...older], retired }
}
