import { digitAt } from './digits.ts'

/** ISO/IEC 7812-1: from the right, every second digit counts double, and the digits of the doubled value are added. */
export const passesLuhn = (digits: string): boolean => {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = digitAt(digits, index)
    const isDoubled = (digits.length - index) % 2 === 0
    sum += isDoubled ? digit * 2 - (digit > 4 ? 9 : 0) : digit
  }
  return sum % 10 === 0
}
