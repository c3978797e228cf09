import type { Issue } from '../../errors.ts'
import type { Json, JsonObject } from '../../json/json.ts'

/**
 * Validates and normalises; pushes issues at places under `place` and then returns undefined. Never puts a
 * value in a message. `sent` is what the caller sent, where it is not the data itself: positions are those in there, so that
 * they tell nothing about data that was merged with it (C13).
 */
export type Parse = (data: Json, place: string, issues: Issue[], sent?: Json) => Json | undefined

/** How `data`, or a field of it, must look: to the vault, and as JSON Schema to whoever reads the documentation. */
export type Form = {
  readonly parse: Parse
  /** Accepts all that `parse` accepts; checksums are in its description alone. */
  readonly schema: JsonObject
}

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
  /** Fields of `data` that live for a while only, each kept apart from the rest (C11). */
  readonly transient: Readonly<Record<string, { readonly lifetimeMs: number }>>
  /** The numbers that must not appear inside a token's id (C16), as digits alone. */
  readonly numbers: (data: Json) => readonly string[]
  /** C13 bounds what a mask may render of this number; only card types have it. */
  readonly cardNumber?: CardNumber
}

/** Where data holds a card number, so that a mask can be tried on others. */
export type CardNumber = {
  /** Undefined where the data holds none. */
  readonly read: (data: Json) => string | undefined
  /** The same data around another number. */
  readonly replace: (data: Json, number: string) => Json
  /** Data around this number with every field that an expression can name. */
  readonly example: (number: string) => Json
}

/** C9: the fingerprint expression of a type that has no other. */
export const wholeDataExpression = '{{ data | stringify }}'
