import { limits } from '../limits.ts'
import { countCharacters } from '../text/characters.ts'

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
