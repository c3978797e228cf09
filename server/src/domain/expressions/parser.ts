import { countCharacters } from '../characters.ts'
import type { Json } from '../json/json.ts'
import { limits } from '../limits.ts'
import { isDigit } from './characters.ts'
import { Cursor } from './cursor.ts'
import { ExpressionError } from './expression-error.ts'
import type { Segment } from './path.ts'
import type { FilterCall, Operand, Output, Template } from './syntax.ts'

const constants = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['nil', null],
  ['null', null],
])

/**
 * The grammar, all of it:
 *
 *     template = { text | "{{" ["-"] operand { "|" filter } ["-"] "}}" }
 *     filter   = name [ ":" operand { "," operand } ]
 *     operand  = 'text' | "text" | number | true | false | nil | null | path
 *     path     = name { "." name | "[" ( integer | text ) "]" }
 */
export const parseTemplate = (text: string): Template => {
  if (countCharacters(text) > limits.expressionCharactersMax)
    throw new ExpressionError(`must have at most ${limits.expressionCharactersMax} characters`)
  const tag = text.indexOf('{%')
  if (tag !== -1) throw new ExpressionError('{% %} tags are not supported', tag)

  const template: (string | Output)[] = []
  const cursor = new Cursor(text)
  let trimNext = false
  while (!cursor.isAtEnd) {
    const start = cursor.position
    const opening = text.indexOf('{{', start)
    const isOutput = opening !== -1
    cursor.position = isOutput ? opening + 2 : text.length
    const trimPrevious = isOutput && cursor.take('-')

    let literal = text.slice(start, isOutput ? opening : text.length)
    if (trimNext) literal = literal.trimStart()
    if (trimPrevious) literal = literal.trimEnd()
    if (literal !== '') template.push(literal)

    if (!isOutput) break
    template.push(parseOutput(cursor, opening))
    trimNext = cursor.take('-')
    cursor.take('}}')
  }
  return template
}

/** Stops in front of the closing `}}` or `-}}`. */
const parseOutput = (cursor: Cursor, opening: number): Output => {
  cursor.skipBlanks()
  if (isClosing(cursor)) throw new ExpressionError('nothing between the braces', opening)
  const source = parseOperand(cursor, opening)
  const filters: FilterCall[] = []
  cursor.skipBlanks()
  while (cursor.take('|')) {
    filters.push(parseFilter(cursor, opening))
    cursor.skipBlanks()
  }
  if (!isClosing(cursor)) throw unexpected(cursor, opening)
  return { source, filters }
}

const parseFilter = (cursor: Cursor, opening: number): FilterCall => {
  cursor.skipBlanks()
  const position = cursor.position
  const name = cursor.readName()
  if (name === '') throw unexpected(cursor, opening)
  const operands: Operand[] = []
  cursor.skipBlanks()
  if (cursor.take(':')) {
    do {
      cursor.skipBlanks()
      operands.push(parseOperand(cursor, opening))
      cursor.skipBlanks()
    } while (cursor.take(','))
  }
  return { name, arguments: operands, position }
}

const parseOperand = (cursor: Cursor, opening: number): Operand => {
  const { position, character } = cursor
  if (isQuote(character)) return { kind: 'literal', value: cursor.readText(), position }
  if (isNumberStart(cursor)) return { kind: 'literal', value: cursor.readNumber(), position }
  const name = cursor.readName()
  if (name === '') throw unexpected(cursor, opening)
  const constant = constants.get(name)
  if (constant !== undefined) return { kind: 'literal', value: constant, position }
  return { kind: 'path', root: name, segments: parseSegments(cursor, opening), position }
}

const parseSegments = (cursor: Cursor, opening: number): Segment[] => {
  const segments: Segment[] = []
  for (;;) {
    if (cursor.take('.')) {
      const name = cursor.readName()
      if (name === '') throw unexpected(cursor, opening)
      segments.push(name)
    } else if (cursor.take('[')) {
      cursor.skipBlanks()
      segments.push(parseSubscript(cursor, opening))
      cursor.skipBlanks()
      if (!cursor.take(']')) throw unexpected(cursor, opening)
    } else return segments
  }
}

const parseSubscript = (cursor: Cursor, opening: number): Segment => {
  if (isQuote(cursor.character)) return cursor.readText()
  if (!isNumberStart(cursor)) throw unexpected(cursor, opening)
  const start = cursor.position
  const index = cursor.readNumber()
  if (!Number.isSafeInteger(index)) throw new ExpressionError('an index is a whole number', start)
  return Number(index)
}

const isQuote = (character: string): boolean => character === '"' || character === "'"

const isNumberStart = ({ character }: Cursor): boolean =>
  isDigit(character) || character === '-' || character === '+'

const isClosing = (cursor: Cursor): boolean => cursor.startsWith('}}') || cursor.startsWith('-}}')

const unexpected = (cursor: Cursor, opening: number): ExpressionError =>
  cursor.isAtEnd
    ? new ExpressionError('{{ has no closing }}', opening)
    : new ExpressionError('unexpected character', cursor.position)
