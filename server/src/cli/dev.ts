import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Config } from '../config.ts'
import { createMasterKeyFile, fileKeyProvider } from '../crypto/file-key-provider.ts'
import { type ApplicationWish, createTenant } from '../operations/create-tenant.ts'
import type { Vault } from '../operations/vault.ts'
import { buildService } from '../service.ts'
import { openSqlite } from '../store/sqlite/sqlite-store.ts'

/** The file that C34 promises. */
export type DevKeys = {
  readonly base_url: string
  readonly tenant_id: string
  readonly api_key: string
  readonly private_api_key: string
  readonly management_api_key: string
}

type KeyName = 'api_key' | 'private_api_key' | 'management_api_key'

const applications: readonly ApplicationWish<KeyName>[] = [
  {
    key: 'api_key',
    name: 'general',
    type: 'private',
    permissions: ['token:create', 'token:update'],
    rules: [],
  },
  {
    key: 'private_api_key',
    name: 'private',
    type: 'private',
    permissions: [],
    rules: [
      {
        description: 'Reads everything',
        priority: 1,
        container: '/',
        transform: 'reveal',
        permissions: ['token:read', 'token:delete', 'token:search'],
      },
    ],
  },
  {
    key: 'management_api_key',
    name: 'management',
    type: 'management',
    permissions: [
      'tenant:read',
      'tenant:update',
      'tenant:delete',
      'application:create',
      'application:read',
      'application:update',
      'application:delete',
      'report:read',
    ],
    rules: [],
  },
]

/** `strongroom dev` (C34): a vault on this machine with nothing to set up. Resolves when it has stopped. */
export const dev = async (config: Config): Promise<void> => {
  const { dataFolder, host, headerPrefix } = config
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const databasePath = join(dataFolder, 'vault.db')
  const masterKeyPath = join(dataFolder, 'master.key')
  // Storage without its master key must say so, not get a new one that opens nothing.
  if (!existsSync(databasePath) && !existsSync(masterKeyPath)) createMasterKeyFile(masterKeyPath)
  const keyProvider = fileKeyProvider(masterKeyPath)
  const store = openSqlite({ path: databasePath })
  const log = pino({ level: config.logLevel, base: null }, pino.destination({ dest: 2, sync: true }))
  const service = await buildService({ store, keyProvider, log, clock: Date.now, settings: config })

  const keysPath = join(dataFolder, 'dev-keys.json')
  const isNew = (await store.listTenants()).length === 0
  if (isNew) await createDevTenant(service.vault, keysPath)
  service.startClockwork()
  const { port } = await service.listen({ host, port: config.port })
  const baseUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  if (existsSync(keysPath)) {
    const keys: DevKeys = { ...JSON.parse(readFileSync(keysPath, 'utf8')), base_url: baseUrl }
    writeKeys(keysPath, keys)
    process.stdout.write(isNew ? welcome(keys, keysPath, headerPrefix) : welcomeBack(keys, keysPath))
  } else process.stdout.write(`Strongroom answers at ${baseUrl}\n`)

  await stopSignal()
  await service.close()
}

/** The keys are written before they start to work, so no crash leaves a tenant that nobody can enter. */
const createDevTenant = (vault: Vault, keysPath: string): Promise<void> =>
  createTenant(vault, { name: 'Development', applications }, ({ tenantId, keys }) => {
    writeKeys(keysPath, { base_url: '', tenant_id: tenantId, ...keys })
  })

const writeKeys = (path: string, keys: DevKeys): void => {
  const draft = `${path}.new`
  writeFileSync(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flush: true })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
}

const welcome = (keys: DevKeys, keysPath: string, headerPrefix: string): string => `
Strongroom answers at ${keys.base_url}, with a new tenant and three keys:

  general      ${keys.api_key}   creates and updates
  private      ${keys.private_api_key}   reads, deletes and searches
  management   ${keys.management_api_key}

They are kept in ${keysPath}. Try it:

  curl -s ${keys.base_url}/tokens -H '${headerPrefix.toUpperCase()}-API-KEY: ${keys.api_key}' -H 'Content-Type: application/json' -d '{"type":"card","data":{"number":"4242424242424242","expiration_month":12,"expiration_year":2030,"cvc":"123"}}'

`

const welcomeBack = (keys: DevKeys, keysPath: string): string =>
  `Strongroom answers at ${keys.base_url}; its keys are in ${keysPath}\n`

const stopSignal = (): Promise<void> =>
  new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
