import { accessSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { makeDataFolder } from './cli/data-folder/make-data-folder.ts'
import { databasePath, devKeysPath, masterKeyPath } from './cli/data-folder/paths.ts'
import { readKeys, writeKeys } from './cli/dev-keys.ts'
import { starterApplications } from './cli/starter-applications.ts'
import { folderStorage } from './cli/storage/folder-storage.ts'
import { openOrMake } from './cli/storage/with-vault.ts'
import type { Log } from './domain/log.ts'
import { createMasterKeyFile } from './keys/file/create-master-key-file.ts'
import { fileKeyProvider } from './keys/file/file-key-provider.ts'
import { createTenant } from './operations/tenants/create-tenant.ts'
import { standardOutbound } from './outbound/outbound-rules.ts'
import { buildService } from './service.ts'
import type * as published from './testing-types.d.ts'

/** The program's own log would be between the lines of somebody's tests. */
const silent: Log = { isDebug: false, error: () => {}, info: () => {}, debug: () => {} }

const defaultSettings = {
  headerPrefix: 'svc',
  idempotencyStrict: false,
  corsOrigins: [],
  rateLimit: undefined,
  trustedProxies: [],
  auditAnchors: [],
  auditRetentionDays: 400,
  outbound: standardOutbound,
}

/** What the package lets others import. */
export const startVault: typeof published.startVault = async ({
  folder: ownFolder,
  port = 0,
  clock = Date.now,
} = {}) => {
  const folder = ownFolder === undefined ? temporaryFolder() : resolve(ownFolder)
  const removeFolder = (): void => {
    if (ownFolder === undefined) rmSync(folder, { recursive: true, force: true })
  }
  try {
    const { service, baseUrl, keys } = await open(folder, port, clock)
    return {
      base_url: baseUrl,
      ...keys,
      stop: async () => {
        await service.close(0)
        removeFolder()
      },
    }
  } catch (error) {
    removeFolder()
    throw error
  }
}

const open = async (folder: string, port: number, clock: () => number) => {
  makeDataFolder(folder)
  const keyPath = masterKeyPath(folder)
  // Storage without its master key must be reported. A new key would open nothing in it.
  if (!existsSync(databasePath(folder)) && !existsSync(keyPath)) createMasterKeyFile(keyPath)
  const keyProvider = fileKeyProvider(keyPath)
  const { store } = await openOrMake(folderStorage(folder), () => keyProvider)
  const service = await buildService({
    store,
    keyProvider,
    clock,
    log: silent,
    settings: defaultSettings,
  }).catch(async error => {
    await store.close()
    throw error
  })
  try {
    const keysPath = devKeysPath(folder)
    if ((await store.listTenants()).length === 0)
      await createTenant(
        service.vault,
        { name: 'Testing', applications: starterApplications },
        ({ tenantId, keys }) => writeKeys(keysPath, { base_url: '', tenant_id: tenantId, ...keys }),
      )
    const stored = readKeys(keysPath)
    if (stored === undefined) throw new Error(`the keys of the vault are no longer in ${keysPath}`)
    const listening = await service.listen({ host: '127.0.0.1', port })
    service.startJobs()
    const { base_url: _, tenant_id, ...keys } = stored
    return { service, baseUrl: `http://127.0.0.1:${listening.port}`, keys: { tenant_id, keys } }
  } catch (error) {
    await service.close(0)
    throw error
  }
}

/** In memory, where the system has a folder for that: every commit waits for the disk otherwise. */
const temporaryFolder = (): string => {
  try {
    accessSync('/dev/shm', constants.W_OK | constants.X_OK)
    return mkdtempSync('/dev/shm/strongroom-')
  } catch {
    return mkdtempSync(join(tmpdir(), 'strongroom-'))
  }
}
