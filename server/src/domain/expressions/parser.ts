import type { Json } from '../json/json.ts'
import { limits } from '../limits.ts'
import { countCharacters } from '../text/characters.ts'
import { isDigit } from './character-classes.ts'
import { ExpressionError } from './expression-error.ts'
import type { FilterCall, Operand, Output, Segment, Template } from './syntax.ts'
import { TextReader } from './text-reader.ts'

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
 *     operand  = 'text' | "text" | number | true | false | nil | null | path | "config" ":" name
 *     path     = name { "." name | "[" ( integer | text ) "]" }
 */
export const parseTemplate = (text: string): Template => {
  if (countCharacters(text) > limits.expressionCharactersMax)
    throw new ExpressionError(`must have at most ${limits.expressionCharactersMax} characters`)
  const tag = text.indexOf('{%')
  if (tag !== -1) throw new ExpressionError('{% %} tags are not supported', tag)

  const template: (string | Output)[] = []
  const reader = new TextReader(text)
  let trimNext = false
  while (!reader.isAtEnd) {
    const start = reader.position
    const opening = text.indexOf('{{', start)
    const isOutput = opening !== -1
    reader.position = isOutput ? opening + 2 : text.length
    const trimPrevious = isOutput && reader.take('-')

    let literal = text.slice(start, isOutput ? opening : text.length)
    if (trimNext) literal = literal.trimStart()
    if (trimPrevious) literal = literal.trimEnd()
    if (literal !== '') template.push(literal)

    if (!isOutput) break
    template.push(parseOutput(reader, opening))
    trimNext = reader.take('-')
    reader.take('}}')
  }
  return template
}

/** Stops in front of the closing `}}` or `-}}`. */
const parseOutput = (reader: TextReader, opening: number): Output => {
  reader.skipBlanks()
  if (isClosing(reader)) throw new ExpressionError('nothing between the braces', opening)
  const source = parseOperand(reader, opening)
  const filters = parseFilters(reader, opening)
  if (!isClosing(reader)) throw unexpected(reader, opening)
  return { source, filters }
}

/** The filters of an expression whose source and end are known: `| name: argument | name`. */
export const parseFilterChain = (text: string): FilterCall[] => {
  const reader = new TextReader(text)
  const calls = parseFilters(reader, 0)
  if (!reader.isAtEnd) throw new ExpressionError('unexpected character', reader.position)
  return calls
}

const parseFilters = (reader: TextReader, opening: number): FilterCall[] => {
  const filters: FilterCall[] = []
  reader.skipBlanks()
  while (reader.take('|')) {
    filters.push(parseFilter(reader, opening))
    reader.skipBlanks()
  }
  return filters
}

const parseFilter = (reader: TextReader, opening: number): FilterCall => {
  reader.skipBlanks()
  const position = reader.position
  const name = reader.readName()
  if (name === '') throw unexpected(reader, opening)
  const operands: Operand[] = []
  reader.skipBlanks()
  if (reader.take(':')) {
    do {
      reader.skipBlanks()
      operands.push(parseOperand(reader, opening))
      reader.skipBlanks()
    } while (reader.take(','))
  }
  return { name, arguments: operands, position }
}

const parseOperand = (reader: TextReader, opening: number): Operand => {
  const { position, character } = reader
  if (isQuote(character)) return { kind: 'literal', value: reader.readText(), position }
  if (isNumberStart(reader)) return { kind: 'literal', value: reader.readNumber(), position }
  const name = reader.readName()
  if (name === '') throw unexpected(reader, opening)
  const constant = constants.get(name)
  if (constant !== undefined) return { kind: 'literal', value: constant, position }
  if (name === 'config' && reader.take(':')) return parseConfig(reader, opening, position)
  return { kind: 'path', root: name, segments: parseSegments(reader, opening), position }
}

const parseConfig = (reader: TextReader, opening: number, position: number): Operand => {
  reader.skipBlanks()
  const key = reader.readName()
  if (key === '') throw unexpected(reader, opening)
  return { kind: 'config', key, position }
}

const parseSegments = (reader: TextReader, opening: number): Segment[] => {
  const segments: Segment[] = []
  for (;;) {
    if (reader.take('.')) {
      const name = reader.readName()
      if (name === '') throw unexpected(reader, opening)
      segments.push(name)
    } else if (reader.take('[')) {
      reader.skipBlanks()
      segments.push(parseSubscript(reader, opening))
      reader.skipBlanks()
      if (!reader.take(']')) throw unexpected(reader, opening)
    } else return segments
  }
}

const parseSubscript = (reader: TextReader, opening: number): Segment => {
  if (isQuote(reader.character)) return reader.readText()
  if (!isNumberStart(reader)) throw unexpected(reader, opening)
  const start = reader.position
  const index = reader.readNumber()
  if (!Number.isSafeInteger(index)) throw new ExpressionError('an index is a whole number', start)
  return Number(index)
}

const isQuote = (character: string): boolean => character === '"' || character === "'"

const isNumberStart = ({ character }: TextReader): boolean =>
  isDigit(character) || character === '-' || character === '+'

const isClosing = (reader: TextReader): boolean => reader.startsWith('}}') || reader.startsWith('-}}')

const unexpected = (reader: TextReader, opening: number): ExpressionError =>
  reader.isAtEnd
    ? new ExpressionError('{{ has no closing }}', opening)
    : new ExpressionError('unexpected character', reader.position)
