import { createSecretKey, type KeyObject } from 'node:crypto'
import { open, seal } from './aead.ts'
import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { randomBytes } from './random.ts'

const prefix = 'strongroom-master-key-1:'

/** A master key as text, the way a file or an environment variable holds it. */
export const newMasterKeyText = (): string => `${prefix}${randomBytes(32).toString('base64')}`

export const readMasterKeyText = (text: string): KeyObject | undefined => {
  if (!text.trim().startsWith(prefix)) return undefined
  const bytes = Buffer.from(text.trim().slice(prefix.length), 'base64')
  return bytes.length === 32 ? createSecretKey(bytes) : undefined
}

/** Wraps under a master key that this process holds itself; `source` says where the operator put it. */
export const localKeyProvider = (source: string, readKey: () => KeyObject): KeyProvider => {
  const master = readKey()
  return {
    wrap: async (key, context) => seal(master, 1, key, context),
    unwrap: async (wrapped, context) => {
      const key = open(master, wrapped, context)
      if (key === undefined)
        throw new KeyProviderError(
          `a wrapped key (${context}) does not open with the master key in ${source}: restore the one that belongs to this storage`,
        )
      return key
    },
    health: async () => {
      // A restart would open nothing with another one.
      if (!readKey().equals(master))
        throw new KeyProviderError(`${source} holds another master key than at the start`)
    },
  }
}
