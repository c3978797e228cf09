/** ASCII digits only, `min` to `max` of them: other scripts have digits that no checksum knows. */
export const isDigits = (text: string, min: number, max: number): boolean =>
  text.length >= min && text.length <= max && /^[0-9]+$/.test(text)

export const digitAt = (digits: string, index: number): number => digits.charCodeAt(index) - 48

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

const weights = [3, 7, 1, 3, 7, 1, 3, 7, 1]

/** The checksum of an ABA routing number (§2.2): the digits, weighted by 3, 7 and 1, add up to a multiple of ten. */
export const passesAba = (nineDigits: string): boolean =>
  weights.reduce((sum, weight, index) => sum + weight * digitAt(nineDigits, index), 0) % 10 === 0
