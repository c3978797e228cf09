import { canonicalText, plainDecimal } from '../json/canonical-text.ts'
import { type ExactNumber, isExactNumber, type Json, stringify } from '../json/json.ts'
import { hasSurrogates } from '../text/characters.ts'
import { type Budget, prices, type Run } from './budget.ts'
import { ExpressionError } from './expression-error.ts'
import { scalarSize, walk } from './size.ts'

/**
 * A value as text, paid for. Objects and arrays are compact JSON: Liquid would run the elements of an array
 * together, and ["1","23"] must not fingerprint like ["12","3"]. The spelling of a number is not part of a value, nor is the order
 * of keys (C7): a number is its digits, and for fingerprints the JSON is canonical (C14), which writes some doubles with
 * an exponent.
 */
export const textOf = (value: Json, run: Run): string => {
  if (typeof value === 'string') {
    run.budget.charge(value.length * prices.copiedCharacter)
    return value
  }
  if (value === null) return ''
  if (typeof value === 'number' || isExactNumber(value))
    return run.use === 'fingerprint' && typeof value === 'number'
      ? canonicalNumber(value, run)
      : digitsOf(value, run)
  const isCanonical = run.use === 'fingerprint'
  payForWriting(value, isCanonical, run.budget)
  return isCanonical ? canonicalText(value) : stringify(value)
}

const payForWriting = (value: Json, isCanonical: boolean, budget: Budget): void => {
  const perValue = isCanonical ? prices.canonicalValue : prices.writtenValue
  const perCharacter = isCanonical ? prices.canonicalCharacter : prices.writtenCharacter
  budget.charge(prices.writing)
  walk(value, (characters, values) => budget.charge(characters * perCharacter + values * perValue))
}

const canonicalNumber = (value: number, run: Run): string => {
  run.budget.charge(prices.numberText)
  return canonicalText(value)
}

const isSpelled = (value: number | ExactNumber): boolean =>
  isExactNumber(value) || Math.abs(value) >= 1e21 || (value !== 0 && Math.abs(value) < 1e-6)

const digitsOf = (value: number | ExactNumber, run: Run): string => {
  run.budget.charge(
    isSpelled(value) ? prices.numberInDigits + scalarSize(value) * prices.cutCharacter : prices.numberText,
  )
  return plainDecimal(value)
}

/** The text of a value that has characters a user would count: text or a number. */
export const scalarText = (value: Json, run: Run): string => {
  if (typeof value !== 'string' && typeof value !== 'number' && !isExactNumber(value))
    throw new ExpressionError('text or a number is needed')
  return textOf(value, run)
}

/** Pays for counting characters, which takes longer where some of them are two units. */
export const payToCount = (text: string, { budget }: Run): void =>
  budget.charge(text.length * (hasSurrogates(text) ? prices.walkedCharacter : 4 * prices.copiedCharacter))

/** A list for the array filters, as Liquid makes one: null is empty, any other value is its only element. */
export const listOf = (value: Json, run: Run): readonly Json[] => {
  const list = Array.isArray(value) ? value : value === null ? [] : [value]
  run.budget.charge(list.length * prices.element)
  return list
}

/** Pays for a value that leaves the expression. */
export const payForOutput = (value: Json, budget: Budget): void =>
  walk(value, (characters, values) => {
    budget.charge(characters * prices.shownCharacter + values * prices.shownValue)
    budget.chargeOutput(characters)
  })

/** What an expression has rendered, as text; nothing if it rendered null. */
export const renderedText = (rendered: Json): string => {
  if (rendered === null) return ''
  if (typeof rendered === 'number' || isExactNumber(rendered)) return plainDecimal(rendered)
  return typeof rendered === 'string' ? rendered : stringify(rendered)
}
