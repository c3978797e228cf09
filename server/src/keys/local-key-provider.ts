import type { KeyObject } from 'node:crypto'
import { open, seal } from '../crypto/aead.ts'
import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { type MasterKeys, retiredMark } from './master-key.ts'

/** The context of what a master key seals. */
const wrappedKey = 'wrapped key'

/**
 * Wraps under master keys that this process holds itself; `source` says where the operator put them. If `read` can find newer keys
 * than at the start, a rotation reaches a running server, and nothing is wrapped with a replaced key.
 */
export const localKeyProvider = (source: string, read: () => MasterKeys): KeyProvider => {
  let known = read()
  const readAgain = (): MasterKeys => {
    const found = read()
    // A rotation leaves an older key in place, or at least its mark. Without either, it is the key of some other vault.
    const isOurs = (key: KeyObject): boolean =>
      found.keys.some(other => other.equals(key)) || found.retired.includes(retiredMark(key))
    if (!known.keys.some(isOurs))
      throw new KeyProviderError(
        `${source} holds another master key than at the start`,
        'the master key is another one than at the start',
      )
    known = found
    return found
  }
  const openWith = ({ keys }: MasterKeys, wrapped: Uint8Array, context: string): Buffer | undefined => {
    for (const key of keys) {
      const opened = open(key, wrapped, [wrappedKey, context])
      if (opened !== undefined) return opened
    }
    return undefined
  }
  return {
    wrap: async (key, context) => seal(readAgain().keys[0], 1, key, [wrappedKey, context]),
    unwrap: async (wrapped, context) => {
      const key = openWith(known, wrapped, context) ?? openWith(readAgain(), wrapped, context)
      if (key === undefined)
        throw new KeyProviderError(
          `a wrapped key (${context}) does not open with the master key in ${source}: ${remedy(known)}`,
          'a wrapped key does not open with the master key',
        )
      return key
    },
    isCurrent: async (wrapped, context) => {
      const key = open(readAgain().keys[0], wrapped, [wrappedKey, context])
      key?.fill(0)
      return key !== undefined
    },
    // With the key of another vault, or without any, a restarted server could open nothing.
    health: async () => {
      readAgain()
    },
  }
}

/** Does not advise to put a retired key back as the first, because it would wrap again. `doctor` says how to bring it back. */
const remedy = ({ retired }: MasterKeys): string => {
  const restore = 'restore the one that belongs to this storage'
  return retired.length === 0
    ? restore
    : `if a rotation has retired the key that it needs, do as strongroom doctor says; otherwise ${restore}`
}
