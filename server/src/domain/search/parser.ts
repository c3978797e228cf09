import { limits } from '../limits.ts'
import { nearestName, suggestion } from '../text/did-you-mean.ts'
import { metadataField, searchFields } from './fields.ts'
import { type Lexeme, readLexemes, type TermLexeme, type Value } from './lexer.ts'
import { type Query, queryFault } from './query.ts'

/**
 * The language of C26. NOT binds closest, then AND, then OR; terms that stand side by side are ANDed.
 *
 *   or    := and ( 'OR' and )*
 *   and   := unary ( 'AND'? unary )*
 *   unary := ( 'NOT' | '!' | '-' ) unary | '(' or ')' | field ':' value
 */
export const parseQuery = (text: string): Query => {
  const parser = new Parser(readLexemes(text), [...text].length + 1)
  const query = parser.readOr(0)
  parser.requireEnd()
  return query
}

class Parser {
  readonly #lexemes: readonly Lexeme[]
  /** The position to report when something is missing at the end. */
  readonly #end: number
  #at = 0
  #terms = 0

  constructor(lexemes: readonly Lexeme[], end: number) {
    this.#lexemes = lexemes
    this.#end = end
  }

  readOr(depth: number): Query {
    const first = this.#readAnd(depth)
    const parts = [first]
    while (this.#take('OR')) parts.push(this.#readAnd(depth))
    return parts.length === 1 ? first : { kind: 'or', parts, position: first.position }
  }

  requireEnd(): void {
    if (this.#next !== undefined) throw queryFault('this ) has no matching (', this.#position)
  }

  #readAnd(depth: number): Query {
    const first = this.#readUnary(depth)
    const parts = [first]
    while (this.#take('AND') || this.#startsUnary) parts.push(this.#readUnary(depth))
    return parts.length === 1 ? first : { kind: 'and', parts, position: first.position }
  }

  #readUnary(depth: number): Query {
    const position = this.#position
    if (depth > limits.searchDepth)
      throw queryFault(`parentheses and negations must not go deeper than ${limits.searchDepth}`, position)
    if (this.#take('NOT')) return { kind: 'not', part: this.#readUnary(depth + 1), position }
    if (this.#take('(')) {
      const inner = this.readOr(depth + 1)
      if (!this.#take(')')) throw queryFault('a parenthesis is not closed', position)
      return inner
    }
    const lexeme = this.#next
    if (lexeme?.kind !== 'term') throw queryFault('a term is missing', position)
    this.#at++
    if (++this.#terms > limits.searchTerms)
      throw queryFault(`a query must have at most ${limits.searchTerms} terms`, position)
    return { kind: 'term', condition: readCondition(lexeme), position }
  }

  #take(kind: Lexeme['kind']): boolean {
    if (this.#next?.kind !== kind) return false
    this.#at++
    return true
  }

  get #next(): Lexeme | undefined {
    return this.#lexemes[this.#at]
  }

  get #position(): number {
    return this.#next?.position ?? this.#end
  }

  get #startsUnary(): boolean {
    const kind = this.#next?.kind
    return kind === 'term' || kind === 'NOT' || kind === '('
  }
}

const readCondition = ({ field, key, value, position, valuePosition }: TermLexeme) => {
  const isMetadata = field === 'metadata' && key !== undefined && key !== ''
  const read = isMetadata ? metadataField(key) : key === undefined ? searchFields.get(field) : undefined
  if (read === undefined) throw unknownField(field, position)
  const condition = read(value)
  if (typeof condition === 'string') throw queryFault(condition, valuePosition)
  const operator = operatorOf(field, value)
  return {
    ...condition,
    field: isMetadata ? `metadata.${key}` : field,
    ...(operator !== undefined && { operator }),
  }
}

/** Of a value that was read, which has a wildcard only where it means something. */
const operatorOf = (field: string, value: Value): 'range' | 'wildcard' | undefined => {
  if (value.kind === 'range') return 'range'
  return field === 'container' && value.text.endsWith('/*') ? 'wildcard' : undefined
}

const metadataKey = 'metadata.<key>'

/** Only names of the language come back, never what was sent. */
const unknownField = (field: string, position: number) => {
  const known = [...searchFields.keys(), metadataKey]
  const meant = field === 'metadata' ? metadataKey : nearestName(field, known)
  return queryFault(`not one of the fields ${known.join(', ')}${suggestion(meant)}`, position)
}
