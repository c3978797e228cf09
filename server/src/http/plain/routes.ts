/** A place that paths lead to, as endpoints declare it: `/tokens/:id`. */
type Declared<To> = { readonly method: string; readonly path: string; readonly to: To }

export type Route<To> = { readonly to: To; readonly params: Readonly<Record<string, string>> }

type Pattern<To> = { readonly parts: readonly Part[]; readonly to: To }
type Part = { readonly text: string; readonly isParam: boolean }

const noParams: Route<unknown>['params'] = Object.freeze({})

/**
 * Finds where the path of a plain request leads, for a third of what Fastify's router and its objects cost. Like the reader of
 * plain requests it may be strict, but must never find anything else than Fastify would: a path with `%` in it, or that leads
 * nowhere, is left to Fastify, which decodes it or refuses it.
 */
export const plainRoutes = <To>(declared: readonly Declared<To>[]) => {
  /** By method and number of parts. Patterns without parameters come first, because `/tenants/self` is no id. */
  const patterns = new Map<string, Pattern<To>[][]>()
  for (const { method, path, to } of declared) {
    const parts = partsOf(path).map(part => ({ text: part.replace(/^:/, ''), isParam: part.startsWith(':') }))
    const ofMethod = patterns.get(method) ?? []
    patterns.set(method, ofMethod)
    const alike = [...(ofMethod[parts.length] ?? []), { parts, to }]
    ofMethod[parts.length] = alike.sort((a, b) => paramsIn(a) - paramsIn(b))
  }

  return (method: string, url: string): Route<To> | undefined => {
    const query = url.indexOf('?')
    const path = query === -1 ? url : url.slice(0, query)
    if (path.includes('%')) return undefined
    const parts = partsOf(path)
    for (const { parts: wanted, to } of patterns.get(method)?.[parts.length] ?? [])
      if (fits(parts, wanted)) return { to, params: paramsOf(parts, wanted) }
    return undefined
  }
}

/** Without what is before the first slash, and without an empty part at the end: a trailing slash does not matter. */
const partsOf = (path: string): string[] => {
  const parts = path.split('/')
  if (parts.length > 2 && parts.at(-1) === '') parts.pop()
  return parts
}

const paramsIn = ({ parts }: Pattern<unknown>): number => parts.filter(({ isParam }) => isParam).length

const fits = (parts: readonly string[], wanted: readonly Part[]): boolean =>
  wanted.every(({ text, isParam }, at) => isParam || parts[at] === text)

const paramsOf = (parts: readonly string[], wanted: readonly Part[]): Route<unknown>['params'] => {
  let params: Record<string, string> | undefined
  wanted.forEach(({ text, isParam }, at) => {
    if (isParam) params = { ...params, [text]: parts[at] ?? '' }
  })
  return params ?? noParams
}
