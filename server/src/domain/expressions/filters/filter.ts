import type { Json } from '../../json/json.ts'
import type { Segment } from '../path.ts'
import type { Run } from '../run.ts'

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
