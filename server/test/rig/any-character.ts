import { fc } from './properties.ts'

const surrogatesStart = 0xd800
const surrogatesCount = 0x800

/**
 * fast-check's `binary`: any code point except a surrogate. To recognize characters, fast-check builds a table of all
 * of them, which takes 0.9 s; here they are computed.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: 0x10ffff - surrogatesCount })
  .map(characterAt, placeOf)

function characterAt(place: number): string {
  return String.fromCodePoint(place < surrogatesStart ? place : place + surrogatesCount)
}

function placeOf(character: unknown): number {
  const code = typeof character === 'string' ? character.codePointAt(0) : undefined
  const place = code === undefined || code < surrogatesStart ? code : code - surrogatesCount
  if (place === undefined || characterAt(place) !== character) throw new Error('not a character')
  return place
}
