import { type KeyProvider, KeyProviderError } from '../key-provider.ts'
import { localKeyProvider } from '../local-key-provider.ts'
import { readMasterKeys } from '../master-key.ts'

/**
 * Takes the master key from the settings: as a rule from an environment variable, which is how orchestrators hand out secrets.
 * `place` names where it was found.
 */
export const envKeyProvider = (place: string, text: string): KeyProvider =>
  localKeyProvider(place, () => {
    const keys = readMasterKeys(text)
    if (keys === undefined)
      throw new KeyProviderError(
        `${place} does not hold a master key: one starts with strongroom-master-key-1: (strongroom master-key prints a new one)`,
      )
    return keys
  })
