import { isDigit } from '../characters.ts'
import { Cursor } from '../cursor.ts'
import { ExpressionError } from '../expression-error.ts'
import type { Segment } from '../path.ts'
import type { Parameter } from './filter.ts'

/**
 * The part of JSONPath that has one result: `$`, `.name`, `['name']`, `["name"]`, `[0]`, `[-1]`. Wildcards,
 * slices, filters and `..` are refused. Always a literal, so that an expression's paths are all known.
 */
export const jsonPath: Parameter<readonly Segment[]> = {
  isLiteralOnly: true,
  read: value => {
    if (typeof value !== 'string' || !value.startsWith('$')) throw notOnePath()
    const cursor = new Cursor(value)
    cursor.position = 1
    const segments: Segment[] = []
    while (!cursor.isAtEnd) segments.push(readSegment(cursor))
    return segments
  },
}

const readSegment = (cursor: Cursor): Segment => {
  if (cursor.take('.')) return segmentOrNothing(cursor.readName())
  if (!cursor.take('[')) throw notOnePath()
  const segment = readSubscript(cursor)
  if (!cursor.take(']')) throw notOnePath()
  return segment
}

const readSubscript = (cursor: Cursor): Segment => {
  const { character } = cursor
  // The offset inside the argument would mislead: the compiler says where the argument is.
  if (character === '"' || character === "'") return withoutPosition(() => cursor.readText())
  if (character !== '-' && !isDigit(character)) throw notOnePath()
  const index = withoutPosition(() => cursor.readNumber())
  if (typeof index !== 'number' || !Number.isSafeInteger(index)) throw notOnePath()
  return index
}

const segmentOrNothing = (name: string): string => {
  if (name === '') throw notOnePath()
  return name
}

const withoutPosition = <T>(read: () => T): T => {
  try {
    return read()
  } catch {
    throw notOnePath()
  }
}

const notOnePath = (): ExpressionError => new ExpressionError('a JSONPath to one value is needed')
