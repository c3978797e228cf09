import assert from 'node:assert/strict'
import { configuredKeyProvider } from '../../src/cli/key-providers/configured-key-provider.ts'
import { starterApplications } from '../../src/cli/starter-applications.ts'
import { configuredStorage } from '../../src/cli/storage/configured-storage.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { createProxy } from '../../src/operations/proxies/create-proxy.ts'
import { type ApplicationWish, createTenant } from '../../src/operations/tenants/create-tenant.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import type { Vault } from '../../src/operations/vault/vault.ts'
import { createWebhook } from '../../src/operations/webhooks/create-webhook.ts'
import { callerOf } from '../rig/caller-of.ts'
import type { Site } from '../rig/program.ts'
import type { Partner } from './partner.ts'
import type { Charging, Target } from './target.ts'

/** The configuration of a command run next to the site's servers. */
export const configOf = (site: Site, environment: Record<string, string> = {}): Config =>
  readConfig({
    options: {
      ...(environment.STRONGROOM_DATABASE_URL === undefined && { data: site.data }),
      'key-provider': 'file',
      'master-key-file': site.masterKeyFile,
    },
    environment,
  })

/** Creates a tenant, and the vault if there is none, without a separate process. */
export const newTenant = async (config: Config): Promise<Target['keys']> => {
  const { keys } = await makeTenant(config, starterApplications, async () => {})
  return keys
}

/** A tenant with an application that may send tokens to the partner and see none, and a webhook that tells the partner everything. */
export const newTenantWith = async (
  config: Config,
  partner: Partner,
): Promise<{ keys: Target['keys']; charging: Charging }> => {
  const rule = { description: 'Charges', priority: 1, container: '/', transform: 'redact' } as const
  const charger: ApplicationWish<'charging_key'> = {
    key: 'charging_key',
    name: 'charging',
    type: 'private',
    permissions: [],
    rules: [{ ...rule, permissions: ['token:use'] }],
  }
  const { keys, made: proxyKey } = await makeTenant(
    config,
    [...starterApplications, charger],
    async (vault, { management_api_key }) => {
      const caller = () => callerOf(vault, management_api_key)
      const { secret } = await createWebhook(vault, await caller(), {
        name: 'Partner',
        url: partner.url('/hook'),
        events: ['token.*', 'token.used', 'application.*', 'tenant.*', 'proxy.*', 'webhook.*'],
      })
      partner.secret = String(secret)
      const { key } = await createProxy(vault, await caller(), {
        name: 'Partner',
        destination_url: partner.url('/'),
      })
      return String(key)
    },
    new Set([partner.port]),
  )
  const { charging_key: key, ...others } = keys
  return { keys: others, charging: { partner, key, proxyKey } }
}

const makeTenant = async <Name extends string, Made>(
  config: Config,
  applications: readonly ApplicationWish<Name>[],
  more: (vault: Vault, keys: Record<Name, string>) => Promise<Made>,
  destinationPorts: ReadonlySet<number> = new Set(),
) => {
  // It writes on this thread, which may be one of a later release (rig/later-migration.ts).
  const store = await configuredStorage(config).openForCommand()
  try {
    const keyProvider = configuredKeyProvider(config)
    const vault = await openVault({ store, keyProvider, clock: Date.now, destinationPorts })
    let keys: ({ readonly tenant_id: string } & Record<Name, string>) | undefined
    await createTenant(vault, { name: 'Crash', applications }, made => {
      keys = { tenant_id: made.tenantId, ...made.keys }
    })
    assert.ok(keys)
    return { keys, made: await more(vault, keys) }
  } finally {
    await store.close()
  }
}
