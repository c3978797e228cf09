import type { Endpoint } from '../contract/endpoint.ts'
import { holds } from '../domain/access/access.ts'
import { VaultError } from '../domain/errors.ts'
import type { Caller } from '../operations/vault/vault.ts'

/** 403 to an application that holds the endpoint's permission nowhere (C3: "permission as such"). */
export const requirePermission = ({ application }: Caller, { permission }: Endpoint): void => {
  const isPermitted = permission === 'open' || permission === 'any key' || holds(application, permission)
  if (!isPermitted) throw new VaultError('forbidden', { detail: `This needs the permission ${permission}.` })
}
