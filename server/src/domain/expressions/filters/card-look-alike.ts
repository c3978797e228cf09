import { passesLuhn } from '../../luhn.ts'
import { isDigit, isSeparator } from '../characters.ts'
import { ExpressionError } from '../expression-error.ts'
import type { RandomBelow } from '../run.ts'

export type AliasCharacter = { readonly character: string; readonly isRandom: boolean }

const cardDigitsMin = 12
const cardDigitsMax = 19

/** More than are needed: each change leaves a tenth of the other runs to pass. */
const changesMax = 50

/**
 * Makes sure that nothing in an alias can be taken for a real card number: it fails Luhn (C21). Where one passes, one
 * random digit gets another value, drawn from the nine that are left: any other digit in its place breaks the sum, and all
 * failing numbers stay equally likely. Groups can belong to several runs, which is why it looks again.
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

/** Where the digits of each run stand that can be taken for a card number. */
const lookAlikes = (characters: readonly string[]): number[][] =>
  cardRuns(characters).filter(run => passesLuhn(run.map(index => characters[index] ?? '').join('')))

/** Indexes of 12 to 19 digits, of one group or of several side by side, as people group them. */
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

/** Indexes of digits without anything between them; `apart` where more than separators stands between two groups. */
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
