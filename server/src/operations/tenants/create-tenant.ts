import { newUuid } from '../../crypto/uuid.ts'
import type { Application } from '../../domain/access/application.ts'
import type { Tenant } from '../../domain/access/tenant.ts'
import { settingsOf } from '../../domain/acts/grants.ts'
import { newTenantKeys } from '../../keys/make-keys.ts'
import { sealApplication, sealTenant } from '../grants/grant-rows.ts'
import { newApiKey } from '../keys/new-api-key.ts'
import { operatorAct } from '../log/acting.ts'
import type { Vault } from '../vault/vault.ts'

/** An application to create, with the name under which its key is returned. */
export type ApplicationWish<Name extends string> = Omit<
  Application,
  'id' | 'tenantId' | 'createdBy' | 'createdAt'
> & {
  readonly key: Name
}

/** Storage numbers the tenant when it is made; a part of its log is sealed for its id. */
const notYetKnown = -1

/** A created tenant with the texts of its API keys, which exist nowhere else. */
export type MadeTenant<Name extends string> = {
  readonly tenantId: string
  readonly keys: Readonly<Record<Name, string>>
}

/**
 * Creates a tenant with its keys, applications and API keys, all or nothing. `beforeCommit` can save the API keys before they
 * start to work.
 */
export const createTenant = async <Name extends string>(
  vault: Vault,
  wish: {
    name: string
    applications: readonly ApplicationWish<Name>[]
    /** What the tenant's plan includes, for its usage report (C32). */
    includedMonthlyActiveTokens?: number
  },
  beforeCommit: (made: MadeTenant<Name>) => void = () => undefined,
): Promise<MadeTenant<Name>> => {
  const { store, vaultKeys, keyProvider, clock } = vault
  const now = clock()
  const ownerId = newUuid()
  const tenant: Tenant = {
    id: newUuid(),
    ownerId,
    name: wish.name,
    settings: { fingerprintTokens: true, deduplicateTokens: false },
    includedMonthlyActiveTokens: wish.includedMonthlyActiveTokens ?? 0,
    createdBy: ownerId,
    createdAt: now,
  }
  const applications = wish.applications.map(({ key: name, ...rest }) => {
    const application: Application = {
      ...rest,
      id: newUuid(),
      tenantId: tenant.id,
      createdBy: ownerId,
      createdAt: now,
    }
    const key = newApiKey(vaultKeys, application, { createdBy: ownerId, createdAt: now })
    return { name, application, key }
  })
  const keys = await newTenantKeys(keyProvider, tenant.id)
  const made = {
    tenantId: tenant.id,
    keys: Object.fromEntries(applications.map(({ name, key }) => [name, key.text])) as Record<Name, string>,
  }
  beforeCommit(made)
  const act = operatorAct({ operation: 'tenant create', entityType: 'tenant' })
  act.finds(tenant.id)
  act.says({ after: settingsOf(tenant) })
  const log = vault.acts.partOf({ tenantNumber: notYetKnown, keys: { tenantId: tenant.id } }, act)
  const row = {
    id: tenant.id,
    sealed: sealTenant(vaultKeys, tenant),
    keys,
    applications: applications.map(({ application }) => ({
      id: application.id,
      sealed: sealApplication(vaultKeys, application),
    })),
    apiKeys: applications.map(({ key }) => key.row),
  }
  await store.createTenant(row, log)
  return made
}
