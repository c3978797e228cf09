import type { Endpoint } from '../contract/endpoint.ts'
import { endpoints } from '../contract/endpoints.ts'
import { VaultError } from '../domain/errors.ts'

const patterns = Object.values<Endpoint>(endpoints).map(({ method, path }) => ({
  method,
  matches: new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`),
}))

/** 404, or 405 if the path has other methods. */
export const noSuchRoute = (path: string): VaultError => {
  const methods = patterns.filter(({ matches }) => matches.test(path)).map(({ method }) => method)
  return methods.length === 0 ? new VaultError('notFound') : allowing(methods)
}

const allowing = (methods: readonly string[]): VaultError => {
  const allowed = new Set(methods)
  if (allowed.has('GET')) allowed.add('HEAD')
  return new VaultError('methodNotAllowed', { headers: { allow: [...allowed].join(', ') } })
}

/** CONNECT names a host to tunnel to, not a path of ours. */
export const noTunnel = allowing(patterns.map(({ method }) => method))
