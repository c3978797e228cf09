declare const described: unique symbol
const optional = Symbol('optional')

/** JSON Schema that carries, for the type checker only, the type of the values it describes. */
export type TSchema<T = unknown> = { readonly [described]?: T }

/** The type of the values that a schema describes. */
export type Static<S extends TSchema> = S extends TSchema<infer T> ? T : never

type Keywords = Readonly<Record<string, unknown>>
type Properties = Readonly<Record<string, TSchema>>
type Optional = { readonly [optional]: TSchema }
type Members<P extends Properties> = {
  -readonly [Name in keyof P as P[Name] extends Optional ? never : Name]: Static<P[Name]>
} & {
  -readonly [Name in keyof P as P[Name] extends Optional ? Name : never]?: Static<P[Name]>
}

const describes = <T>(keywords: Keywords): TSchema<T> => keywords

/** Plain JSON Schema, declared once for the check, the interface description and the static type. */
export const Type = {
  String: (keywords: Keywords = {}) => describes<string>({ type: 'string', ...keywords }),
  Boolean: (keywords: Keywords = {}) => describes<boolean>({ type: 'boolean', ...keywords }),
  Integer: (keywords: Keywords = {}) => describes<number>({ type: 'integer', ...keywords }),
  Number: (keywords: Keywords = {}) => describes<number>({ type: 'number', ...keywords }),
  Literal: <const T extends string | boolean>(value: T, keywords: Keywords = {}) =>
    describes<T>({ type: typeof value, const: value, ...keywords }),
  Array: <S extends TSchema>(items: S, keywords: Keywords = {}) =>
    describes<Static<S>[]>({ type: 'array', items, ...keywords }),
  Object: <P extends Properties>(properties: P, keywords: Keywords = {}) => {
    const required = Object.keys(properties).filter(name => !(optional in (properties[name] ?? {})))
    const some = required.length > 0 ? { required } : {}
    return { ...describes<Members<P>>({ type: 'object', ...some }), properties, ...keywords }
  },
  /** A member of an object that may be absent. The mark is not a keyword, so nothing that reads the schema sees it. */
  Optional: <S extends TSchema>(schema: S): S & Optional => ({ ...schema, [optional]: schema }),
  /** Any schema; the caller says what it describes. */
  Unsafe: describes,
}

/** The schema as it was declared, before `Optional` marked it. */
export const declaredSchema = (schema: TSchema): TSchema =>
  optional in schema ? (schema as Optional)[optional] : schema
