import type { Json } from '../../json/json.ts'
import { isDigits } from '../../text/digits.ts'
import type { Form } from './form.ts'

/** An integer from `min` to `max`, or its digits as a string (C10), which becomes the integer. */
export const integer = (range: {
  min: number
  max: number
  digitsMin: number
  digitsMax: number
  description: string
  message: string
}): Form => ({
  parse: (data, place, issues) => {
    const number = toInteger(data, range.digitsMin, range.digitsMax)
    if (number !== undefined && number >= range.min && number <= range.max) return number
    issues.push({ path: place, message: range.message })
    return undefined
  },
  schema: {
    type: ['integer', 'string'],
    description: range.description,
    minimum: range.min,
    maximum: range.max,
    pattern: `^[0-9]{${range.digitsMin},${range.digitsMax}}$`,
  },
})

const toInteger = (data: Json, digitsMin: number, digitsMax: number): number | undefined => {
  if (typeof data === 'string') return isDigits(data, digitsMin, digitsMax) ? Number(data) : undefined
  return typeof data === 'number' && Number.isInteger(data) ? data : undefined
}
