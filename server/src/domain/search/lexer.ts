import { queryFault } from './query.ts'

/** The words of a query. Positions count characters (code points) from 1. */
export type Lexeme =
  | { readonly kind: '(' | ')' | 'AND' | 'OR' | 'NOT'; readonly position: number }
  | TermLexeme

export type TermLexeme = {
  readonly kind: 'term'
  readonly position: number
  readonly field: string
  /** What follows `metadata.`. It may be in quotes, for a key with blanks or a colon. */
  readonly key?: string
  readonly value: Value
  readonly valuePosition: number
}

export type Value = TextValue | RangeValue
export type TextValue = { readonly kind: 'text'; readonly text: string; readonly isQuoted: boolean }
/** `[a TO b]`; an end that was `*` is absent. */
export type RangeValue = {
  readonly kind: 'range'
  readonly from?: string
  readonly to?: string
  readonly holdsFrom: boolean
  readonly holdsTo: boolean
}

const keywords = new Set(['AND', 'OR', 'NOT'])
const blank = /\s/u
/** What ends a word that is not in quotes. */
const endOfWord = /[\s()"]/u
const endOfBound = /[\s\]}"]/u
const endOfField = /[\s()":]/u

export const readLexemes = (text: string): Lexeme[] => {
  const reader = new Reader(text)
  const lexemes: Lexeme[] = []
  for (reader.skipBlanks(); !reader.isAtEnd; reader.skipBlanks()) lexemes.push(readLexeme(reader))
  return lexemes
}

const readLexeme = (reader: Reader): Lexeme => {
  const { position, character } = reader
  if (character === '(' || character === ')') {
    reader.take(character)
    return { kind: character, position }
  }
  if (reader.take('-') || reader.take('!')) return { kind: 'NOT', position }
  const field = reader.readUntil(endOfField)
  if (keywords.has(field) && reader.character !== ':')
    return { kind: field as 'AND' | 'OR' | 'NOT', position }
  return readTerm(reader, field, position)
}

const readTerm = (reader: Reader, word: string, position: number): TermLexeme => {
  const dot = word.indexOf('.')
  const field = dot === -1 ? word : word.slice(0, dot)
  let key = dot === -1 ? undefined : word.slice(dot + 1)
  if (key === '' && reader.character === '"') key = reader.readQuoted()
  if (field === '' || !reader.take(':')) throw queryFault('a term must be field:value', position)
  const valuePosition = reader.position
  const value = readValue(reader)
  if (!reader.isAtEnd && !/[\s()]/u.test(reader.character))
    throw queryFault('a blank must follow a value', reader.position)
  return { kind: 'term', position, field, ...(key !== undefined && { key }), value, valuePosition }
}

const readValue = (reader: Reader): Value => {
  if (reader.character === '[' || reader.character === '{') return readRange(reader)
  if (reader.character === '"') return { kind: 'text', text: reader.readQuoted(), isQuoted: true }
  const { position } = reader
  const text = reader.readUntil(endOfWord)
  if (text === '') throw queryFault('a value must follow the colon', position)
  if (text.includes('\\')) throw queryFault('a value with a backslash must be in quotes', position)
  return { kind: 'text', text, isQuoted: false }
}

const readRange = (reader: Reader): RangeValue => {
  const holdsFrom = reader.character === '['
  reader.take(reader.character)
  const from = readBound(reader)
  const { position } = reader
  if (reader.readUntil(endOfBound) !== 'TO') throw queryFault('a range must be [a TO b]', position)
  reader.skipBlanks()
  const to = readBound(reader)
  const holdsTo = reader.character === ']'
  if (!reader.take(']') && !reader.take('}')) throw queryFault('a range must be closed', reader.position)
  return { kind: 'range', ...(from && { from }), ...(to && { to }), holdsFrom, holdsTo }
}

/** One end of a range with the blanks around it; undefined for `*`. */
const readBound = (reader: Reader): string | undefined => {
  reader.skipBlanks()
  const { position } = reader
  const text = reader.character === '"' ? reader.readQuoted() : reader.readUntil(endOfBound)
  if (text === '') throw queryFault('a range must be [a TO b]', position)
  reader.skipBlanks()
  return text === '*' ? undefined : text
}

/** Reads left to right, each character once. */
class Reader {
  readonly #characters: readonly string[]
  #at = 0

  constructor(text: string) {
    this.#characters = [...text]
  }

  get position(): number {
    return this.#at + 1
  }

  get character(): string {
    return this.#characters[this.#at] ?? ''
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#characters.length
  }

  take(character: string): boolean {
    if (this.isAtEnd || this.character !== character) return false
    this.#at++
    return true
  }

  skipBlanks(): void {
    while (blank.test(this.character)) this.#at++
  }

  readUntil(end: RegExp): string {
    let word = ''
    for (; !this.isAtEnd && !end.test(this.character); this.#at++) word += this.character
    return word
  }

  /** Text in quotes; a backslash escapes a quote or a backslash in it. */
  readQuoted(): string {
    const { position } = this
    let text = ''
    this.take('"')
    while (!this.take('"')) {
      if (this.isAtEnd) throw queryFault('a quote is not closed', position)
      const backslash = this.position
      if (this.take('\\') && this.character !== '"' && this.character !== '\\')
        throw queryFault('a backslash must stand before a quote or a backslash', backslash)
      text += this.character
      this.#at++
    }
    return text
  }
}
