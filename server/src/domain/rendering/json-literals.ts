import { isJsonObject, type Json } from '../json/json.ts'
import { chosenKey, element } from '../place.ts'
import { holdsExpression } from './template.ts'

/** A string of a JSON text in which there are braces: the offsets of its quotes, and what it says if it holds expressions. */
export type JsonLiteral = {
  readonly start: number
  readonly end: number
  /** Undefined for a key, and for a text without expressions. */
  readonly decoded: string | undefined
}

/**
 * The strings of a JSON text that may hold expressions, in order. The text is valid JSON, in which two braces can only stand next to
 * each other within a string: so whatever else a large body holds costs a scan and nothing more. Those that turn out to hold none are
 * told too, as there may be so many of them that whoever asks must let others by.
 */
export function* literalsWithBraces(text: string): Generator<JsonLiteral> {
  const braces = new RegExp(bracesWritten)
  for (let hit = braces.exec(text); hit !== null; hit = braces.exec(text)) {
    const start = openingQuote(text, hit.index)
    const end = closingQuote(text, start) + 1
    braces.lastIndex = end
    const decoded = isKey(text, end) ? undefined : unquoted(text.slice(start, end))
    const isTemplate = decoded !== undefined && holdsExpression(decoded)
    yield { start, end, decoded: isTemplate ? decoded : undefined }
  }
}

const unquoted = (json: string): string =>
  json.includes('\\') ? String(JSON.parse(json)) : json.slice(1, -1)

/** Two braces, or one that is written as an escape. */
const bracesWritten = /\{\{|\\u007b/gi

/** The nearest quote before the offset, which is within a string, that is not escaped. */
const openingQuote = (text: string, offset: number): number => {
  let quote = text.lastIndexOf('"', offset)
  while (isEscaped(text, quote)) quote = text.lastIndexOf('"', quote - 1)
  return quote
}

/** The offset of the quote that ends the string which begins here. */
export const closingQuote = (text: string, start: number): number => {
  let quote = text.indexOf('"', start + 1)
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote
}

const isEscaped = (text: string, offset: number): boolean => {
  let backslashes = 0
  while (text[offset - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}

const isKey = (text: string, end: number): boolean => text[skipSpace(text, end)] === ':'

export const skipSpace = (text: string, from: number): number => {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0xa || code === 0xd || code === 0x9

/** The JSON text with the literals replaced by these JSON texts. Every other character stays as it was. */
export const withLiterals = (
  text: string,
  replaced: readonly (Pick<JsonLiteral, 'start' | 'end'> & { readonly json: string })[],
): string => {
  const pieces: string[] = []
  let from = 0
  for (const { start, end, json } of replaced) {
    pieces.push(text.slice(from, start), json)
    from = end
  }
  pieces.push(text.slice(from))
  return pieces.join('')
}

/** A list or an object around a place: how many values come before it, and, in an object, the key that leads on. */
type Level = { index: number; key: string | undefined }

/**
 * The places of values in a JSON text, as errors name them (C2): `cards[3].number`. The offsets are those of strings, in order. Only
 * refusals need places, so nothing else pays for them.
 */
export const placesOf = (text: string, offsets: readonly number[]): string[] => {
  const places: string[] = []
  const levels: Level[] = []
  let next = 0
  for (let at = 0; at < text.length && next < offsets.length; at++) {
    const character = text[at]
    const level = levels.at(-1)
    if (character === '"') {
      const end = closingQuote(text, at)
      if (at === offsets[next]) {
        places.push(placeText(levels))
        next++
      } else if (level?.key !== undefined && isKey(text, end + 1)) level.key = text.slice(at, end + 1)
      at = end
    } else if (character === '{') levels.push({ index: 0, key: '' })
    else if (character === '[') levels.push({ index: 0, key: undefined })
    else if (character === '}' || character === ']') levels.pop()
    else if (character === ',' && level !== undefined) level.index++
  }
  return places
}

/** Deeper ones would be a page long. */
const toldLevels = 64

const placeText = (levels: readonly Level[]): string =>
  levels
    .slice(0, toldLevels)
    .reduce(
      (place, { index, key }) =>
        key === undefined
          ? element(place, index)
          : chosenKey(place, String(JSON.parse(key === '' ? '""' : key)), index + 1),
      '',
    ) || '$'

/** Whether some object of this JSON text has a name twice: then its value, which keeps the last, does not say all that the text does. */
export const hasTwinKeys = (text: string, value: Json): boolean => keysIn(text) !== keysOf(value)

const keysIn = (text: string): number => {
  let keys = 0
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) {
    at = closingQuote(text, at)
    if (isKey(text, at + 1)) keys++
  }
  return keys
}

const keysOf = (value: Json): number => {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + keysOf(item), 0)
  if (!isJsonObject(value)) return 0
  const members = Object.values(value)
  return members.reduce((sum: number, item) => sum + keysOf(item), members.length)
}
