import { isExactNumber, type Json, type JsonObject, setOwn } from '../json/json.ts'
import { passesLuhn } from '../text/digits.ts'

const digitsMin = 12
const digitsMax = 19
const shownDigits = 4

/** Every maximal run of 12 to 19 digits that passes Luhn, with all but its last four digits hidden (U19). */
export const maskNumbers = (text: string): string =>
  text.replace(/\d{12,}/g, run =>
    run.length >= digitsMin && run.length <= digitsMax && passesLuhn(run)
      ? 'X'.repeat(run.length - shownDigits) + run.slice(-shownDigits)
      : run,
  )

const pauseMembers = 256

/**
 * The same in every text, number and key of a value. A number that is masked becomes a text. Yields now and then: a value may be large.
 */
export function* maskNumbersIn(value: Json): Generator<void, Json> {
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return maskLeaf(value)
  const members = Object.entries(value)
  const masked: Json[] | JsonObject = Array.isArray(value) ? [] : {}
  for (const [at, [key, member]] of members.entries()) {
    if (at % pauseMembers === 0) yield
    const isLeaf = typeof member !== 'object' || member === null || isExactNumber(member)
    const shown = isLeaf ? maskLeaf(member) : yield* maskNumbersIn(member)
    if (Array.isArray(masked)) masked.push(shown)
    else setOwn(masked, maskNumbers(key), shown)
  }
  return masked
}

const maskLeaf = (value: Json): Json => {
  if (typeof value === 'string') return maskNumbers(value)
  if (typeof value !== 'number' && !isExactNumber(value)) return value
  const spelled = isExactNumber(value) ? value.rawJSON : String(value)
  const masked = maskNumbers(spelled)
  return masked === spelled ? value : masked
}
