import type { Permission } from '../domain/access/permissions.ts'
import type { EntityType } from '../domain/acts/act.ts'
import type { ErrorCode, Issue } from '../domain/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../domain/json/json.ts'
import { type Check, compileCheck } from './check.ts'
import { dropNulls, foreignDropper } from './dropped-fields.ts'
import type { Static, TSchema } from './type.ts'

/** A parameter of the query string, as the interface description shows it. */
export type QueryParameter = {
  readonly name: string
  /** Matches the names of this parameter, where it has more than one. */
  readonly pattern?: RegExp
  readonly schema: TSchema
  readonly description: string
  readonly repeatable?: boolean
  /** OpenAPI's word for a map whose members are parameters: `name[key]=value`. */
  readonly style?: 'deepObject'
  /** A value that works together with the examples of the other parameters. */
  readonly example?: Json
}

/** A part of the path, as the interface description shows it. */
export type PathParameter = {
  readonly schema: TSchema
  readonly description: string
  readonly example: string
}

/** The groups of the interface description. */
export const tags = {
  Tokens: 'Store sensitive values, and find, read, change and delete them.',
  Tenant: 'The tenant that the key belongs to, and reports about it.',
  Applications: 'Who may do what: applications, their access rules and their keys.',
  Proxies: 'Destinations to which the vault sends tokens that the caller does not see.',
  Webhooks: 'Where events are sent as they happen.',
  Log: 'Who did what, when, and what came of it.',
  Events: 'What happened, for programs: a feed, and webhooks.',
  Service: 'What needs no key.',
} as const

type Declaration = {
  readonly summary: string
  /** What the summary and the rest of the declaration do not say, in sentences. */
  readonly description?: string
  readonly tag: keyof typeof tags
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  /** Takes every method, and every path that begins with its own: what it answers is what another server answered. */
  readonly passesThrough?: true
  /** `open`: needs no key (C36). `any key`: needs a key, whatever its permissions. */
  readonly permission: Permission | 'open' | 'any key'
  /** C36: monitoring probes are answered even while other requests are turned away. */
  readonly isProbe?: true
  /** Answers with many tokens or records, so only a few such requests are worked on at a time. */
  readonly isPage?: true
  /** Changes something: under overload it waits for storage, and others may stand in its way. */
  readonly changes?: true
  readonly params?: Readonly<Record<string, PathParameter>>
  readonly query?: readonly QueryParameter[]
  /** `application/json` unless said otherwise. */
  readonly bodyType?: 'application/json' | 'application/merge-patch+json'
  readonly body?: TSchema
  /** A missing body stands for `{}`. */
  readonly bodyIsOptional?: true
  /** C5: a null field of this body is the same as an absent one, except for the fields named here. */
  readonly nullIsAbsentExcept?: readonly string[]
  /** Fields of compatible services that this body does not have. Empty ones are dropped. */
  readonly foreignFields?: readonly string[]
  /** Fields of what this body changes that stay as they are: naming one is refused. */
  readonly fixedFields?: readonly string[]
  /** Finds faults beyond the shape, to be told together with those of the shape. The operation finds them by itself. */
  readonly furtherFaults?: (body: JsonObject, issues: Issue[]) => void
  /** Working bodies by name; a test sends each of them. */
  readonly examples?: Readonly<Record<string, Json>>
  readonly reply?: TSchema
  /** An answer, where one made of the examples of its fields would say too little. */
  readonly replyExample?: Json
  /** `application/json` unless said otherwise. */
  readonly replyType?: 'text/html' | 'text/plain' | 'application/x-ndjson'
  /** Where it answers with files of several types. */
  readonly furtherReplyTypes?: readonly string[]
  /** 303: the answer's Location leads to where it is. */
  readonly status: 200 | 201 | 202 | 204 | 303
  /** How what it does is recorded (L1): what it is about, and whether that is one thing. Probes and documentation are no acts. */
  readonly logs: { readonly entityType: EntityType; readonly isAboutOne?: true } | 'no act'
  /** C1: the Location of what was created, as a path with the `:id` of the answer. */
  readonly location?: string
  /** The answer counts what is missing, if the query asks for that. */
  readonly countsMissing?: true
  /** Problems of this endpoint that do not already follow from the fields above. */
  readonly problems?: readonly ErrorCode[]
}

export type Endpoint<B = unknown> = Declaration & {
  /** Names the operation's file and its API test. */
  readonly id: string
  /** From what was sent to the body's shape. */
  readonly checkBody?: Check<B>
  /** C33: a retry with the same key must not change anything twice. A DELETE never does. */
  readonly takesIdempotencyKey: boolean
}

type Declared<D extends Declaration> = D &
  (D['body'] extends TSchema
    ? Endpoint<Static<D['body']>> & { readonly checkBody: Check<Static<D['body']>> }
    : Endpoint<undefined>)

/** One declaration per endpoint; route, content type, permission, validation, types and OpenAPI come from it. */
const endpoint = <const D extends Declaration>(id: string, declaration: D): Declared<D> =>
  ({
    id,
    ...(declaration.body && {
      bodyType: 'application/json',
      checkBody: bodyCheck(declaration.body, declaration),
    }),
    ...declaration,
    takesIdempotencyKey: declaration.changes === true && declaration.method !== 'DELETE',
  }) as Declared<D>

const bodyCheck = (
  schema: TSchema,
  { nullIsAbsentExcept, foreignFields = [], fixedFields, furtherFaults }: Declaration,
): Check<unknown> => {
  const check = compileCheck(schema, fixedFields)
  const dropForeign = foreignDropper(foreignFields)
  return (body, place, issues) => {
    const own = dropForeign(body)
    const sent = nullIsAbsentExcept ? dropNulls(own, schema, nullIsAbsentExcept) : own
    const checked = check(sent, place, issues)
    if (checked === undefined && furtherFaults !== undefined && isJsonObject(sent)) {
      const further: Issue[] = []
      furtherFaults(sent, further)
      issues.push(...further.filter(({ path }) => !issues.some(told => isWithin(told.path, path))))
    }
    return checked
  }
}

/** `[2].data` is within `[2]`. */
const isWithin = (place: string, inner: string): boolean =>
  inner.startsWith(place) && /^$|^[.[]/.test(inner.slice(place.length))

/** An endpoint's id is the name it is declared under. */
export const declareEndpoints = <const D extends Readonly<Record<string, Declaration>>>(
  declarations: D,
): { readonly [Id in keyof D]: Declared<D[Id]> } =>
  Object.fromEntries(
    Object.entries(declarations).map(([id, declaration]) => [id, endpoint(id, declaration)]),
  ) as { readonly [Id in keyof D]: Declared<D[Id]> }
