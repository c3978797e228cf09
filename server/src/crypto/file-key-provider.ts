import { createSecretKey, type KeyObject } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { open, seal } from './aead.ts'
import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { randomBytes } from './random.ts'

/** Development: the master key is a file that only its owner may read. */
export const fileKeyProvider = (path: string): KeyProvider => {
  const master = readMasterKey(path)
  return {
    name: 'file',
    wrap: async (key, context) => seal(master, 1, key, context),
    unwrap: async (wrapped, context) => {
      const key = open(master, wrapped, context)
      if (key === undefined)
        throw new KeyProviderError(
          `a wrapped key (${context}) does not open with the master key in ${path}: restore the file that belongs to this storage`,
        )
      return key
    },
    health: async () => {
      readMasterKey(path)
    },
  }
}

const prefix = 'strongroom-master-key-1:'

/** Never overwrites: a lost master key is a lost vault. */
export const createMasterKeyFile = (path: string): void => {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, `${prefix}${randomBytes(32).toString('base64')}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

const readMasterKey = (path: string): KeyObject => {
  let text: string
  let mode: number
  try {
    mode = statSync(path).mode
    text = readFileSync(path, 'utf8').trim()
  } catch {
    throw new KeyProviderError(`the master key file ${path} cannot be read: restore it from your backup`)
  }
  if ((mode & 0o077) !== 0)
    throw new KeyProviderError(`the master key file ${path} is open to others: run chmod 600 ${path}`)
  const bytes = text.startsWith(prefix) ? Buffer.from(text.slice(prefix.length), 'base64') : Buffer.alloc(0)
  if (bytes.length !== 32)
    throw new KeyProviderError(
      `the master key file ${path} does not hold a master key: restore it from your backup`,
    )
  return createSecretKey(bytes)
}
