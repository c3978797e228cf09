import type { Json } from '../json/json.ts'

/** A step into a value: a property name, or an array index that counts from the end when negative. */
export type Segment = string | number

/** What the parser makes of an expression's text. Positions are UTF-16 offsets. */
export type Literal = { readonly kind: 'literal'; readonly value: Json; readonly position: number }
export type Path = {
  readonly kind: 'path'
  readonly root: string
  readonly segments: readonly Segment[]
  readonly position: number
}
/** A value of the proxy's configuration (U12). */
export type Config = { readonly kind: 'config'; readonly key: string; readonly position: number }
export type Operand = Literal | Path | Config
export type FilterCall = {
  readonly name: string
  readonly arguments: readonly Operand[]
  readonly position: number
}
export type Output = { readonly source: Operand; readonly filters: readonly FilterCall[] }

/** Literal text and outputs, in order; no literal text is empty. */
export type Template = readonly (string | Output)[]
