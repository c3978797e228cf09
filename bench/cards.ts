/** Unique card numbers with a valid check digit, derived from a counter so that a run can be repeated. */
const cardNumber = (serial: number): string => {
  const digits = `4${String(serial % 100_000_000_000_000).padStart(14, '0')}`
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    let digit = digits.charCodeAt(digits.length - 1 - i) - 48
    if (i % 2 === 0) digit = digit > 4 ? digit * 2 - 9 : digit * 2
    sum += digit
  }
  return digits + String((10 - (sum % 10)) % 10)
}

export const card = (serial: number) => ({
  type: 'card',
  data: { number: cardNumber(serial), expiration_month: 12, expiration_year: 2030 },
})
