import type { Json } from '../../json/json.ts'
import { limits } from '../../limits.ts'
import { countCharacters } from '../../text/characters.ts'
import { type Dialect, type Run, tooMuchWork, type Use } from '../budget.ts'
import { numberOf } from '../decimal.ts'
import { ExpressionError } from '../expression-error.ts'
import type { Segment } from '../syntax.ts'
import { textOf } from '../values.ts'

/**
 * One argument of a filter. `read` checks and converts it: a literal once, when the expression is compiled, a path at
 * every rendering. It throws ExpressionError.
 */
export type Parameter<T> = {
  readonly read: (value: Json, run: Run) => T
  /** Replaces an argument that is left out or null; without it the argument is required. */
  readonly fallback?: { readonly value: T }
  /** Refuses paths, because the compiler must know the argument. */
  readonly isLiteralOnly?: boolean
}

type Values<Parameters extends readonly Parameter<unknown>[]> = {
  [Index in keyof Parameters]: Parameters[Index] extends Parameter<infer T> ? T : never
}

type Definition<Arguments extends readonly unknown[]> = {
  apply(input: Json, run: Run, ...values: Arguments): Json
  /** The properties of the input that the arguments name; they count among the expression's paths. */
  readonly names?: (...values: Arguments) => readonly Segment[]
  /** Makes a random value: only for ids (C21). */
  readonly isAlias?: boolean
  /** Every character of the input is still in the result, perhaps in another case, so the filter may follow an alias (C21). */
  readonly keepsCharacters?: boolean
  /**
   * Shows everything it reads as it is, and chooses nothing by what another value holds: a caller who changes one value
   * cannot steer it to show more of the others (C13).
   */
  readonly showsWhole?: boolean
  /** As the last filter of an output: a fingerprint counts the JSON type of its input, not of the text made from it (C14). */
  readonly keepsInputType?: boolean
  /** Gives a whole value of its input, or a constant, and never a part of one: for callers who may use what they may not see (U11). */
  readonly cutsNothing?: boolean
  /** The uses that know it, if not all do. */
  readonly onlyIn?: readonly (Use | Dialect)[]
  /** Its result is bytes, one a character, which only a filter with `applyToBytes` takes. */
  readonly makesBytes?: boolean
  readonly applyToBytes?: (bytes: string) => string
  /** A result of null means that the input lacks what the filter reads (U4). */
  readonly nullIsMissing?: boolean
}

/** A filter as the compiler sees it; the registry gives it its name. */
export type Filter = { readonly parameters: readonly Parameter<unknown>[] } & Definition<readonly unknown[]>

/** Declares a filter: the parameters determine the types of the arguments of `apply`. */
export const filter = <const Parameters extends readonly Parameter<unknown>[]>(
  parameters: Parameters,
  definition: Definition<Values<Parameters>>,
): Filter =>
  // The compiler calls `apply` with what these same parameters read, a link whose type is lost in a registry.
  ({ parameters, ...definition }) as unknown as Filter

export const anything: Parameter<Json> = { read: value => value }

export const text: Parameter<string> = { read: textOf }

/**
 * The format of a date. One in the data may be as long as one in an expression: each of its fields takes as much work as some
 * twenty characters do.
 */
export const formatText: Parameter<string> = {
  read: (value, run) => {
    const read = textOf(value, run)
    if (read.length > limits.expressionCharactersMax) throw new ExpressionError(tooMuchWork)
    return read
  },
}

/** A number, or text that holds one. */
export const number: Parameter<number> = {
  read: (value, run) => {
    if (value === null) throw new ExpressionError('a number is needed')
    return numberOf(value, run)
  },
}

export const integer: Parameter<number> = {
  read: (value, run) => {
    const read = number.read(value, run)
    if (!Number.isSafeInteger(read)) throw new ExpressionError('a whole number is needed')
    return read
  },
}

/** How many: a whole number from 0. */
export const count: Parameter<number> = {
  read: (value, run) => {
    const read = integer.read(value, run)
    if (read < 0) throw new ExpressionError('a whole number from 0 is needed')
    return read
  },
}

/** true or false, also as text: C22 writes `card_mask: "true","true"`. */
export const flag: Parameter<boolean> = {
  read: value => {
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw new ExpressionError('true or false is needed')
  },
}

/** Exactly one character: with none, or with several, a mask would no longer have the length of its value. */
export const character: Parameter<string> = {
  read: (value, run) => {
    const read = textOf(value, run)
    if (countCharacters(read) !== 1) throw new ExpressionError('a single character is needed')
    return read
  },
}

export const optional = <T>(parameter: Parameter<T>, fallback: T): Parameter<T> => ({
  ...parameter,
  fallback: { value: fallback },
})
