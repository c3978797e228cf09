import type { Endpoint } from '../contract/endpoint.ts'
import { endpoints } from '../contract/endpoints.ts'
import { VaultError } from '../domain/errors.ts'
import { nearestName, suggestion } from '../domain/text/did-you-mean.ts'
import { type NoRoute, partsOf } from './routes.ts'

/** Makes a 404, or a 405 if the path has other methods. */
export const noSuchRoute = (found: NoRoute): VaultError => {
  if ('refusal' in found) return found.refusal
  if (found.allowed.length > 0) return allowing(found.allowed)
  return new VaultError('noSuchRoute', {
    detail: `There is no such path${suggestion(pathNear(found.path.slice(1)))}.`,
  })
}

/** Returns the path that the caller probably meant, as the OpenAPI document writes it. It contains nothing of what was sent. */
const pathNear = (sent: readonly string[]): string | undefined => {
  let near = Object.values<Endpoint>(endpoints)
    .map(({ path }) => partsOf(path).slice(1))
    .filter(([first]) => first !== '')
  for (const [at, part] of sent.entries()) {
    const names = near.flatMap(({ [at]: name }) => (name === undefined ? [] : [name]))
    const name =
      names.find(known => known === part) ??
      nearestName(part, [...new Set(names)]) ??
      names.find(known => known.startsWith(':'))
    near = near.filter(({ [at]: known }) => known !== undefined && known === name)
  }
  const [shortest] = near.toSorted((one, other) => one.length - other.length)
  return shortest && `/${shortest.join('/').replace(/:(\w+)/g, '{$1}')}`
}

const allowing = (methods: readonly string[]): VaultError => {
  const allowed = new Set(methods)
  if (allowed.has('GET')) allowed.add('HEAD')
  return new VaultError('methodNotAllowed', { headers: { allow: [...allowed].join(', ') } })
}

/** CONNECT names a host to tunnel to, not a path of ours. */
export const noTunnel = (): VaultError =>
  allowing(Object.values<Endpoint>(endpoints).map(({ method }) => method))
