import { type ExactNumber, exactNumber, getOwn, isExactNumber, type Json } from './json.ts'

/** The value of a JSON number. A number that no double holds stays exact (C7). */
export const numberFrom = (source: string): number | ExactNumber => {
  const double = Number(source)
  return doubleHolds(source, double) ? double : exactNumber(source)
}

/** True if the double, written out again, is the number that was sent. */
const doubleHolds = (source: string, double: number): boolean =>
  source === String(double) ||
  isShortAndOrdinary(source, double) ||
  (Number.isFinite(double) &&
    !isWrittenInFull(source, double) &&
    canonicalDecimal(source) === canonicalDecimal(String(double)))

const wholeNumber = /^-?[1-9]\d*$/

/** JavaScript writes whole doubles below 10^21 with all their digits, so each has one text. A megabyte may hold 45,000 such numbers. */
const isWrittenInFull = (source: string, double: number): boolean =>
  Math.abs(double) < 1e21 && wholeNumber.test(source)

/** Up to 15 digits survive a double, as long as the number is neither huge nor tiny. */
const isShortAndOrdinary = (source: string, double: number): boolean =>
  source.length <= 15 && Math.abs(double) > 1e-290 && Math.abs(double) < 1e290

const exponentDigitsMax = 1_000

/** One text per number: sign, digits without leading or trailing zeros, decimal exponent. */
export const canonicalDecimal = (text: string): string => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const kept = trimZeros(digits)
  if (kept === '') return '0'
  const power = exponent.replace(/^([+-]?)0+(?=\d)/, '$1')
  const shift = digits.length - kept.length - fraction.length
  // An exponent of a million digits is legal JSON; arithmetic on it would cost seconds.
  if (power.length > exponentDigitsMax) return `${sign}${kept}e${power.replace('+', '')}+${shift}`
  return `${sign}${kept}e${BigInt(power) + BigInt(shift)}`
}

const zerosMax = 1_000

/**
 * A number in plain digits, however it was spelled: the text that filters work on. One that would take too many zeros keeps an
 * exponent.
 */
export const plainDecimal = (value: number | ExactNumber): string => {
  const text = isExactNumber(value) ? value.rawJSON : String(value)
  // JavaScript writes doubles in plain digits, unless they are huge or tiny.
  if (typeof value === 'number' && !text.includes('e')) return text
  const canonical = canonicalDecimal(text)
  const [, sign = '', digits = '', power = ''] = /^(-?)(\d+)e(-?\d+)$/.exec(canonical) ?? []
  const shift = Number(power)
  const point = digits.length + shift
  if (digits === '' || shift > zerosMax || point < -zerosMax) return canonical
  if (shift >= 0) return `${sign}${digits}${'0'.repeat(shift)}`
  return point > 0
    ? `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
    : `${sign}0.${'0'.repeat(-point)}${digits}`
}

// Not /0+$/: that expression is quadratic on a long run of zeros inside a number.
const trimZeros = (digits: string): string => {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end--
  return digits.slice(0, end)
}

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
