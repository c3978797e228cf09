import type { Json } from '../domain/json/json.ts'
import { type TSchema, Type } from './type.ts'

type Described = { readonly description?: string; readonly examples?: readonly Json[] }
type TextOptions = Described & { readonly min?: number; readonly max?: number }
type ListOptions = Described & { readonly items: TSchema; readonly min?: number; readonly max: number }

/**
 * The building blocks of body schemas. Each is plain JSON Schema that OpenAPI can show. Nullable ones say so in their
 * `type`, which keeps an error about them to one sentence.
 */
export const text = (options: TextOptions = {}) => Type.String(textOptions(options))

export const nullableText = (options: TextOptions = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...textOptions(options) })

const textOptions = ({ min, max, description, examples }: TextOptions) => ({
  ...(min !== undefined && { minLength: min }),
  ...(max !== undefined && { maxLength: max }),
  ...(description !== undefined && { description }),
  ...(examples !== undefined && { examples }),
})

/** One of a fixed set of words. */
export const choice = <const V extends readonly string[]>(values: V, options: Described = {}) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...options })

export const flag = (options: Described = {}) => Type.Boolean(options)
export const nullableFlag = (options: Described = {}) =>
  Type.Unsafe<boolean | null>({ type: ['boolean', 'null'], ...options })

export const textList = (options: ListOptions) =>
  Type.Unsafe<string[]>({ type: 'array', ...listOptions(options) })

export const nullableTextList = (options: ListOptions) =>
  Type.Unsafe<string[] | null>({ type: ['array', 'null'], ...listOptions(options) })

const listOptions = ({ items, min, max, description, examples }: ListOptions) => ({
  items,
  maxItems: max,
  ...(min !== undefined && { minItems: min }),
  ...(description !== undefined && { description }),
  ...(examples !== undefined && { examples }),
})

/** `additionalProperties`, not a pattern: a pattern with `.` would let keys with a line break pass unchecked. */
export const textMap = (options: Described = {}) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    ...noExactNumber,
    ...options,
  })

export const nullableTextMap = (options: Described = {}) =>
  Type.Unsafe<Record<string, string | null> | null>({
    type: ['object', 'null'],
    additionalProperties: { type: ['string', 'null'] },
    ...noExactNumber,
    ...options,
  })

/** Numbers that doubles cannot hold travel as objects (C7). This keyword refuses them where an object is required. */
export const noExactNumberKeyword = 'x-no-exact-number'
const noExactNumber = { [noExactNumberKeyword]: true }

export const anyJson = (options: Described = {}) => Type.Unsafe<Json>({ ...options })

/** C6: unknown fields are refused. */
export const body = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false, ...noExactNumber })
