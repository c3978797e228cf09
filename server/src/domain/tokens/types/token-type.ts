import type { Json } from '../../json/json.ts'
import type { Form } from '../forms/form.ts'

/** What the vault knows about a type of token (C9). Shared code reads this and never asks for the name. */
export type TokenType = Form & {
  readonly name: string
  /** Where its tokens live unless the caller names containers. */
  readonly container: string
  /** Data that works, for the documentation. */
  readonly example: Json
  /** The default mask; strings in it are expressions. */
  readonly mask?: Json
  /** The default fingerprint expression. */
  readonly fingerprint: string
  readonly searchIndexes?: readonly string[]
  /** Fields of `data` that live only for a while, each kept apart from the rest (C11). */
  readonly transient: Readonly<Record<string, { readonly lifetimeMs: number }>>
  /** The numbers that must not appear inside a token's id (C16), as digits alone. */
  readonly numbers: (data: Json) => readonly string[]
  /** C13 bounds what a mask may render of this number; only card types have it. */
  readonly cardNumber?: CardNumber
}

/** Where data holds a card number, so that a mask can be tried on other numbers. */
export type CardNumber = {
  /** Where it is in the data. */
  readonly path: readonly string[]
  /** Undefined if the data holds none. */
  readonly read: (data: Json) => string | undefined
  /** The same data around another number. */
  readonly replace: (data: Json, number: string) => Json
  /** Data around this number with every field that an expression can name. */
  readonly example: (number: string) => Json
}

/** C9: the fingerprint expression of a type that has no other. */
export const wholeDataExpression = '{{ data | stringify }}'
