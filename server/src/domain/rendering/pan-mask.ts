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

/** The same in every text, number and key of a value. A number that is masked becomes a text. */
export const maskNumbersIn = (value: Json): Json => {
  if (typeof value === 'string') return maskNumbers(value)
  if (typeof value === 'number' || isExactNumber(value)) {
    const spelled = isExactNumber(value) ? value.rawJSON : String(value)
    const masked = maskNumbers(spelled)
    return masked === spelled ? value : masked
  }
  if (Array.isArray(value)) return value.map(maskNumbersIn)
  if (typeof value !== 'object' || value === null) return value
  const masked: JsonObject = {}
  for (const [key, member] of Object.entries(value)) setOwn(masked, maskNumbers(key), maskNumbersIn(member))
  return masked
}
