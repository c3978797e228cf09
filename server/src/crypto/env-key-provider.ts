import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { localKeyProvider, readMasterKeys } from './master-key.ts'

/** Takes the master key from an environment variable, which is how orchestrators hand out secrets. */
export const envKeyProvider = (variable: string, text: string): KeyProvider =>
  localKeyProvider(variable, () => {
    const keys = readMasterKeys(text)
    if (keys === undefined)
      throw new KeyProviderError(
        `${variable} does not hold a master key: one starts with strongroom-master-key-1: (strongroom master-key prints a new one)`,
      )
    return keys
  })
