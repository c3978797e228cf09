import { limits } from '../limits.ts'
import { hasOwnForm, ownIdToleranceMs, timeOfOwnId } from '../own-id.ts'
import { countCharacters } from '../text/characters.ts'
import type { Instant } from '../time/instant.ts'

/** Characters that would need care in a path, a query or a log line: C8's list, control characters, lone surrogates. */
const forbidden = /[#/\\+?[\]|&=%<>{}^\p{Cc}\p{Cs}\u2028\u2029]/u

const rule =
  `must have ${limits.idCharactersMin} to ${limits.idCharactersMax} characters, ` +
  'and none of # / \\ + ? [ ] | & = % < > { } ^ or control characters'

const separators = /[^\p{L}\p{N}]/gu
/** Shorter numbers, read across separators, would turn up in many ids by chance. */
const digitsReadAcross = 8

/** Those that are too long to be in an id by chance. */
export const longNumbers = (numbers: readonly string[]): string[] =>
  numbers.filter(number => number.length >= digitsReadAcross)

/** Whether the id contains one of the numbers, even in groups (C16). */
export const containsNumber = (id: string, numbers: readonly string[]): boolean =>
  numbers.some(
    number =>
      id.includes(number) ||
      (number.length >= digitsReadAcross && id.replace(separators, '').includes(number)),
  )

/** The same, but only for an id that a caller chose: one that the vault made may contain a number by chance. */
export const givesAway = (token: { id: string; createdAt: Instant }, numbers: readonly string[]): boolean =>
  !isMade(token) && containsNumber(token.id, numbers)

/** Whether the vault can have made the id: such an id starts with the time at which the token was made. */
const isMade = ({ id, createdAt }: { id: string; createdAt: Instant }): boolean =>
  hasOwnForm(id) && Math.abs(timeOfOwnId(id) - createdAt) <= ownIdToleranceMs

/** What is wrong with a token's id (C8), or undefined. The minimum of three characters also rules out `.` and `..`. */
export const tokenIdFault = (id: string): string | undefined => {
  const characters = countCharacters(id)
  const fits = characters >= limits.idCharactersMin && characters <= limits.idCharactersMax
  return fits && !forbidden.test(id) ? undefined : rule
}
