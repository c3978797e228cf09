/** A place that paths lead to, as endpoints declare it: `/tokens/:id`. */
type Declared<To> = { readonly method: string; readonly path: string; readonly to: To }

export type Route<To> = { readonly to: To; readonly params: Readonly<Record<string, string>> }

/** What paths that are equal up to their last slash lead to. */
type Folder<To> = {
  readonly named: Map<string, Route<To>>
  /** For every other name: it is the value of this parameter. */
  others?: { readonly to: To; readonly param: string }
}

/**
 * Finds where the path of a plain request leads, without Fastify's router and its objects, which take a twentieth of a get. Like
 * the reader of plain requests it need not be complete, but must never find anything else than Fastify would, which finds or
 * refuses everything that is not found here: a path with `%` in it, with an empty name, or with a parameter before its last slash.
 */
export const plainRoutes = <To>(declared: readonly Declared<To>[]) => {
  const foldersOf = new Map<string, Map<string, Folder<To>>>()
  for (const { method, path, to } of declared) {
    const { folder, name } = split(path)
    if (folder.includes(':')) continue
    const folders = foldersOf.get(method) ?? new Map<string, Folder<To>>()
    const there: Folder<To> = folders.get(folder) ?? { named: new Map() }
    if (name.startsWith(':')) there.others = { to, param: name.slice(1) }
    else there.named.set(name, { to, params: {} })
    foldersOf.set(method, folders.set(folder, there))
  }

  return (method: string, url: string): Route<To> | undefined => {
    const query = url.indexOf('?')
    const path = query === -1 ? url : url.slice(0, query)
    if (path.includes('%')) return undefined
    // A slash at the end does not matter.
    const { folder, name } = split(path.endsWith('/') ? path.slice(0, -1) : path)
    const there = foldersOf.get(method)?.get(folder)
    if (there === undefined || name === '') return undefined
    const { named, others } = there
    const route = named.size === 0 ? undefined : named.get(name)
    return route ?? (others && { to: others.to, params: oneParam(others.param, name) })
  }
}

/** Assigned: an object literal with a computed name is a call into the runtime, 1 % of a get. */
const oneParam = (name: string, value: string): Record<string, string> => {
  const params: Record<string, string> = {}
  params[name] = value
  return params
}

const split = (path: string): { folder: string; name: string } => {
  const start = path.lastIndexOf('/') + 1
  return { folder: path.slice(0, start), name: path.slice(start) }
}
