import type { TSchema } from 'typebox'
import { catalogue } from '../domain/errors.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { limits } from '../domain/limits.ts'
import type { Endpoint } from './endpoint.ts'
import { endpoints } from './endpoints.ts'
import { exactNumberKeyword } from './schema.ts'
import { FoundTokens, SearchTokens } from './search-schemas.ts'
import { CreateToken, Problem, Token, TokenCursorPage, TokenPage, UpdateToken } from './token-schemas.ts'

/** Schemas with a name of their own in the document. */
const named = new Map<TSchema, string>([
  [CreateToken, 'CreateToken'],
  [UpdateToken, 'UpdateToken'],
  [Token, 'Token'],
  [TokenPage, 'TokenPage'],
  [TokenCursorPage, 'TokenCursorPage'],
  [SearchTokens, 'SearchTokens'],
  [FoundTokens, 'FoundTokens'],
  [Problem, 'Problem'],
])

/** The interface as OpenAPI 3.1, made from the declarations alone. */
export const openApi = (headerPrefix: string): JsonObject => {
  const paths: Record<string, JsonObject> = {}
  for (const declared of Object.values<Endpoint>(endpoints)) {
    const path = declared.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [declared.method.toLowerCase()]: operation(declared) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Strongroom',
      version: '0.1.0',
      summary: 'A token vault: sensitive values in; tokens, masks and fingerprints out.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: Object.fromEntries([...named].map(([schema, name]) => [name, plain(schema, schema)])),
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: `${headerPrefix.toUpperCase()}-API-KEY` },
      },
    },
    'x-limits': { ...limits },
  }
}

const operation = (declared: Endpoint): JsonObject => ({
  operationId: declared.id,
  summary: declared.summary,
  security: declared.permission === 'open' ? [] : [{ apiKey: [] }],
  ...(declared.permission !== 'open' && { 'x-permission': declared.permission }),
  parameters: [...pathParameters(declared), ...queryParameters(declared)],
  ...(declared.body &&
    declared.bodyType && {
      requestBody: { required: true, content: { [declared.bodyType]: { schema: plain(declared.body) } } },
    }),
  responses: {
    [declared.status]: {
      description: declared.status === 204 ? 'Done; the answer has no body.' : 'Done.',
      ...(declared.reply && { content: { 'application/json': { schema: plain(declared.reply) } } }),
    },
    ...(declared.permission === 'open' ? {} : problems(declared)),
  },
})

const pathParameters = ({ path }: Endpoint): JsonObject[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

const queryParameters = ({ query = [] }: Endpoint): JsonObject[] =>
  query.map(({ name, schema, description, repeatable }) => ({
    name,
    in: 'query',
    description,
    schema: repeatable === true ? { type: 'array', items: plain(schema) } : plain(schema),
    ...(repeatable === true && { style: 'form', explode: true }),
  }))

/** Every status that the catalogue gives this endpoint's callers. */
const problems = ({ body, path }: Endpoint): Record<string, Json> => {
  const statuses = new Set([400, 401, 403, 429, 500, 503])
  if (path.includes(':')) statuses.add(404)
  if (body !== undefined) for (const status of [409, 413, 415]) statuses.add(status)
  const titles = new Map(
    Object.values(catalogue).map(({ status, title }) => [status as number, title as string]),
  )
  const entries: [string, Json][] = []
  for (const status of [...statuses].sort((a, b) => a - b)) {
    const title = titles.get(status)
    if (title === undefined) continue
    entries.push([
      String(status),
      {
        description: title,
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ])
  }
  return Object.fromEntries(entries)
}

/** JSON Schema without our own keyword, named schemas as references; `self` is the one being defined. */
const plain = (schema: unknown, self?: TSchema): Json => {
  if (Array.isArray(schema)) return schema.map(item => plain(item))
  if (typeof schema !== 'object' || schema === null) return schema as Json
  const name = schema === self ? undefined : named.get(schema as TSchema)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== exactNumberKeyword)
      .map(([key, value]) => [key, plain(value)]),
  )
}
