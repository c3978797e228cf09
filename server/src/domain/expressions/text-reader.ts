import type { ExactNumber } from '../json/json.ts'
import { isBlank, isDigit, isLower, isUpper } from './character-classes.ts'
import { parseDecimal } from './decimal.ts'
import { ExpressionError } from './expression-error.ts'

const escapes = new Map([
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['b', '\b'],
  ['f', '\f'],
  ['v', '\v'],
])

/** Reads the words of the language off the text, left to right, each character once. */
export class TextReader {
  readonly text: string
  position = 0

  constructor(text: string) {
    this.text = text
  }

  get character(): string {
    return this.text[this.position] ?? ''
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length
  }

  startsWith(word: string): boolean {
    return (
      this.text.charCodeAt(this.position) === word.charCodeAt(0) &&
      (word.length === 1 || this.text.startsWith(word, this.position))
    )
  }

  /** Takes the word if it comes next. */
  take(word: string): boolean {
    if (!this.startsWith(word)) return false
    this.position += word.length
    return true
  }

  skipBlanks(): void {
    while (isBlankUnit(this.text.charCodeAt(this.position))) this.position++
  }

  /** Letters, digits, `_`, `-` and everything beyond ASCII; '' if none of these comes next. */
  readName(): string {
    const start = this.position
    while (this.#isAtName) this.position++
    return this.text.slice(start, this.position)
  }

  readNumber(): number | ExactNumber {
    const start = this.position
    if (!this.take('-')) this.take('+')
    this.#skipDigits()
    if (this.character === '.' && isDigit(this.text[this.position + 1] ?? '')) {
      this.position++
      this.#skipDigits()
    }
    const value = parseDecimal(this.text.slice(start, this.position))
    if (value === undefined || this.#isAtName) throw new ExpressionError('bad number', start)
    return value
  }

  /** Quoted text; the quote that opens it closes it. */
  readText(): string {
    const start = this.position
    const quote = this.character
    let read = ''
    this.position++
    while (this.character !== quote) {
      if (this.isAtEnd) throw new ExpressionError('text is not closed', start)
      read += this.character === '\\' ? this.#readEscape() : this.character
      this.position++
    }
    this.position++
    return read
  }

  /** Ends on the last character of the escape. Unknown escapes are refused, so that none can change its meaning later. */
  #readEscape(): string {
    const start = this.position++
    if (this.character === 'u') {
      const hex = this.text.slice(this.position + 1, this.position + 5)
      if (hex.length < 4 || ![...hex].every(isHexDigit)) throw new ExpressionError('bad escape', start)
      this.position += 4
      return String.fromCharCode(Number.parseInt(hex, 16))
    }
    const meaning = escapes.get(this.character)
    if (meaning === undefined) throw new ExpressionError('bad escape', start)
    return meaning
  }

  /** A hyphen may also belong to the closing `-}}`. */
  get #isAtName(): boolean {
    const unit = this.text.charCodeAt(this.position)
    return isNameUnit(unit) && (unit !== hyphen || !this.startsWith('-}}'))
  }

  #skipDigits(): void {
    while (isDigit(this.character)) this.position++
  }
}

const hyphen = 0x2d
const beyondAscii = 0x80

/** By UTF-16 unit: expressions are compiled at every write and read, and a look into a table is four times as fast. */
const nameUnits = Uint8Array.from({ length: beyondAscii }, (_, unit) => {
  const character = String.fromCharCode(unit)
  return Number(isDigit(character) || isLower(character) || isUpper(character) || '_-'.includes(character))
})
const blankUnits = Uint8Array.from({ length: beyondAscii }, (_, unit) =>
  Number(isBlank(String.fromCharCode(unit))),
)

/** False for NaN, which stands behind the end. */
const isNameUnit = (unit: number): boolean =>
  unit < beyondAscii ? nameUnits[unit] === 1 : unit >= beyondAscii && !isBlank(String.fromCharCode(unit))

const isBlankUnit = (unit: number): boolean =>
  unit < beyondAscii ? blankUnits[unit] === 1 : unit >= beyondAscii && isBlank(String.fromCharCode(unit))

const isHexDigit = (character: string): boolean =>
  isDigit(character) || (character >= 'a' && character <= 'f') || (character >= 'A' && character <= 'F')
