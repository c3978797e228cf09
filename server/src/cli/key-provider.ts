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
      return envKeyProvider('STRONGROOM_MASTER_KEY', masterKey)
    default:
      throw new ConfigError('no key provider is configured: set --key-provider or STRONGROOM_KEY_PROVIDER')
  }
}

/** The folder of `strongroom dev` carries its own key file, so naming the folder is enough there. */
export const configuredOrDevKeyProvider = (config: Config): KeyProvider => {
  const { dataFolder } = config
  const isDev =
    dataFolder !== undefined && (existsSync(masterKeyPath(dataFolder)) || existsSync(devKeysPath(dataFolder)))
  return config.keyProvider === undefined && isDev
    ? fileKeyProvider(masterKeyPath(dataFolder))
    : configuredKeyProvider(config)
}
