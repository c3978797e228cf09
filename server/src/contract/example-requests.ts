import type { Json } from '../domain/json/json.ts'
import type { Operation, Parameter } from './openapi-document.ts'

/** A request that works: the documentation shows it, a test sends it. */
export type ExampleRequest = {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly pathParameters: readonly string[]
  readonly type?: string
  readonly body?: Json
}

/** One request per example body, or a single one if the operation has no body. */
export const exampleRequests = (path: string, method: string, operation: Operation): ExampleRequest[] => {
  const { parameters, requestBody } = operation
  let filled = path
  const pathParameters: string[] = []
  const query = new URLSearchParams()
  for (const parameter of parameters) {
    if (!('in' in parameter) || parameter.example === undefined) continue
    if (parameter.in === 'path') {
      filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(String(parameter.example)))
      pathParameters.push(String(parameter.example))
    } else for (const [name, value] of queryPairs(parameter)) query.append(name, value)
  }
  const request = {
    method: method.toUpperCase(),
    path: query.size === 0 ? filled : `${filled}?${query}`,
    pathParameters,
  }
  const [content] = Object.entries(requestBody?.content ?? {})
  if (content === undefined) return [request]
  const [type, { examples = {} }] = content
  return Object.values(examples).flatMap(example =>
    'value' in example ? [{ ...request, type, body: example.value }] : [],
  )
}

const queryPairs = ({ name, example, style }: Parameter): [string, string][] =>
  style === 'deepObject'
    ? Object.entries(example ?? {}).map(([key, value]) => [`${name}[${key}]`, String(value)])
    : [example].flat().map(value => [name, String(value)])
