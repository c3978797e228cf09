import type { Issue } from '../../errors.ts'
import type { Json, JsonObject } from '../../json/json.ts'
import { isDigits } from '../../text/digits.ts'

/**
 * Validates and normalises. On a fault it pushes issues at places under `place` and returns undefined; no message holds
 * a value. `sent` is what the caller sent, if that is not the data itself: positions refer to it, so that they tell
 * nothing about the data it was merged with (C13).
 */
export type Parse = (data: Json, place: string, issues: Issue[], sent?: Json) => Json | undefined

/** The form that `data`, or a field of it, must have: for the vault, and as JSON Schema for the documentation. */
export type Form = {
  readonly parse: Parse
  /** Accepts all that `parse` accepts; checksums appear only in its description. */
  readonly schema: JsonObject
}

/** A rule and its message. The texts are constant, so that no value can get into one. */
export type TextRule = { readonly message: string } & (
  | { readonly pattern: string }
  | { readonly accepts: (text: string) => boolean }
)

/**
 * A string that keeps all of the rules; the issue names the first one that it breaks. A JSON number breaks the first:
 * it would have lost its leading zeros.
 */
export const text = (description: string, ...rules: readonly TextRule[]): Form => {
  const checks = rules.map(rule => {
    if ('accepts' in rule) return rule
    const pattern = new RegExp(rule.pattern)
    return { message: rule.message, accepts: (text: string) => pattern.test(text) }
  })
  const patterns = rules.flatMap(rule => ('pattern' in rule ? [rule.pattern] : []))
  return {
    parse: (data, place, issues) => {
      const broken = checks.find(rule => typeof data !== 'string' || !rule.accepts(data))
      if (broken === undefined) return data
      issues.push({ path: place, message: broken.message })
      return undefined
    },
    schema: { type: 'string', description, ...(patterns[0] !== undefined && { pattern: patterns[0] }) },
  }
}

/** An integer from `min` to `max`, or its digits as a string (C10), which becomes the integer. */
export const integer = (range: {
  min: number
  max: number
  digitsMin: number
  digitsMax: number
  description: string
  message: string
}): Form => ({
  parse: (data, place, issues) => {
    const number = toInteger(data, range.digitsMin, range.digitsMax)
    if (number !== undefined && number >= range.min && number <= range.max) return number
    issues.push({ path: place, message: range.message })
    return undefined
  },
  schema: {
    type: ['integer', 'string'],
    description: range.description,
    minimum: range.min,
    maximum: range.max,
    pattern: `^[0-9]{${range.digitsMin},${range.digitsMax}}$`,
  },
})

const toInteger = (data: Json, digitsMin: number, digitsMax: number): number | undefined => {
  if (typeof data === 'string') return isDigits(data, digitsMin, digitsMax) ? Number(data) : undefined
  return typeof data === 'number' && Number.isInteger(data) ? data : undefined
}
