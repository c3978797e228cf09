import type { KeyProvider } from './key-provider.ts'
import { localKeyProvider } from './master-key.ts'
import { readMasterKeyFile } from './master-key-file.ts'

/** The master key is a file that only its owner may read. */
export const fileKeyProvider = (path: string): KeyProvider =>
  localKeyProvider(path, () => readMasterKeyFile(path))
