import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { envKeyProvider } from '../crypto/env-key-provider.ts'
import { fileKeyProvider } from '../crypto/file-key-provider.ts'
import type { KeyProvider } from '../crypto/key-provider.ts'
import { openVault } from '../operations/open-vault.ts'
import type { Vault } from '../operations/vault.ts'
import type { Store } from '../store/port.ts'
import { openSqlite } from '../store/sqlite/sqlite-store.ts'

export const databasePath = (dataFolder: string): string => join(dataFolder, 'vault.db')

/** Production starts only with what it was told explicitly (C35). */
export const requireDataFolder = ({ dataFolder }: Config): string => {
  if (dataFolder === undefined)
    throw new ConfigError('storage is not configured: set --data or STRONGROOM_DATA to a folder')
  return dataFolder
}

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

/** The embedded store in a folder that only its owner may enter. */
export const openDataFolder = (dataFolder: string): Store => {
  if (!existsSync(dataFolder)) mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const path = databasePath(dataFolder)
  const isNew = !existsSync(path)
  const store = openSqlite({ path })
  if (isNew) chmodSync(path, 0o600)
  return store
}

/** The folder of `strongroom dev` carries its own key file, so naming the folder is enough there. */
export const keyProviderFor = (config: Config): KeyProvider => {
  const devKey = join(requireDataFolder(config), 'master.key')
  return config.keyProvider === undefined && existsSync(devKey)
    ? fileKeyProvider(devKey)
    : configuredKeyProvider(config)
}

/** For the commands that work beside a running server. */
export const withVault = async <T>(config: Config, work: (vault: Vault) => Promise<T>): Promise<T> => {
  const dataFolder = requireDataFolder(config)
  if (!existsSync(databasePath(dataFolder)))
    throw new ConfigError(`${dataFolder} holds no vault: strongroom migrate makes one`)
  const keyProvider = keyProviderFor(config)
  const store = openDataFolder(dataFolder)
  try {
    return await work(await openVault({ store, keyProvider, clock: Date.now }))
  } finally {
    await store.close()
  }
}
