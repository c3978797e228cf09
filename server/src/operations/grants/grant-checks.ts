import { type Application, isLive } from '../../domain/access/application.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Caller } from '../vault/vault.ts'
import type { Grants } from './load-grants.ts'

type GrantsChange = { readonly before: Grants; readonly after: Grants }
type IsOne = (application: Application) => boolean
const isManagement: IsOne = ({ type }) => type === 'management'
const canGrant: IsOne = ({ permissions }) => permissions.includes('application:update')

/** Whether anybody can manage the tenant, that is, whether a management application has a live key. */
export const hasManagementKey = (grants: Grants, now: number): boolean => hasKeyOf(isManagement, grants, now)

/** Prevents an accidental lockout of the owner: one live key of a management application must remain. */
export const requireManagementKey = (change: GrantsChange, now: number): void =>
  requireKeyOf(isManagement, change, now)

/** Prevents a lockout by lost permissions: one live key that may change applications must remain. */
export const requireGrantingKey = (change: GrantsChange, now: number): void =>
  requireKeyOf(canGrant, change, now)

const requireKeyOf = (isOne: IsOne, { before, after }: GrantsChange, now: number): void => {
  if (hasKeyOf(isOne, before, now) && !hasKeyOf(isOne, after, now)) throw new VaultError('lastManagementKey')
}

const hasKeyOf = (isOne: IsOne, { applications, apiKeys }: Grants, now: number): boolean => {
  const ids = new Set(applications.filter(isOne).map(({ id }) => id))
  return apiKeys.some(({ row }) => ids.has(row.applicationId) && isLive(row, now))
}

/** C27: a caller that changes grants must still have its key and every permission from when its request was admitted. */
export const requireStillGranted = (
  { apiKey, application }: Caller,
  { applications, apiKeys }: Grants,
  now: number,
): void => {
  // The operator at the command line has no key that could be revoked.
  if (apiKey === undefined) return
  const key = apiKeys.find(({ row }) => Buffer.compare(row.hash, apiKey.hash) === 0)
  const current = applications.find(({ id }) => id === application.id)
  if (key === undefined || !isLive(key.row, now) || current === undefined)
    throw new VaultError('unauthorized')
  if (!application.permissions.every(permission => current.permissions.includes(permission)))
    throw new VaultError('forbidden')
}

/** C29: a caller cannot grant a management permission that it lacks, neither to an application nor by making a key for one. */
export const requireOwnPermissions = (
  caller: Caller,
  application: Pick<Application, 'type' | 'permissions'>,
): void => {
  if (application.type !== 'management') return
  if (!application.permissions.every(permission => caller.application.permissions.includes(permission)))
    throw new VaultError('forbidden', { detail: 'The application lacks a permission that this would grant.' })
}
