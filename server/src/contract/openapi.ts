import about from '../../package.json' with { type: 'json' }
import { catalogue, type ErrorCode } from '../domain/errors.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { limits } from '../domain/limits.ts'
import type { Endpoint } from './endpoint.ts'
import { endpoints } from './endpoints.ts'
import { idempotencyKeyHeader, traceIdHeader } from './headers.ts'
import { Problem } from './problem-schema.ts'
import { noExactNumberKeyword } from './schema.ts'
import { FoundTokens, SearchTokens } from './search-schemas.ts'
import { CreateToken, Token, TokenCursorPage, TokenPage, UpdateToken } from './token-schemas.ts'
import type { TSchema } from './type.ts'

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
  const prefix = headerPrefix.toUpperCase()
  const paths: Record<string, JsonObject> = {}
  for (const declared of Object.values<Endpoint>(endpoints)) {
    const path = declared.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [declared.method.toLowerCase()]: operation(declared) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Strongroom',
      version: about.version,
      summary: 'A token vault: sensitive values in; tokens, masks and fingerprints out.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: Object.fromEntries([...named].map(([schema, name]) => [name, plain(schema, schema)])),
      parameters: {
        IdempotencyKey: headerParameter(prefix, idempotencyKeyHeader),
        TraceId: headerParameter(prefix, traceIdHeader),
      },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: `${prefix}-API-KEY` },
      },
    },
    'x-limits': { ...limits },
  }
}

type RequestHeader = { readonly name: string; readonly description: string; readonly schema: JsonObject }

const headerParameter = (prefix: string, { name, description, schema }: RequestHeader): JsonObject => ({
  name: `${prefix}-${name.toUpperCase()}`,
  in: 'header',
  description,
  schema,
})

const operation = (declared: Endpoint): JsonObject => ({
  operationId: declared.id,
  summary: declared.summary,
  security: declared.permission === 'open' ? [] : [{ apiKey: [] }],
  ...(declared.permission !== 'open' && { 'x-permission': declared.permission }),
  parameters: [
    ...pathParameters(declared),
    ...queryParameters(declared),
    ...(declared.takesIdempotencyKey === true ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    { $ref: '#/components/parameters/TraceId' },
  ],
  ...(declared.body &&
    declared.bodyType && {
      requestBody: {
        required: declared.bodyIsOptional !== true,
        content: { [declared.bodyType]: { schema: plain(declared.body) } },
      },
    }),
  responses: {
    [declared.status]: {
      description: declared.status === 204 ? 'Done; the answer has no body.' : 'Done.',
      ...(declared.reply && {
        content: { [declared.replyType ?? 'application/json']: { schema: plain(declared.reply) } },
      }),
    },
    ...problemResponses(declared),
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

/** Every problem that this endpoint's callers can meet, but for those of broken HTTP, which are met anywhere. */
const problemsOf = (declared: Endpoint): ErrorCode[] => {
  const { permission, path, bodyType, isProbe, takesIdempotencyKey, problems = [] } = declared
  const codes: ErrorCode[] = ['internal', ...problems]
  if (isProbe !== true) codes.push('overloaded')
  if (permission !== 'open') codes.push('validation', 'unauthorized', 'tooManyRequests', 'unavailable')
  if (permission !== 'open' && permission !== 'any key') codes.push('forbidden')
  if (path.includes(':')) codes.push('notFound')
  if (bodyType !== undefined) codes.push('unsupportedMediaType', 'bodyTooLarge')
  if (takesIdempotencyKey === true) codes.push('writeContention', 'requestInFlight', 'idempotencyMismatch')
  return codes
}

const problemResponses = (declared: Endpoint): Record<string, Json> => {
  const details = new Map<number, string[]>()
  for (const code of problemsOf(declared)) {
    const {
      status,
      title,
      detail = title,
    }: { status: number; title: string; detail?: string } = catalogue[code]
    details.set(status, [...(details.get(status) ?? []), detail])
  }
  return Object.fromEntries(
    [...details].map(([status, texts]) => [
      status,
      {
        description: texts.join(' '),
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    ]),
  )
}

/** JSON Schema without our own keyword, named schemas as references; `self` is the one being defined. */
const plain = (schema: unknown, self?: TSchema): Json => {
  if (Array.isArray(schema)) return schema.map(item => plain(item))
  if (typeof schema !== 'object' || schema === null) return schema as Json
  const name = schema === self ? undefined : named.get(schema as TSchema)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== noExactNumberKeyword)
      .map(([key, value]) => [key, plain(value)]),
  )
}
