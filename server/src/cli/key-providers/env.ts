import { ConfigError } from '../../config/config-error.ts'
import { envKeyProvider } from '../../crypto/env-key-provider.ts'
import { type KeyProviderKind, keyBackup } from './key-provider-kind.ts'

/** The master key is among the settings. */
export const env: KeyProviderKind = {
  open: ({ masterKey }) => {
    if (masterKey === undefined) throw new ConfigError('the key provider env needs STRONGROOM_MASTER_KEY')
    return envKeyProvider(masterKey.place, masterKey.text)
  },
  requireMasterKeyFile: () => {
    throw new ConfigError(
      'the key provider env has no file: set STRONGROOM_MASTER_KEY to the new key, a space and the old one',
    )
  },
  retired: () => undefined,
  // That doctor finds nothing is the sign to leave out the older key.
  endRotation: () => [],
  repair: (_config, problem) => ({
    check: 'keys',
    problem,
    command: `${keyBackup} && key=$(cat "$backup") && export STRONGROOM_MASTER_KEY="$key"`,
    blocks: true,
  }),
}
