import type { Json } from '../../json/json.ts'
import type { Segment } from '../path.ts'
import type { Run } from '../run.ts'

/**
 * One argument of a filter. `read` checks and converts it: a literal once, when the expression is compiled, a path at
 * every rendering. It throws ExpressionError.
 */
export type Parameter<T> = {
  readonly read: (value: Json, run: Run) => T
  /** Stands in for an argument that is left out or null; without it the argument is required. */
  readonly fallback?: { readonly value: T }
  /** Refuses paths, where the compiler must know the argument. */
  readonly isLiteralOnly?: boolean
}

type Values<Parameters extends readonly Parameter<unknown>[]> = {
  [Index in keyof Parameters]: Parameters[Index] extends Parameter<infer T> ? T : never
}

type Definition<Arguments extends readonly unknown[]> = {
  apply(input: Json, run: Run, ...values: Arguments): Json
  /** The properties of the input that the arguments name; they count among the expression's paths. */
  readonly names?: (...values: Arguments) => readonly Segment[]
  /** The result is what stands under these names, so that later names start there. */
  readonly isSelection?: boolean
  /** Makes up a random value: only for ids (C21). */
  readonly isAlias?: boolean
  /** Each character of the input is still in the result, if perhaps in the other case: it may follow an alias (C21). */
  readonly keepsCharacters?: boolean
  /**
   * Shows each thing that it reads as it is, and chooses nothing by what another one holds: whoever changes one of them
   * cannot steer it to show more of the others (C13).
   */
  readonly showsWhole?: boolean
  /** At the end of an output: a fingerprint counts the JSON type of the input, not of the text made of it (C14). */
  readonly keepsInputType?: boolean
}

/** A filter as the compiler sees it; the registry gives it its name. */
export type Filter = { readonly parameters: readonly Parameter<unknown>[] } & Definition<readonly unknown[]>

/** Declares a filter: its parameters give `apply` the types of its arguments. */
export const filter = <const Parameters extends readonly Parameter<unknown>[]>(
  parameters: Parameters,
  definition: Definition<Values<Parameters>>,
): Filter =>
  // The compiler calls `apply` with what these very parameters read; the type of that link is lost in a registry.
  ({ parameters, ...definition }) as unknown as Filter
