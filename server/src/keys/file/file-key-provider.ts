import type { KeyProvider } from '../key-provider.ts'
import { localKeyProvider } from '../local-key-provider.ts'
import { readMasterKeyFile, readWithRetiredKeys } from './read-master-key-file.ts'

/** The master key is a file that only its owner may read. */
export const fileKeyProvider = (path: string): KeyProvider =>
  localKeyProvider(path, () => readMasterKeyFile(path))

/** The same, with the keys that a rotation took out of the file; undefined if there are none. */
export const fileKeyProviderWithRetired = (path: string): KeyProvider | undefined => {
  const keys = readWithRetiredKeys(path)
  return keys && localKeyProvider(path, () => keys)
}
