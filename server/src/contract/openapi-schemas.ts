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
} from './applications/schemas.ts'
import type { Endpoint } from './endpoint.ts'
import { FoundTokens, SearchPlan, SearchTokens, SearchTokensByCursor } from './finding/search-schemas.ts'
import { LogEntityType, LogEntry, LogPage } from './log/schemas.ts'
import type { Schema } from './openapi-document.ts'
import { Pagination } from './paging.ts'
import { Problem } from './problem-schema.ts'
import { noExactNumberKeyword } from './schema.ts'
import {
  IndexReport,
  Tenant,
  TenantSettings,
  TypeMetrics,
  UpdateTenant,
  UsageReport,
} from './tenants/schemas.ts'
import {
  CreateToken,
  CursorPagination,
  dataSchemas,
  Token,
  TokenCursorPage,
  TokenPage,
  UpdateToken,
} from './tokens/schemas.ts'
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
  LogPage,
  LogEntry,
  LogEntityType,
  Problem,
  ...dataSchemas,
}
const names = new Map(Object.entries(named).map(([name, schema]) => [schema, name]))

/** The named schemas as the document shows them; the endpoints that take one as their body say whether its fields may be null. */
export const namedSchemas = (endpoints: readonly Endpoint[]): Record<string, Schema> =>
  Object.fromEntries(
    Object.entries(named).map(([name, schema]) => {
      const taking = endpoints.find(({ body, nullIsAbsentExcept }) => body === schema && nullIsAbsentExcept)
      return [name, withNulls(documented(schema, schema), taking?.nullIsAbsentExcept)]
    }),
  )

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

/** The schema as the document shows it: without our own keyword, and with references to named ones. `self` is being defined. */
export const documented = (schema: TSchema, self?: TSchema): Schema => documentedValue(schema, self) as Schema

const documentedValue = (value: unknown, self?: TSchema): unknown => {
  if (Array.isArray(value)) return value.map(item => documentedValue(item))
  if (typeof value !== 'object' || value === null) return value
  const schema = declaredSchema(value)
  const name = schema === self ? undefined : names.get(schema)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== noExactNumberKeyword)
      .map(([key, inner]) => [key, documentedValue(inner)]),
  )
}
