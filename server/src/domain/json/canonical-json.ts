import { canonicalDecimal } from './decimal-text.ts'
import { getOwn, isExactNumber, type Json } from './json.ts'

/**
 * One text per JSON value, the input of fingerprints (C14): RFC 8785, plus two cases that it leaves out. A number that
 * a double cannot hold is written as its exact decimal, in a form that no double is written in. A lone surrogate is
 * written as its escape, where the RFC requires an error: C7 keeps strings to the code unit.
 */
export const canonicalText = (value: Json): string => {
  if (isExactNumber(value)) return canonicalDecimal(value.rawJSON)
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  // `sort` orders by UTF-16 code units by default, as the RFC requires.
  const members = Object.keys(value)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonicalText(getOwn(value, key) ?? null)}`)
  return `{${members.join(',')}}`
}
