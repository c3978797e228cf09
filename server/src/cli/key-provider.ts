import { existsSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { envKeyProvider } from '../crypto/env-key-provider.ts'
import { fileKeyProvider } from '../crypto/file-key-provider.ts'
import type { KeyProvider } from '../crypto/key-provider.ts'
import { devKeysPath, masterKeyPath } from './data-folder.ts'

/** The provider that the settings name; in production nothing else will do. */
export const configuredKeyProvider = ({ keyProvider, masterKeyFile, masterKey }: Config): KeyProvider => {
  switch (keyProvider) {
    case 'file':
      if (masterKeyFile === undefined)
        throw new ConfigError('the key provider file needs --master-key-file or STRONGROOM_MASTER_KEY_FILE')
      return fileKeyProvider(masterKeyFile)
    case 'env':
      if (masterKey === undefined) throw new ConfigError('the key provider env needs STRONGROOM_MASTER_KEY')
      return envKeyProvider(masterKey.place, masterKey.text)
    default:
      throw new ConfigError('no key provider is configured: set --key-provider or STRONGROOM_KEY_PROVIDER')
  }
}

/** The folder of `strongroom dev` carries its own key file, so naming the folder is enough there. */
export const configuredOrDevKeyProvider = (config: Config): KeyProvider => {
  const path = devKeyFile(config)
  return path === undefined ? configuredKeyProvider(config) : fileKeyProvider(path)
}

/** The file of the provider that `configuredOrDevKeyProvider` returns. */
export const requireMasterKeyFile = (config: Config): string => {
  if (config.keyProvider === 'env')
    throw new ConfigError(
      'the key provider env has no file: set STRONGROOM_MASTER_KEY to the new key, a space and the old one',
    )
  const path = devKeyFile(config) ?? config.masterKeyFile
  if (path === undefined)
    throw new ConfigError(
      'the file of the master key is missing: set --master-key-file or STRONGROOM_MASTER_KEY_FILE',
    )
  return path
}

const devKeyFile = ({ keyProvider, dataFolder }: Config): string | undefined => {
  if (keyProvider !== undefined || dataFolder === undefined) return undefined
  const path = masterKeyPath(dataFolder)
  return existsSync(path) || existsSync(devKeysPath(dataFolder)) ? path : undefined
}
