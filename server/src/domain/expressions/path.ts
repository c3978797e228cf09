import { getOwn, isJsonObject, type Json } from '../json/json.ts'

/** A step into a value: a property name, or an array index that counts from the end when negative. */
export type Segment = string | number

/** The value at the end of the path; null where the path leads nowhere (C20). */
export const readPath = (value: Json, path: readonly Segment[]): Json => {
  let current = value
  for (const segment of path) current = readSegment(current, segment)
  return current
}

/**
 * Own properties only: `constructor`, `size` or `first` mean what the data has under that name and nothing else. Text
 * and numbers have no properties. `items.0` is `items[0]`, as in Liquid.
 */
const readSegment = (value: Json, segment: Segment): Json => {
  if (Array.isArray(value)) {
    const index = typeof segment === 'number' ? segment : indexOfName(segment)
    return (index === undefined ? undefined : value.at(index)) ?? null
  }
  return (isJsonObject(value) ? getOwn(value, String(segment)) : undefined) ?? null
}

const indexOfName = (name: string): number | undefined => {
  const index = Number(name)
  return Number.isSafeInteger(index) && index >= 0 && String(index) === name ? index : undefined
}
