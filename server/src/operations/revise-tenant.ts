import type { ApiKeyGrant, Application } from '../domain/application.ts'
import { VaultError } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { UsedApiKeyRow } from '../store/rows.ts'
import type { Effect } from '../store/write-set.ts'
import { openApiKey, openApplication, openTenant } from './grants.ts'
import type { Caller, Vault } from './vault.ts'

/** A tenant with all that it grants, as of one revision. */
export type Grants = {
  readonly tenant: Tenant
  readonly applications: readonly Application[]
  readonly apiKeys: readonly GrantedKey[]
}

export type GrantedKey = { readonly row: UsedApiKeyRow; readonly grant: ApiKeyGrant }

export type Revision<A extends Json> = {
  readonly effects: readonly Effect[]
  readonly answer: A
  /** What a replay shows, where that is not the answer itself. */
  readonly kept?: Json
}

/** With a hundred writers on one tenant the last one needs about as many rounds. */
const attemptsMax = 256

/**
 * Changes who may do what: read all of it, decide, write if nothing of it has changed meanwhile. Every
 * change goes through here, so a decision that looks at several rows (the last management key) holds.
 */
export const reviseTenant = async <A extends Json>(
  vault: Vault,
  caller: Caller,
  decide: (grants: Grants) => Revision<A>,
): Promise<A> => {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { grants, revision } = await loadGrants(vault, caller.tenantNumber)
    const { effects, answer, kept } = decide(grants)
    const outcome = await caller.commit(
      {
        tenant: caller.tenantNumber,
        guarded: [{ kind: 'reviseTenant', ifRevision: revision }],
        effects,
        counters: [],
      },
      kept ?? answer,
    )
    if (outcome.committed) return answer
  }
  throw new VaultError('writeContention')
}

export const loadGrants = async (
  { store, vaultKeys }: Vault,
  tenantNumber: number,
): Promise<{ grants: Grants; revision: number }> => {
  const row = await store.getTenant(tenantNumber)
  if (row === undefined) throw new VaultError('unauthorized')
  const [applications, apiKeys] = await Promise.all([
    store.listApplications(tenantNumber),
    store.listApiKeys(tenantNumber),
  ])
  return {
    revision: row.revision,
    grants: {
      tenant: openTenant(vaultKeys, row),
      applications: applications.map(application => openApplication(vaultKeys, application, row.id)),
      apiKeys: apiKeys.map(key => ({ row: key, grant: openApiKey(vaultKeys, key, row.id) })),
    },
  }
}

export const applicationOf = ({ applications }: Grants, id: string): Application => {
  const found = applications.find(application => application.id === id)
  if (found === undefined) throw new VaultError('notFound')
  return found
}

export const isLive = ({ row }: GrantedKey, now: number): boolean =>
  row.expiresAt === null || row.expiresAt > now

/** Nobody locks a tenant's owner out by accident: one living key of a management application must stay. */
export const requireManagementKey = (before: Grants, after: Grants, now: number): void =>
  requireKeyOf(({ type }) => type === 'management', before, after, now)

/** Nor by taking permissions away: one living key must stay that can give them back. */
export const requireGrantingKey = (before: Grants, after: Grants, now: number): void =>
  requireKeyOf(({ permissions }) => permissions.includes('application:update'), before, after, now)

const requireKeyOf = (
  isOne: (application: Application) => boolean,
  before: Grants,
  after: Grants,
  now: number,
): void => {
  const hasKey = ({ applications, apiKeys }: Grants): boolean => {
    const ids = new Set(applications.filter(isOne).map(({ id }) => id))
    return apiKeys.some(key => ids.has(key.row.applicationId) && isLive(key, now))
  }
  if (hasKey(before) && !hasKey(after)) throw new VaultError('lastManagementKey')
}

/** C29: nobody grants a management permission that he lacks, neither by rules nor by a key of another application. */
export const requireOwnPermissions = (
  caller: Caller,
  application: Pick<Application, 'type' | 'permissions'>,
): void => {
  if (application.type !== 'management') return
  if (!application.permissions.every(permission => caller.application.permissions.includes(permission)))
    throw new VaultError('forbidden', { detail: 'The application lacks a permission that this would grant.' })
}
