import { createSecretKey, type KeyObject } from 'node:crypto'
import { open, seal } from './aead.ts'
import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { randomBytes } from './random.ts'

const prefix = 'strongroom-master-key-1:'

/** A master key as text, the way a file or an environment variable holds it. */
export const newMasterKeyText = (): string => `${prefix}${randomBytes(32).toString('base64')}`

/** The first wraps. Those after it, older ones, open what has not been wrapped anew since the master key was rotated. */
export type MasterKeys = readonly [KeyObject, ...KeyObject[]]

/** The master keys in a text, separated by white space; undefined if any of it is something else. */
export const readMasterKeys = (text: string): MasterKeys | undefined => {
  const [first, ...older] = text.trim().split(/\s+/).map(readMasterKey)
  return first === undefined || !older.every(key => key !== undefined) ? undefined : [first, ...older]
}

const wellFormed = new RegExp(`^${prefix}[A-Za-z0-9+/]{43}=$`)

const readMasterKey = (text: string): KeyObject | undefined =>
  wellFormed.test(text) ? createSecretKey(text.slice(prefix.length), 'base64') : undefined

/**
 * Wraps under master keys that this process holds itself; `source` says where the operator put them. Where `read` can find
 * others than at the start, a rotation reaches a running server: nothing is wrapped with a key that has been replaced.
 */
export const localKeyProvider = (source: string, read: () => MasterKeys): KeyProvider => {
  let known = read()
  const readAgain = (): MasterKeys => {
    const found = read()
    // A rotation leaves an older key in place. Without any that is known, it is the key of some other vault.
    if (!found.some(key => known.some(other => other.equals(key))))
      throw new KeyProviderError(`${source} holds another master key than at the start`)
    known = found
    return found
  }
  const openWith = (keys: readonly KeyObject[], wrapped: Uint8Array, context: string): Buffer | undefined => {
    for (const key of keys) {
      const opened = open(key, wrapped, context)
      if (opened !== undefined) return opened
    }
    return undefined
  }
  return {
    wrap: async (key, context) => seal(readAgain()[0], 1, key, context),
    unwrap: async (wrapped, context) => {
      const key = openWith(known, wrapped, context) ?? openWith(readAgain(), wrapped, context)
      if (key === undefined)
        throw new KeyProviderError(
          `a wrapped key (${context}) does not open with the master key in ${source}: restore the one that belongs to this storage`,
        )
      return key
    },
    isCurrent: async (wrapped, context) => {
      const key = open(readAgain()[0], wrapped, context)
      key?.fill(0)
      return key !== undefined
    },
    // A restart would open nothing with the key of another vault, or with none.
    health: async () => {
      readAgain()
    },
  }
}
