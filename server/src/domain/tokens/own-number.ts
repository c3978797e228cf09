import type { Issue } from '../errors.ts'
import { getOwn, type JsonObject, keysAsSent } from '../json/json.ts'
import { chosenKey } from '../place.ts'

// C16: an id is stored in the clear, and metadata is shown to every reader of a token. Neither may hold the number that the token hides.

const separators = /[^\p{L}\p{N}]/gu
const blanksDotsAndHyphens = /[\s.\p{Pd}]/gu
/** Shorter numbers, read across all separators, would turn up in many texts by chance. */
const digitsReadAcross = 8

/** The numbers that are too long to be in a text by chance. */
export const longNumbers = (numbers: readonly string[]): string[] =>
  numbers.filter(number => number.length >= digitsReadAcross)

/** Whether the id contains one of the numbers, even in groups. */
export const containsNumber = (id: string, numbers: readonly string[]): boolean =>
  numbers.some(number => id.includes(number)) ||
  longNumbers(numbers).some(number => id.replace(separators, '').includes(number))

/** Looks for the numbers in the values, and for the long ones also in the keys. In a patch, null removes a key. */
export const checkMetadataNumbers = (
  metadata: JsonObject,
  numbers: readonly string[],
  place: string,
  issues: Issue[],
): void => {
  if (numbers.length === 0) return
  for (const [index, key] of keysAsSent(metadata).entries())
    if (entryContains(key, getOwn(metadata, key), numbers))
      issues.push({ path: chosenKey(place, key, index + 1), message: 'must not contain the number itself' })
}

export const entryContains = (key: string, value: unknown, numbers: readonly string[]): boolean =>
  typeof value === 'string' && (containsNumber(key, longNumbers(numbers)) || valueContains(value, numbers))

const valueContains = (value: string, numbers: readonly string[]): boolean => {
  if (!/\d/.test(value)) return false
  const joined = value.replace(blanksDotsAndHyphens, '')
  return numbers.some(number => joined.includes(number)) || containsNumber(value, numbers)
}
