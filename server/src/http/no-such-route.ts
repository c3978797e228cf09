import type { Endpoint } from '../contract/endpoint.ts'
import { endpoints } from '../contract/endpoints.ts'
import { VaultError } from '../domain/errors.ts'
import type { NoRoute } from './routes.ts'

/** 404, or 405 if the path has other methods. */
export const noSuchRoute = (found: NoRoute): VaultError => {
  if ('refusal' in found) return found.refusal
  return found.allowed.length === 0 ? new VaultError('notFound') : allowing(found.allowed)
}

const allowing = (methods: readonly string[]): VaultError => {
  const allowed = new Set(methods)
  if (allowed.has('GET')) allowed.add('HEAD')
  return new VaultError('methodNotAllowed', { headers: { allow: [...allowed].join(', ') } })
}

/** CONNECT names a host to tunnel to, not a path of ours. */
export const noTunnel = (): VaultError =>
  allowing(Object.values<Endpoint>(endpoints).map(({ method }) => method))
