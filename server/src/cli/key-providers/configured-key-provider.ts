import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { KeyProvider } from '../../keys/key-provider.ts'
import { devKeyFile, file } from './file.ts'
import type { KeyProviderKind } from './key-provider-kind.ts'
import { keyProviders } from './registry.ts'

/** The provider that the settings name. Production accepts nothing else. */
export const configuredKeyProvider = (config: Config): KeyProvider => {
  if (config.keyProvider === undefined)
    throw new ConfigError(
      'no key provider is configured: set --key-provider file (STRONGROOM_KEY_PROVIDER) and --master-key-file, or the provider env and STRONGROOM_MASTER_KEY; strongroom master-key --master-key-file <new file> makes a key',
    )
  return keyProviders[config.keyProvider].open(config)
}

export const configuredOrDevKeyProvider = (config: Config): KeyProvider =>
  devKeyFile(config) === undefined ? configuredKeyProvider(config) : file.open(config)

/** The kind of provider that `configuredOrDevKeyProvider` returns: a file, if the settings name none. */
export const keyProviderKind = ({ keyProvider = 'file' }: Config): KeyProviderKind =>
  keyProviders[keyProvider]
