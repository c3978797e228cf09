import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import { readTracing } from '../../config/tracing-config.ts'
import { apiKeyHeader, prefixed } from '../../contract/headers.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import { createMasterKeyFile } from '../../keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../../keys/file/file-key-provider.ts'
import { createTenant } from '../../operations/tenants/create-tenant.ts'
import { Telemetry } from '../../telemetry/telemetry.ts'
import type { Run } from '../command.ts'
import { makeDataFolder } from '../data-folder/make-data-folder.ts'
import { databasePath, devKeysPath, masterKeyPath } from '../data-folder/paths.ts'
import { readKeys, writeKeys } from '../dev-keys.ts'
import { makeLog } from '../log.ts'
import { pasteable } from '../pasteable.ts'
import { runService } from '../run-service.ts'
import { stopSignal } from '../signals.ts'
import { type StarterKeys, starterApplications } from '../starter-applications.ts'
import { folderStorage } from '../storage/folder-storage.ts'
import { openOrMake } from '../storage/with-vault.ts'
import { readTlsFiles } from '../tls.ts'

/** C34: a vault on this machine that needs no setup. */
export const dev: Run = async ({ config, options }) => {
  if (options['database-url'] !== undefined)
    throw new ConfigError(
      'dev keeps its vault in a folder: leave out --database-url, or run strongroom serve',
    )
  const dataFolder = config.dataFolder ?? resolve('.strongroom')
  // A development key and tenant do not belong in a database that a shell or a file happens to name.
  if (config.database !== undefined)
    process.stderr.write(
      `strongroom dev: the vault is in ${dataFolder}; the database of the settings is not used\n`,
    )
  const folder = ` --data ${shellWord(dataFolder)}`
  const keyPath = masterKeyPath(dataFolder)
  const keysPath = devKeysPath(dataFolder)
  const tls = readTlsFiles(config)
  const traces = readTracing(process.env)
  const storage = folderStorage(dataFolder)
  await storage.inspect()
  makeDataFolder(dataFolder)
  // Storage without its master key must be reported. A new key would open nothing in it.
  if (!existsSync(databasePath(dataFolder)) && !existsSync(keyPath)) createMasterKeyFile(keyPath)
  const keyProvider = fileKeyProvider(keyPath)
  const telemetry = new Telemetry()
  const { store } = await openOrMake(storage, () => keyProvider, telemetry)
  const tenants = (await store.listTenants()).map(({ id }) => id)

  await runService(
    config,
    { store, keyProvider, log: makeLog(config), tls, telemetry, traces },
    {
      // A vault stops when its terminal closes.
      stopped: () => stopSignal(['SIGINT', 'SIGTERM', 'SIGHUP']),
      prepare: async ({ vault }) => {
        if (tenants.length > 0) return
        // Saves the keys before they start to work, so that no crash leaves a tenant that nobody can enter.
        await createTenant(
          vault,
          { name: 'Development', applications: starterApplications },
          ({ tenantId, keys }) =>
            writeKeys(keysPath, { base_url: unannounced, tenant_id: tenantId, ...keys }),
        )
      },
      ready: ({ url: baseUrl }) => {
        const stored = readKeys(keysPath)
        if (stored === undefined) {
          process.stdout.write(
            pasteable(
              `Strongroom answers at ${baseUrl}; its keys are no longer in ${keysPath}: strongroom key create${folder} --tenant ${tenants[0]} --app <id> makes a new one for an application that strongroom app list${folder} --tenant ${tenants[0]} shows\n`,
            ),
          )
          return
        }
        if (tenants.length > 0 && !tenants.includes(stored.tenant_id)) {
          process.stdout.write(
            pasteable(
              `Strongroom answers at ${baseUrl}; the tenant of the keys in ${keysPath} is no longer there: strongroom tenant create${folder} --name Development makes a new one\n`,
            ),
          )
          return
        }
        const keys = { ...stored, base_url: baseUrl }
        writeKeys(keysPath, keys)
        process.stdout.write(
          stored.base_url === unannounced
            ? welcome(keys, keysPath, config.headerPrefix)
            : welcomeBack(keys, keysPath),
        )
      },
    },
  )
  return 0
}

/** The base URL until the vault has listened once. A start that fails because the port is taken has not shown the welcome. */
const unannounced = ''

const welcome = (keys: StarterKeys, keysPath: string, headerPrefix: string): string => `
Strongroom answers at ${keys.base_url}, with a new tenant and three keys:

  general      ${keys.api_key}   creates and updates
  private      ${keys.private_api_key}   reads, deletes and searches
  management   ${keys.management_api_key}   manages the tenant, applications and keys

They are kept in ${keysPath}. Try it:

  curl -s ${keys.base_url}/tokens -H '${prefixed(headerPrefix, apiKeyHeader.name)}: ${keys.api_key}' -H 'Content-Type: application/json' -d '{"type":"card","data":{"number":"4242424242424242","expiration_month":12,"expiration_year":2030,"cvc":"123"}}'

`

const welcomeBack = (keys: StarterKeys, keysPath: string): string =>
  `Strongroom answers at ${keys.base_url}; its keys are in ${keysPath}\n`
