import about from '../../package.json' with { type: 'json' }
import { limits } from '../domain/limits.ts'
import {
  AccessRule,
  ApiKey,
  Application,
  ApplicationPage,
  CreateApiKey,
  CreateApplication,
  ExplainAccess,
  Explanation,
  PermissionEntry,
  UpdateApplication,
} from './application-schemas.ts'
import { type Endpoint, tags } from './endpoint.ts'
import { endpoints } from './endpoints.ts'
import { answerHeaders, apiKeyHeader, idempotencyKeyHeader, prefixed, traceIdHeader } from './headers.ts'
import type { OpenApiDocument, Operation, Parameter, Reference, Schema } from './openapi-document.ts'
import { Pagination } from './paging.ts'
import { Problem } from './problem-schema.ts'
import { problemsOf } from './problems.ts'
import { noExactNumberKeyword } from './schema.ts'
import { FoundTokens, SearchPlan, SearchTokens, SearchTokensByCursor } from './search-schemas.ts'
import {
  IndexReport,
  Tenant,
  TenantSettings,
  TypeMetrics,
  UpdateTenant,
  UsageReport,
} from './tenant-schemas.ts'
import {
  CreateToken,
  CursorPagination,
  dataSchemas,
  Token,
  TokenCursorPage,
  TokenPage,
  UpdateToken,
} from './token-schemas.ts'
import { declaredSchema, type TSchema } from './type.ts'

/** The schemas that have a name in the document, and therefore in the clients generated from it. */
const named: Readonly<Record<string, TSchema>> = {
  CreateToken,
  UpdateToken,
  Token,
  TokenPage,
  TokenCursorPage,
  Pagination,
  CursorPagination,
  SearchTokens,
  SearchTokensByCursor,
  FoundTokens,
  SearchPlan,
  Tenant,
  TenantSettings,
  UpdateTenant,
  UsageReport,
  TypeMetrics,
  IndexReport,
  Application,
  ApplicationPage,
  CreateApplication,
  UpdateApplication,
  AccessRule,
  ApiKey,
  CreateApiKey,
  ExplainAccess,
  Explanation,
  PermissionEntry,
  Problem,
  ...dataSchemas,
}
const names = new Map(Object.entries(named).map(([name, schema]) => [schema, name]))

/** The interface as OpenAPI 3.1, made from the declarations alone. */
export const openApi = (headerPrefix: string): OpenApiDocument => {
  const all = Object.values<Endpoint>(endpoints)
  const paths: Record<string, Record<string, Operation>> = {}
  for (const declared of all) {
    const path = declared.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [declared.method.toLowerCase()]: operation(declared, headerPrefix) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Strongroom',
      version: about.version,
      summary: 'A token vault: sensitive values in; tokens, masks and fingerprints out.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the address of the document: the vault does not know under which names it is reached.
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(named).map(([name, schema]) => {
          const taking = all.find(({ body, nullIsAbsentExcept }) => body === schema && nullIsAbsentExcept)
          return [name, withNulls(plain(schema, schema), taking?.nullIsAbsentExcept)]
        }),
      ),
      parameters: {
        IdempotencyKey: headerParameter(headerPrefix, idempotencyKeyHeader),
        TraceId: headerParameter(headerPrefix, traceIdHeader),
      },
      headers: {
        TraceId: { required: true, description: traceIdHeader.description, schema: traceIdHeader.schema },
        ...answerHeaders,
      },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: prefixed(headerPrefix, apiKeyHeader.name) },
      },
    },
    'x-limits': { ...limits },
  }
}

type RequestHeader = { readonly name: string; readonly description: string; readonly schema: Schema }

const headerParameter = (headerPrefix: string, header: RequestHeader): Parameter => ({
  name: prefixed(headerPrefix, header.name),
  in: 'header',
  description: header.description,
  schema: header.schema,
})

const operation = (declared: Endpoint, headerPrefix: string): Operation => {
  const { body, bodyType, examples, reply, status } = declared
  return {
    operationId: declared.id,
    summary: declared.summary,
    tags: [declared.tag],
    security: declared.permission === 'open' ? [] : [{ apiKey: [] }],
    ...(declared.permission !== 'open' && { 'x-permission': declared.permission }),
    parameters: [
      ...pathParameters(declared),
      ...queryParameters(declared),
      ...(declared.takesIdempotencyKey ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
      { $ref: '#/components/parameters/TraceId' },
    ],
    ...(body &&
      bodyType && {
        requestBody: {
          required: declared.bodyIsOptional !== true,
          content: {
            [bodyType]: {
              schema: plain(body),
              ...(examples && {
                examples: Object.fromEntries(
                  Object.entries(examples).map(([name, value]) => [name, { value }]),
                ),
              }),
            },
          },
        },
      }),
    responses: {
      [status]: {
        description: status === 204 ? 'Done; the answer has no body.' : 'Done.',
        headers: headersOf(headerPrefix, [
          ...(declared.location === undefined ? [] : ['Location']),
          ...(declared.takesIdempotencyKey ? ['Idempotent-Replayed'] : []),
        ]),
        ...(reply && { content: { [declared.replyType ?? 'application/json']: { schema: plain(reply) } } }),
      },
      ...Object.fromEntries(
        problemsOf(declared).map(({ status, details, headers }) => [
          status,
          {
            description: details.join(' '),
            headers: headersOf(headerPrefix, headers),
            content: { 'application/problem+json': { schema: plain(Problem) } },
          },
        ]),
      ),
    },
  }
}

const headersOf = (headerPrefix: string, more: readonly string[]): Record<string, Reference> => ({
  [prefixed(headerPrefix, traceIdHeader.name)]: { $ref: '#/components/headers/TraceId' },
  ...Object.fromEntries(more.map(name => [name, { $ref: `#/components/headers/${name}` }])),
})

const pathParameters = ({ params = {} }: Endpoint): Parameter[] =>
  Object.entries(params).map(([name, { schema, description, example }]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: plain(schema),
    example,
  }))

const queryParameters = ({ query = [] }: Endpoint): Parameter[] =>
  query.map(({ name, schema, description, repeatable, style, example }) => ({
    name,
    in: 'query',
    description,
    schema:
      repeatable === true
        ? { type: 'array', items: plain(schema), maxItems: limits.filterValuesMax }
        : plain(schema),
    ...(repeatable === true && { style: 'form', explode: true }),
    ...(style !== undefined && { style, explode: true }),
    ...(example !== undefined && { example }),
  }))

/** C5: where null means absent, every optional field may be null. */
const withNulls = (schema: Schema, except: readonly string[] | undefined): Schema => {
  const { properties, required = [] } = schema
  if (except === undefined || properties === undefined) return schema
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [
        name,
        required.includes(name) || except.includes(name) ? field : orNull(field),
      ]),
    ),
  }
}

const orNull = (field: Schema): Schema => {
  const { $ref, type, enum: values } = field
  if ($ref !== undefined) return { anyOf: [field, { type: 'null' }] }
  return {
    ...field,
    ...(type !== undefined && { type: [...new Set([type, 'null'].flat())] }),
    ...(values !== undefined && { enum: [...values, null] }),
  }
}

/** JSON Schema without our own keyword, and with references to named schemas. `self` is the schema being defined. */
const plain = (schema: TSchema, self?: TSchema): Schema => plainValue(schema, self) as Schema

const plainValue = (value: unknown, self?: TSchema): unknown => {
  if (Array.isArray(value)) return value.map(item => plainValue(item))
  if (typeof value !== 'object' || value === null) return value
  const schema = declaredSchema(value)
  const name = schema === self ? undefined : names.get(schema)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== noExactNumberKeyword)
      .map(([key, inner]) => [key, plainValue(inner)]),
  )
}
