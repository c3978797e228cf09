import type { Dialect } from '../expressions/budget.ts'
import { isBlank } from '../expressions/character-classes.ts'
import { ExpressionError, inCharacters } from '../expressions/expression-error.ts'
import { TextReader } from '../expressions/text-reader.ts'
import { compileFilterChain, type FilterChain } from './filter-chain.ts'

/** What an expression takes its value from: a token's data, the token as an object, a text, or the proxy's configuration. */
export type Source =
  | { readonly kind: 'data' | 'object'; readonly id: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'config'; readonly key: string }

export type TokenExpression = {
  readonly source: Source
  readonly chain: FilterChain | undefined
  /** UTF-16 offsets in the text that the expression stands in, for errors. */
  readonly position: number
  readonly chainPosition: number
}

/** A text in which expressions stand for tokens (U2): its literal parts and its expressions, in order. */
export type TokenTemplate = { readonly text: string; readonly parts: readonly TemplatePart[] }
export type TemplatePart = string | TokenExpression

export const isExpression = (part: TemplatePart): part is TokenExpression => typeof part !== 'string'

/** Most texts hold none, and are left as they are. */
export const holdsExpression = (text: string): boolean => text.includes('{{')

/**
 * The grammar of U2, all of it:
 *
 *     template   = { text | "{{" source { "|" filter } "}}" }
 *     source     = "token:" id | id | 'text' | "text"            and in a proxy's own transforms: "config:" key
 *
 * An id is everything up to `|` or `}}`, without the blanks around it. Reads each character once, and stops after each part, since a
 * text may hold very many. Throws ExpressionError.
 */
export function* readTemplate(text: string, dialect: Dialect): Generator<TemplatePart> {
  let start = 0
  for (let opening = text.indexOf('{{'); opening !== -1; opening = text.indexOf('{{', start)) {
    if (opening > start) yield text.slice(start, opening)
    const { expression, end } = inText(text, () => readExpression(text, opening, dialect))
    yield expression
    start = end
  }
  if (start < text.length) yield text.slice(start)
}

/** Runs the work. The positions of its errors count characters of this text. */
export const inText = <T>(text: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw inCharacters(error, text)
  }
}

const readExpression = (
  text: string,
  opening: number,
  dialect: Dialect,
): { expression: TokenExpression; end: number } => {
  const position = skipBlanks(text, opening + 2)
  const { source, end: chainPosition } = isQuote(text[position])
    ? readText(text, position, opening)
    : readName(text, position, opening, dialect)
  const end = endOfFilters(text, chainPosition, opening)
  const filters = text.slice(chainPosition, end)
  const chain = filters === '' ? undefined : moved(chainPosition, () => compileFilterChain(filters, dialect))
  return { expression: { source, chain, position, chainPosition }, end: end + 2 }
}

type ReadSource = { readonly source: Source; readonly end: number }

const readText = (text: string, position: number, opening: number): ReadSource => {
  const reader = new TextReader(text)
  reader.position = position
  const quoted = reader.readText()
  const end = skipBlanks(text, reader.position)
  if (text[end] !== '|' && !text.startsWith('}}', end))
    throw end >= text.length ? notClosed(opening) : new ExpressionError('unexpected character', end)
  return { source: { kind: 'text', text: quoted }, end }
}

const readName = (text: string, position: number, opening: number, dialect: Dialect): ReadSource => {
  endOfName.lastIndex = position
  const end = endOfName.exec(text)?.index
  if (end === undefined) throw notClosed(opening)
  const name = text.slice(position, end)
  if (dialect !== 'detokenize' && name.startsWith(config)) {
    if (dialect === 'proxy')
      throw new ExpressionError("config: is only for a proxy's own transforms", position)
    return { source: { kind: 'config', key: required(name.slice(config.length), opening) }, end }
  }
  return name.startsWith(token)
    ? { source: { kind: 'object', id: required(name.slice(token.length), opening) }, end }
    : { source: { kind: 'data', id: required(name, opening) }, end }
}

const endOfName = /\||\}\}/g

const token = 'token:'
const config = 'config:'

const required = (name: string, opening: number): string => {
  const trimmed = name.trim()
  if (trimmed === '') throw new ExpressionError('nothing between the braces', opening)
  return trimmed
}

/** Where the `}}` stands that ends the filters: the first one outside quotes. */
const endOfFilters = (text: string, from: number, opening: number): number => {
  for (let at = from; at < text.length; at++) {
    const character = text[at]
    if (character === '}' && text[at + 1] === '}') return at
    if (isQuote(character)) at = endOfText(text, at)
  }
  throw notClosed(opening)
}

/** The offset of the quote that closes the one at this offset. */
const endOfText = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at++)
    if (text[at] === '\\') at++
    else if (text[at] === text[start]) return at
  throw new ExpressionError('text is not closed', start)
}

const skipBlanks = (text: string, from: number): number => {
  let at = from
  while (isBlank(text[at] ?? '')) at++
  return at
}

const isQuote = (character: string | undefined): boolean => character === '"' || character === "'"

const notClosed = (opening: number): ExpressionError => new ExpressionError('{{ has no closing }}', opening)

/** Runs the work. The positions of its errors count from here. */
export const moved = <T>(position: number, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.position === undefined) throw error
    throw new ExpressionError(error.problem, error.position + position)
  }
}
