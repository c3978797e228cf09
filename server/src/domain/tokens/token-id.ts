import { limits } from '../limits.ts'
import { countCharacters } from '../text/characters.ts'
import type { Instant } from '../time/instant.ts'

/** Characters that would need care in a path, a query or a log line: C8's list, control characters, lone surrogates. */
const forbidden = /[#/\\+?[\]|&=%<>{}^\p{Cc}\p{Cs}\u2028\u2029]/u

const rule =
  `must have ${limits.idCharactersMin} to ${limits.idCharactersMax} characters, ` +
  'and none of # / \\ + ? [ ] | & = % < > { } ^ or control characters'

/** What is wrong with a token's id (C8), or undefined. The minimum of three characters also rules out `.` and `..`. */
export const tokenIdFault = (id: string): string | undefined => {
  const characters = countCharacters(id)
  const fits = characters >= limits.idCharactersMin && characters <= limits.idCharactersMax
  return fits && !forbidden.test(id) ? undefined : rule
}

/** The form of the ids that the vault makes itself (C16): UUIDv7, which begins with the milliseconds of its making. */
const ownForm = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

export const hasOwnForm = (id: string): boolean => ownForm.test(id)

/**
 * How far the time in an id may differ from the time of its token. Ids count on when many are made in one millisecond, or when the clock
 * is set back a little (crypto/uuid.ts).
 */
export const ownIdToleranceMs = 60_000

/** The first characters of the vault's own ids that are made at this moment. */
export const startOfOwnIds = (moment: Instant): string => {
  const digits = moment.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}
