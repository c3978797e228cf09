import { isDigit } from '../character-classes.ts'
import { ExpressionError } from '../expression-error.ts'
import type { Segment } from '../syntax.ts'
import { TextReader } from '../text-reader.ts'
import type { Parameter } from './filter.ts'

/** Always a literal, so that an expression's paths are all known. */
export const jsonPath: Parameter<readonly Segment[]> = {
  isLiteralOnly: true,
  read: value => {
    if (typeof value !== 'string') throw notOnePath()
    return readJsonPath(value)
  },
}

/**
 * The part of JSONPath that has one result: `$`, `.name`, `['name']`, `["name"]`, `[0]`, `[-1]`. Wildcards,
 * slices, filters and `..` are refused. Throws ExpressionError.
 */
export const readJsonPath = (path: string): readonly Segment[] => {
  if (!path.startsWith('$')) throw notOnePath()
  const reader = new TextReader(path)
  reader.position = 1
  const segments: Segment[] = []
  while (!reader.isAtEnd) segments.push(readSegment(reader))
  return segments
}

const readSegment = (reader: TextReader): Segment => {
  if (reader.take('.')) return requireName(reader.readName())
  if (!reader.take('[')) throw notOnePath()
  const segment = readSubscript(reader)
  if (!reader.take(']')) throw notOnePath()
  return segment
}

const readSubscript = (reader: TextReader): Segment => {
  const { character } = reader
  // The offset inside the argument would mislead: the compiler says where the argument is.
  if (character === '"' || character === "'") return withoutPosition(() => reader.readText())
  if (character !== '-' && !isDigit(character)) throw notOnePath()
  const index = withoutPosition(() => reader.readNumber())
  if (typeof index !== 'number' || !Number.isSafeInteger(index)) throw notOnePath()
  return index
}

const requireName = (name: string): string => {
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
