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
import { FailedDelivery, FailedDeliveryPage, WebhookTestResult } from './deliveries/schemas.ts'
import type { Endpoint } from './endpoint.ts'
import { Event, EventPage } from './events/schemas.ts'
import { FoundTokens, SearchPlan, SearchTokens, SearchTokensByCursor } from './finding/search-schemas.ts'
import { LogEntityType, LogEntry, LogPage } from './log/schemas.ts'
import type { Schema } from './openapi-document.ts'
import { Pagination } from './paging.ts'
import { Problem } from './problem-schema.ts'
import { CreateProxy, CreateProxyKey, PatchProxy, ProxyPage, ProxyView } from './proxies/schemas.ts'
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
import { CreateWebhook, CreateWebhookSecret, WebhookPage, WebhookView } from './webhooks/schemas.ts'

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
  ProxyPage,
  Proxy: ProxyView,
  CreateProxy,
  PatchProxy,
  CreateProxyKey,
  WebhookPage,
  Webhook: WebhookView,
  CreateWebhook,
  CreateWebhookSecret,
  LogPage,
  LogEntry,
  EventPage,
  FailedDeliveryPage,
  FailedDelivery,
  WebhookTestResult,
  Event,
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
  const { $ref, type, enum: values, anyOf } = field
  if ($ref !== undefined) return { anyOf: [field, { type: 'null' }] }
  if (anyOf !== undefined) return { ...field, anyOf: [...anyOf, { type: 'null' }] }
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
  return separated(
    Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => key !== noExactNumberKeyword)
        .map(([key, inner]) => [key, key === 'examples' ? inner : documentedValue(inner)]),
    ),
  )
}

/** Generators of typed languages drop or refuse what has several types at once, unless each stands for itself. */
const separated = (schema: Schema): Schema => {
  const { enum: values = [], type, description, ...rest } = schema
  const told = description === undefined ? {} : { description }
  if (values.includes(true) && values.includes(false)) {
    const others = values.filter(value => typeof value !== 'boolean')
    return { ...told, anyOf: [{ type: 'string', enum: others }, { type: 'boolean' }] }
  }
  const types = [type].flat().filter(name => name !== undefined)
  if (types.filter(name => name !== 'null').length < 2) return schema
  return { ...told, anyOf: types.map(name => ({ type: name, ...pick(rest, keywordsOf[name] ?? []) })) }
}

const keywordsOf: Readonly<Record<string, readonly (keyof Schema)[]>> = {
  integer: ['minimum', 'maximum'],
  number: ['minimum', 'maximum'],
  string: ['format', 'minLength', 'maxLength', 'pattern'],
}

const pick = (schema: Schema, keywords: readonly (keyof Schema)[]): Schema =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => keywords.some(keyword => keyword === name)))
