import { digitAt } from '../../text/digits.ts'
import type { RandomBelow } from '../budget.ts'
import { isDigit, isSeparator } from '../character-classes.ts'
import { ExpressionError } from '../expression-error.ts'

export const digits = '0123456789'
const eachDigit = [...digits].map(Number)

/** One with an alphabet was drawn from it; the others are kept. */
export type AliasCharacter = { readonly character: string; readonly alphabet?: string }

const cardDigitsMin = 12
const cardDigitsMax = 19

/**
 * What a search for look-alikes costs, in steps for each character. The worst text is one of single digits with blanks between
 * them, each of which belongs to 124 runs: 400 characters of it take a third of a millisecond.
 */
export const lookAlikeSteps = 500

/**
 * Makes sure that nothing in an alias can be taken for a real card number: every candidate fails Luhn (C21). From left to right, each
 * drawn digit settles the runs of which it is the last drawn one. Each of these passes with exactly one digit in this place. If one
 * passes, the digit is redrawn from those with which all of them fail: of a single number, all failing ones stay equally likely.
 *
 * There is such a digit wherever a group ends with a drawn one, since at most eight runs end there. If it has to settle those that
 * end in kept groups after it, too, there may be none. Then a look-alike is left, and the alias must be drawn again.
 */
export const breakLuhn = (alias: readonly AliasCharacter[], random: RandomBelow): string => {
  requireBreakable(alias)
  const broken = alias.map(({ character }) => character)
  for (const stretch of stretches(alias))
    for (const [index, drawn] of stretch.entries()) {
      if (!drawn.isDrawn) continue
      const runs = runsSettledBy(stretch, index)
      if (!runs.some(passesLuhn)) continue
      const passing = runs.map(run => passingDigit(stretch, run, index))
      const failing = eachDigit.filter(digit => !passing.includes(digit))
      if (failing.length === 0) continue
      drawn.digit = failing[random(failing.length)] ?? 0
      broken[drawn.place] = String(drawn.digit)
    }
  return broken.join('')
}

/** Whether something in the text can be taken for a card number, such as an alias with a digit put before it. */
export const holdsLookAlike = (text: string): boolean =>
  stretches([...text].map(character => ({ character }))).some(stretch =>
    stretch.some((_, index) => runsTo(stretch, index).some(passesLuhn)),
  )

/**
 * Refuses kept digits that are a look-alike by themselves. Where a letter can be drawn next to them, it is taken to be one, so that
 * chance does not decide what is refused.
 */
const requireBreakable = (alias: readonly AliasCharacter[]): void => {
  const worst = alias.map(drawn => ((drawn.alphabet ?? digits) === digits ? drawn : { character: 'x' }))
  for (const stretch of stretches(worst)) {
    let keptFrom = 0
    for (const [index, { isDrawn }] of stretch.entries())
      if (isDrawn) keptFrom = index + 1
      else if (runsTo(stretch, index).some(run => run.start >= keptFrom && passesLuhn(run)))
        throw new ExpressionError('an alias must not hold a card number')
  }
}

/** Digits with no more than separators between them. */
type Stretch = PlacedDigit[]
type PlacedDigit = {
  digit: number
  /** Where in the text it is. */
  readonly place: number
  readonly isDrawn: boolean
  readonly startsGroup: boolean
}

const stretches = (characters: readonly AliasCharacter[]): Stretch[] => {
  const found: Stretch[] = []
  let stretch: Stretch | undefined
  let isInGroup = false
  for (const [place, { character, alphabet }] of characters.entries()) {
    const startsGroup = !isInGroup
    isInGroup = isDigit(character)
    if (isInGroup) {
      if (stretch === undefined) {
        stretch = []
        found.push(stretch)
      }
      stretch.push({ digit: digitAt(character, 0), place, isDrawn: alphabet !== undefined, startsGroup })
    } else if (!isSeparator(character)) stretch = undefined
  }
  return found
}

/** 12 to 19 digits of a stretch in one group or in several adjacent ones, as people group them. */
type CardRun = { readonly start: number; readonly last: number; readonly luhnSum: number }

const passesLuhn = ({ luhnSum }: CardRun): boolean => luhnSum % 10 === 0

/** The runs whose last digit this is. */
const runsTo = (stretch: Stretch, last: number): CardRun[] => {
  const runs: CardRun[] = []
  if (stretch[last + 1]?.startsGroup === false) return runs
  let luhnSum = 0
  for (let start = last; start >= 0 && last - start < cardDigitsMax; start--) {
    const placed = stretch[start]
    if (placed === undefined) break
    luhnSum += added(placed.digit, last - start)
    if (placed.startsGroup && last - start + 1 >= cardDigitsMin) runs.push({ start, last, luhnSum })
  }
  return runs
}

/** The runs of which this is the last digit that was drawn. */
const runsSettledBy = (stretch: Stretch, drawn: number): CardRun[] => {
  const runs: CardRun[] = []
  for (let last = drawn; last < stretch.length; last++) {
    if (last > drawn && stretch[last]?.isDrawn) break
    for (const run of runsTo(stretch, last)) if (run.start <= drawn) runs.push(run)
  }
  return runs
}

/** What a digit adds to Luhn's sum where it counts double. */
const doubled = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]

const added = (digit: number, digitsAfter: number): number =>
  digitsAfter % 2 === 0 ? digit : (doubled[digit] ?? 0)

/** The digit that makes the run pass Luhn if it stands at this index. */
const passingDigit = (stretch: Stretch, { last, luhnSum }: CardRun, index: number): number => {
  const others = luhnSum - added(stretch[index]?.digit ?? 0, last - index)
  return eachDigit.findIndex(digit => (others + added(digit, last - index)) % 10 === 0)
}
