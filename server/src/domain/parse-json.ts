import { isUtf8 } from 'node:buffer'
import { invalid, type VaultError } from './errors.ts'
import type { Json } from './json.ts'
import { limits } from './limits.ts'
import { parseExactly } from './parse-exactly.ts'

/** The body of a request as JSON (C7). What fails is named by a constant text: V8's own quotes the body. */
export const parseJson = (bytes: Uint8Array): Json => {
  if (bytes.length === 0) throw refusal('the body is empty')
  if (!isUtf8(bytes)) throw refusal('the body is not valid UTF-8')
  const mayExceedDoubles = scan(bytes, limits.jsonDepth)
  // `latin1` for ASCII bodies was measured too: 9 ns of 1,400, not worth a second path.
  const text = asBuffer(bytes).toString('utf8')
  try {
    return mayExceedDoubles ? parseExactly(text) : (JSON.parse(text) as Json)
  } catch {
    throw refusal('the body is not valid JSON')
  }
}

/** What the vault sealed itself: valid JSON, a few levels deeper than the body that it came from. */
export const parseStored = (bytes: Uint8Array): Json => {
  const text = asBuffer(bytes).toString('utf8')
  return scan(bytes, Number.POSITIVE_INFINITY) ? parseExactly(text) : (JSON.parse(text) as Json)
}

const refusal = (message: string): VaultError => invalid({ path: '$', message })

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** A decimal of up to 15 digits comes back from a double as it was, one with 16 or an exponent may not. */
const digitsThatDoublesHold = 15

const quote = 0x22
const backslash = 0x5c
const digit0 = 0x30
const digit9 = 0x39
const point = 0x2e
const lowerE = 0x65
const upperE = 0x45
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * One pass before anything recursive touches the body: refuses what is nested too deeply, and says whether
 * a number may exceed what doubles hold. On text that is not JSON its answer does not matter, as the parser
 * stops where the text goes wrong. An index, not `for of`: that is four times slower on bytes.
 */
const scan = (bytes: Uint8Array, depthMax: number): boolean => {
  let depth = 0
  let digits = 0
  let inString = false
  let escaped = false
  let mayExceedDoubles = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (inString) {
      if (escaped) escaped = false
      else if (byte === backslash) escaped = true
      else if (byte === quote) inString = false
    } else if (byte === quote) {
      inString = true
      digits = 0
    } else if (byte >= digit0 && byte <= digit9) {
      if (++digits > digitsThatDoublesHold) mayExceedDoubles = true
    } else if ((byte === lowerE || byte === upperE) && digits > 0) {
      mayExceedDoubles = true
    } else if (byte !== point) {
      digits = 0
      if (byte === openBracket || byte === openBrace) {
        if (++depth > depthMax) throw refusal(`the body is nested deeper than ${depthMax} levels`)
      } else if (byte === closeBracket || byte === closeBrace) depth--
    }
  }
  return mayExceedDoubles
}
