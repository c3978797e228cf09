import { ConfigError } from '../../config/config-error.ts'
import { envKeyProvider } from '../../keys/env/env-key-provider.ts'
import { readMasterKeys } from '../../keys/master-key.ts'
import { vaultFlags } from '../vault-flags.ts'
import { type KeyProviderKind, keyBackup } from './key-provider-kind.ts'

/** The master key is among the settings. */
export const env: KeyProviderKind = {
  open: ({ masterKey }) => {
    if (masterKey === undefined)
      throw new ConfigError(
        'the key provider env needs STRONGROOM_MASTER_KEY, a master key such as strongroom master-key prints',
      )
    return envKeyProvider(masterKey.source, masterKey.text)
  },
  requireMasterKeyFile: () => {
    throw new ConfigError(
      'the key provider env has no file: set STRONGROOM_MASTER_KEY to the new key, a space and the old one',
    )
  },
  retired: () => undefined,
  // When doctor finds nothing, the older key can be left out.
  endRotation: () => [],
  repair: (config, problem) => {
    const set = (text: string): string =>
      `${keyBackup} && key=$(cat "$backup") && export STRONGROOM_MASTER_KEY="${text}"`
    const restore = set('$key')
    const finding = { check: 'keys', problem, blocks: true } as const
    if (readMasterKeys(config.masterKey?.text ?? '') === undefined) return { ...finding, command: restore }
    // Storage cannot tell which of the two it is: neither a wrong key nor a newer one opens anything in it.
    const bringBack = `${set(`\${STRONGROOM_MASTER_KEY:?} $key`)} && strongroom master-key rewrap ${vaultFlags(config)}`
    return {
      ...finding,
      byHand: `if a rotation has replaced the key in your backup, which must not wrap again: ${bringBack}; otherwise: ${restore}`,
    }
  },
}
