import { passesLuhn } from '../../text/luhn.ts'
import { isDigit, isSeparator } from '../character-classes.ts'
import { ExpressionError } from '../expression-error.ts'
import type { RandomBelow } from '../run.ts'

export type AliasCharacter = { readonly character: string; readonly isRandom: boolean }

const cardDigitsMin = 12
const cardDigitsMax = 19

/** More than needed: after each change, about a tenth of the other runs may still pass. */
const changesMax = 50

/**
 * Makes sure that nothing in an alias can be taken for a real card number: every candidate fails Luhn (C21). If one
 * passes, one of its random digits is redrawn from the nine others: any of them breaks the sum, and all failing numbers
 * stay equally likely. A group of digits can belong to several runs, so the check repeats after each change.
 */
export const breakLuhn = (
  alias: readonly AliasCharacter[],
  random: RandomBelow,
): readonly AliasCharacter[] => {
  const broken = [...alias]
  for (let changes = 0; changes < changesMax; changes++) {
    const [run] = lookAlikes(broken.map(({ character }) => character))
    if (run === undefined) return broken
    const changed = run.find(index => broken[index]?.isRandom)
    if (changed === undefined) break
    const digit = (Number(broken[changed]?.character) + 1 + random(9)) % 10
    broken[changed] = { character: String(digit), isRandom: true }
  }
  throw new ExpressionError('an alias must not hold a card number')
}

/** Whether something in the text can be taken for a card number, such as an alias with a digit put before it. */
export const holdsLookAlike = (text: string): boolean => lookAlikes([...text]).length > 0

/** The positions of the digits of each run that can be taken for a card number. */
const lookAlikes = (characters: readonly string[]): number[][] =>
  cardRuns(characters).filter(run => passesLuhn(run.map(index => characters[index] ?? '').join('')))

/** Indexes of 12 to 19 digits in one group or in several adjacent ones, as people group them. */
const cardRuns = (characters: readonly string[]): number[][] => {
  const groups = digitGroups(characters)
  const runs: number[][] = []
  groups.forEach((_, from) => {
    const run: number[] = []
    for (const group of groups.slice(from, from + cardDigitsMax)) {
      if (group === 'apart' || run.length + group.length > cardDigitsMax) return
      run.push(...group)
      if (run.length >= cardDigitsMin) runs.push([...run])
    }
  })
  return runs
}

/** Indexes of digits with nothing between them; `apart` marks that more than separators lies between two groups. */
const digitGroups = (characters: readonly string[]): (readonly number[] | 'apart')[] => {
  const groups: (number[] | 'apart')[] = []
  let group: number[] | undefined
  characters.forEach((character, index) => {
    if (isDigit(character)) {
      if (group === undefined) {
        group = []
        groups.push(group)
      }
      group.push(index)
    } else {
      group = undefined
      if (!isSeparator(character)) groups.push('apart')
    }
  })
  return groups
}
