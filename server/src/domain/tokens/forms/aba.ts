import { digitAt } from '../../text/digits.ts'

const weights = [3, 7, 1, 3, 7, 1, 3, 7, 1]

/** The checksum of an ABA routing number (§2.2): the digits, weighted by 3, 7 and 1, add up to a multiple of ten. */
export const passesAba = (nineDigits: string): boolean =>
  weights.reduce((sum, weight, index) => sum + weight * digitAt(nineDigits, index), 0) % 10 === 0
