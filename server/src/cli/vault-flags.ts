import type { Config } from '../config/config.ts'
import { shellWord } from '../domain/text/terminal.ts'
import { configuredStorage } from './storage/configured-storage.ts'

/** Where this vault is, as flags. */
export const storageFlags = (config: Config): string =>
  Object.entries(configuredStorage(config).flags)
    .map(([name, value]) => `--${name} ${shellWord(value)}`)
    .join(' ')

/** The settings of this vault as flags, without any secret. */
export const vaultFlags = (config: Config): string =>
  [
    storageFlags(config),
    ...(config.keyProvider === undefined ? [] : [`--key-provider ${config.keyProvider}`]),
    ...(config.masterKeyFile === undefined ? [] : [`--master-key-file ${shellWord(config.masterKeyFile)}`]),
  ].join(' ')
