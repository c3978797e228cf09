import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import type { KeyProvider } from '../../keys/key-provider.ts'
import { unwrapVaultKeys } from '../../keys/unwrap-keys.ts'
import { openVault } from '../../operations/vault/open-vault.ts'
import type { Vault } from '../../operations/vault/vault.ts'
import { fileAnchor } from '../../store/file-anchor.ts'
import type { Store } from '../../store/port.ts'
import type { Inspection } from '../../store/sql/inspection.ts'
import { schemaMismatch } from '../../store/sql/migration.ts'
import { Telemetry } from '../../telemetry/telemetry.ts'
import { configuredOrDevKeyProvider } from '../key-providers/configured-key-provider.ts'
import { configuredStorage } from './configured-storage.ts'
import type { CommandWrites, Joining, Storage } from './storage.ts'

/** Changes a schema only with the vault's master key, so that settings that name the wrong vault change nothing. */
export const requireMasterKeyBeforeMigration = async (
  { schema, vaultKeys }: Inspection,
  keyProvider: () => KeyProvider,
): Promise<void> => {
  if (schema.pending && vaultKeys.length > 0) await unwrapVaultKeys(keyProvider(), vaultKeys)
}

/**
 * For commands that make a vault if there is none, and bring an older one up to date. A worker that joins others makes none: they
 * have one, and the settings have not changed since.
 */
export const openOrMake = async (
  storage: Storage,
  keyProvider: () => KeyProvider,
  telemetry: Telemetry = new Telemetry(),
  worker?: Joining,
): Promise<{ store: Store; isNew: boolean }> => {
  const found = await storage.inspect()
  if (found === undefined && worker?.isFirst === false)
    throw new Error(`${storage.name} holds no vault any more: bring it back, or restart the server`)
  if (found !== undefined) await requireMasterKeyBeforeMigration(found, keyProvider)
  return { store: await storage.open(telemetry, worker), isNew: found === undefined }
}

/** Throws if there is no vault, with one line that says what is missing. */
export const requireVault = async (storage: Storage): Promise<Inspection> => {
  const found = await storage.inspect()
  if (found === undefined)
    throw new ConfigError(`${storage.name} holds no vault: strongroom migrate makes one`)
  return found
}

/** For commands that work next to a running server. They make no vault and change no schema. */
export const withVault = async <T>(
  config: Config,
  work: (vault: Vault) => Promise<T>,
  {
    otherKeyProvider,
    writes,
  }: { readonly otherKeyProvider?: KeyProvider; readonly writes?: CommandWrites } = {},
): Promise<T> => {
  const storage = configuredStorage(config)
  const { schema } = await requireVault(storage)
  const keyProvider = otherKeyProvider ?? configuredOrDevKeyProvider(config)
  if (schema.pending) throw new Error(`${schemaMismatch(storage.name, schema)}: run strongroom migrate`)
  const store = await storage.openForCommand(writes)
  try {
    const anchors = config.auditAnchors.map(fileAnchor)
    const vault = await openVault({ store, keyProvider, clock: Date.now, anchors })
    try {
      return await work(vault)
    } finally {
      await vault.acts.flush()
    }
  } finally {
    await store.close()
  }
}
