import type { Endpoint } from '../contract/endpoint.ts'
import { endpoints } from '../contract/endpoints.ts'
import { VaultError } from '../domain/errors.ts'
import { nearestName, suggestion } from '../domain/text/did-you-mean.ts'

const partsOf = (path: string): string[] => path.split('/').slice(1)

const routes = Object.values<Endpoint>(endpoints).map(({ method, path }) => ({
  method,
  matches: new RegExp(`^${path.replaceAll('.', '\\.').replace(/:\w+/g, '[^/]+')}$`),
  parts: partsOf(path),
}))

/** 404, or 405 if the path has other methods. */
export const noSuchRoute = (sentPath: string): VaultError => {
  const path = sentPath === '' ? '/' : sentPath
  const methods = routes.filter(({ matches }) => matches.test(path)).map(({ method }) => method)
  if (methods.length > 0) return allowing(methods)
  return new VaultError('noSuchRoute', {
    detail: `There is no such path${suggestion(pathNear(partsOf(path)))}.`,
  })
}

/** The path of the interface that was probably meant, as the OpenAPI document writes it. Nothing in it is as it was sent. */
const pathNear = (sent: readonly string[]): string | undefined => {
  let near = routes.map(({ parts }) => parts).filter(([first]) => first !== '')
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
export const noTunnel = allowing(routes.map(({ method }) => method))
