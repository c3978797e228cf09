import { type ExactNumber, isExactNumber, type Json } from '../json/json.ts'
import { limits } from '../limits.ts'
import { ExpressionError } from './expression-error.ts'

// Data is at most `jsonDepth` levels deep, and filters wrap a value in an array at most once.
const depthMax = limits.jsonDepth + 2

/** Reading a value within a list or an object takes as long as reading four characters more. */
const charactersPerValue = 4

/** How much there is to read: the characters of the value's JSON (an escape counts as the one it stands for), and the values in it. */
export const sizeOf = (value: Json): number => {
  let size = 0
  walk(value, (characters, values) => {
    size += characters + values * charactersPerValue
  })
  return size
}

/**
 * Counts the characters of the value's JSON, and the values within it. It tells while it walks: an array may hold one large value
 * many times, and the walk must end where the budget does.
 */
export const walk = (value: Json, tell: (characters: number, values: number) => void, depth = 0): void => {
  if (typeof value !== 'object' || value === null || isExactNumber(value)) {
    tell(scalarSize(value), 0)
    return
  }
  if (depth > depthMax) throw new ExpressionError('the value is too deep')
  if (Array.isArray(value)) {
    walkList(value, tell, depth)
    return
  }
  const keys = Object.keys(value)
  tell(1 + Math.max(1, keys.length), keys.length * 2)
  for (const key of keys) {
    tell(key.length + 3, 0)
    walk(value[key] ?? null, tell, depth + 1)
  }
}

/** Telling of each number by itself would take longer than to count it. */
const elementsTogether = 256

const walkList = (
  list: readonly Json[],
  tell: (characters: number, values: number) => void,
  depth: number,
) => {
  tell(1 + Math.max(1, list.length), 0)
  let characters = 0
  let values = 0
  for (const element of list) {
    if (typeof element === 'object' && element !== null) walk(element, tell, depth + 1)
    else characters += scalarSize(element)
    if (++values < elementsTogether) continue
    tell(characters, values)
    characters = 0
    values = 0
  }
  tell(characters, values)
}

export const scalarSize = (value: string | number | boolean | null | ExactNumber): number => {
  if (typeof value === 'string') return value.length + 2
  if (typeof value === 'number' && value >= 0 && value < 1_000 && Number.isInteger(value))
    return value < 10 ? 1 : value < 100 ? 2 : 3
  return isExactNumber(value) ? value.rawJSON.length : String(value).length
}
