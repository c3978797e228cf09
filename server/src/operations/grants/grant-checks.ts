import type { Application } from '../../domain/application.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Caller } from '../vault.ts'
import { type Grants, isLive } from './load-grants.ts'

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

/** C27: who changes grants must still hold all that they held when their request was let in. */
export const requireStillGranted = (
  { apiKey, application }: Caller,
  { applications, apiKeys }: Grants,
  now: number,
): void => {
  // The operator at the command line has no key that could have been revoked meanwhile.
  if (apiKey === undefined) return
  const key = apiKeys.find(({ row }) => Buffer.compare(row.hash, apiKey.hash) === 0)
  const current = applications.find(({ id }) => id === application.id)
  if (key === undefined || !isLive(key, now) || current === undefined) throw new VaultError('unauthorized')
  if (!application.permissions.every(permission => current.permissions.includes(permission)))
    throw new VaultError('forbidden')
}

/** C29: nobody grants a management permission that they lack, be it by rules or by a key of another application. */
export const requireOwnPermissions = (
  caller: Caller,
  application: Pick<Application, 'type' | 'permissions'>,
): void => {
  if (application.type !== 'management') return
  if (!application.permissions.every(permission => caller.application.permissions.includes(permission)))
    throw new VaultError('forbidden', { detail: 'The application lacks a permission that this would grant.' })
}
