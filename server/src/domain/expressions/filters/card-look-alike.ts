import { passesLuhn } from '../../token-types/luhn.ts'
import { isDigit } from '../characters.ts'
import { ExpressionError } from '../expression-error.ts'
import type { RandomBelow } from '../run.ts'

export type AliasCharacter = { readonly character: string; readonly isRandom: boolean }

const cardDigitsMin = 12
const cardDigitsMax = 19

/**
 * Makes sure that nothing in an alias can be taken for a real card number: every run of 12 to 19 digits,
 * blanks and hyphens between them left aside, fails Luhn (C21). Where one passes, one random digit gets
 * another value, drawn from the nine that are left: any other digit in its place breaks the sum, and all
 * failing numbers stay equally likely.
 */
export const breakLuhn = (
  alias: readonly AliasCharacter[],
  random: RandomBelow,
): readonly AliasCharacter[] => {
  const broken = [...alias]
  for (const run of lookAlikes(alias.map(({ character }) => character))) {
    const changed = run.find(index => alias[index]?.isRandom)
    if (changed === undefined) throw new ExpressionError('an alias must not hold a card number')
    const digit = (Number(alias[changed]?.character) + 1 + random(9)) % 10
    broken[changed] = { character: String(digit), isRandom: true }
  }
  return broken
}

/** Whether something in the text can be taken for a card number, such as an alias with a digit put before it. */
export const holdsLookAlike = (text: string): boolean => lookAlikes([...text]).length > 0

/** Where the digits of each run stand that can be taken for a card number. */
const lookAlikes = (characters: readonly string[]): number[][] =>
  digitRuns(characters).filter(
    run =>
      run.length >= cardDigitsMin &&
      run.length <= cardDigitsMax &&
      passesLuhn(run.map(index => characters[index] ?? '').join('')),
  )

/** Indexes of digits that belong together. */
const digitRuns = (characters: readonly string[]): number[][] => {
  const runs: number[][] = []
  let run: number[] = []
  characters.forEach((character, index) => {
    if (isDigit(character)) run.push(index)
    else if (character !== ' ' && character !== '-') {
      runs.push(run)
      run = []
    }
  })
  return [...runs, run]
}
