import assert from 'node:assert/strict'
import { configuredKeyProvider } from '../../src/cli/key-providers/configured-key-provider.ts'
import { starterApplications } from '../../src/cli/starter-applications.ts'
import { configuredStorage } from '../../src/cli/storage/configured-storage.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import { createTenant } from '../../src/operations/tenants/create-tenant.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import type { Site } from '../rig/program.ts'
import type { Target } from './target.ts'

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
  // It writes on this thread, which may be one of a later release (rig/later-migration.ts).
  const store = await configuredStorage(config).openForCommand()
  try {
    const vault = await openVault({ store, keyProvider: configuredKeyProvider(config), clock: Date.now })
    let made: Target['keys'] | undefined
    await createTenant(vault, { name: 'Crash', applications: starterApplications }, ({ tenantId, keys }) => {
      made = { tenant_id: tenantId, ...keys }
    })
    assert.ok(made)
    return made
  } finally {
    await store.close()
  }
}
