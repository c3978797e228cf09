import type { KeyObject } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { foreignCode } from '../domain/errors.ts'
import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { localKeyProvider, newMasterKeyText, readMasterKeyText } from './master-key.ts'

/** The master key is a file that only its owner may read. */
export const fileKeyProvider = (path: string): KeyProvider =>
  localKeyProvider(path, () => readMasterKey(path))

/** Never overwrites: a lost master key is a lost vault. */
export const createMasterKeyFile = (path: string): void => {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, `${newMasterKeyText()}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Tells a missing file from an unreadable one: a key that exists but is closed to this user must not be replaced. */
const unreadable = (path: string, error: unknown): string => {
  const code = foreignCode(error)
  if (code === 'ENOENT')
    return 'does not exist: strongroom master-key makes one; for a vault that exists, restore it from your backup'
  if (code === 'EACCES')
    return `may not be read by this user (EACCES): run this as the user that it belongs to, or as root run chown ${process.geteuid?.()} ${path} && chmod 600 ${path}`
  return `cannot be read (${code}): restore it from your backup`
}

const readMasterKey = (path: string): KeyObject => {
  let text: string
  let mode: number
  try {
    mode = statSync(path).mode
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new KeyProviderError(`the master key file ${path} ${unreadable(path, error)}`)
  }
  if ((mode & 0o077) !== 0)
    throw new KeyProviderError(`the master key file ${path} is open to others: run chmod 600 ${path}`)
  const key = readMasterKeyText(text)
  if (key === undefined)
    throw new KeyProviderError(
      `the master key file ${path} does not hold a master key: restore it from your backup`,
    )
  return key
}
