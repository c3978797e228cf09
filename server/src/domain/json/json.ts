/**
 * JSON as the vault keeps it (C7): a number that a double cannot hold is an ExactNumber, the engine's own raw JSON
 * value, which `JSON.stringify` writes back as it was sent.
 */
export type ExactNumber = { readonly rawJSON: string }
export type JsonObject = { [key: string]: Json }
export type Json = null | boolean | number | string | ExactNumber | Json[] | JsonObject

// The standard library's types do not know raw JSON yet.
type RawJson = { rawJSON(text: string): ExactNumber; isRawJSON(value: unknown): value is ExactNumber }
const raw = JSON as unknown as RawJson

export const isExactNumber = (value: unknown): value is ExactNumber => raw.isRawJSON(value)
export const exactNumber = (text: string): ExactNumber => raw.rawJSON(text)

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)

/** Sets an own property whatever its name: plain assignment of "__proto__" would set the prototype. */
export const setOwn = (target: JsonObject, key: string, value: Json): void => {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
  else target[key] = value
}

/** Reads an own property; inherited names such as "constructor" are not data. */
export const getOwn = (target: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(target, key) ? target[key] : undefined

/** The keys as sent, for objects whose keys JavaScript reorders: it puts whole numbers first, in ascending order. */
const sentOrders = new WeakMap<JsonObject, readonly string[]>()

export const rememberOrder = (object: JsonObject, keys: readonly string[]): void => {
  sentOrders.set(object, keys)
}

/** For error places that are given by position (C2). The order of keys is not part of the value (C7). */
export const keysAsSent = (object: JsonObject): readonly string[] =>
  sentOrders.get(object) ?? Object.keys(object)

export type JsonType = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object'

export const jsonType = (value: Json): JsonType => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (isExactNumber(value)) return 'number'
  return typeof value as JsonType
}

/** Compact JSON text; exact numbers as they were sent, lone surrogates escaped. */
export const stringify = (value: Json): string => JSON.stringify(value)

/** True if the double, written out again, is the number that was sent. */
export const doubleHolds = (source: string, double: number): boolean =>
  source === String(double) ||
  isShortAndOrdinary(source, double) ||
  (Number.isFinite(double) && canonicalDecimal(source) === canonicalDecimal(String(double)))

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
 * An exact number in plain digits, however it was spelled: the text that filters work on. One that would take too many zeros keeps
 * an exponent.
 */
export const plainDecimal = (text: string): string => {
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
