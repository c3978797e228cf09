import { numberFrom } from './canonical-text.ts'
import { type Json, type JsonObject, rememberOrder, setOwn } from './json.ts'

/**
 * Parses JSON so that numbers doubles cannot hold stay as they were sent (C7), and the order of keys is remembered
 * where JavaScript changes it. `JSON.parse` with a reviver would do for the numbers, but takes 400 ms for a hostile
 * megabyte; this takes 30. Throws SyntaxError where `JSON.parse` does, and TooManyExactNumbersError.
 */
export const parseExactly = (text: string, numbersMax: number): Json => {
  // The engine's parser decides what is JSON, so the reader below may trust every character it meets.
  JSON.parse(text)
  return new Reader(text, numbersMax).value()
}

/** More numbers than allowed that doubles cannot hold. */
export class TooManyExactNumbersError extends Error {}

/** A key that JavaScript may move to the front; larger numbers stay where they are. */
const isWholeNumber = /^\d{1,10}$/

const rememberIfMoved = (object: JsonObject, keys: readonly string[]): void => {
  if (keys.length === 1) return
  const sent = [...new Set(keys)]
  if (Object.keys(object).some((key, at) => key !== sent[at])) rememberOrder(object, sent)
}

const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x9 && code <= 0xd)

/** Digits, signs, the point and the letter of an exponent. At the end of the text the code is NaN, and none of them. */
const isOfNumber = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  code === 0x2b ||
  code === 0x2d ||
  code === 0x2e ||
  code === 0x45 ||
  code === 0x65

class Reader {
  readonly #text: string
  #at = 0
  #numbersLeft: number

  constructor(text: string, numbersMax: number) {
    this.#text = text
    this.#numbersLeft = numbersMax
  }

  /** Recurses once per level; `parseJson` has already refused bodies that are too deep. */
  value(): Json {
    switch (this.#peek()) {
      case '{':
        return this.#object()
      case '[':
        return this.#array()
      case '"':
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  #object(): JsonObject {
    const object: JsonObject = {}
    const keys: string[] = []
    let mayMove = false
    this.#at++
    while (this.#peek() !== '}') {
      const key = this.#string()
      this.#skip(':')
      setOwn(object, key, this.value())
      this.#skip(',')
      keys.push(key)
      mayMove ||= isWholeNumber.test(key)
    }
    this.#at++
    if (mayMove) rememberIfMoved(object, keys)
    return object
  }

  #array(): Json[] {
    const array: Json[] = []
    this.#at++
    while (this.#peek() !== ']') {
      array.push(this.value())
      this.#skip(',')
    }
    this.#at++
    return array
  }

  #string(): string {
    const start = this.#at
    let end = this.#text.indexOf('"', start + 1)
    while (this.#isEscaped(end)) end = this.#text.indexOf('"', end + 1)
    this.#at = end + 1
    const raw = this.#text.slice(start, end + 1)
    return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
  }

  #isEscaped(quote: number): boolean {
    let backslashes = 0
    while (this.#text[quote - 1 - backslashes] === '\\') backslashes++
    return backslashes % 2 === 1
  }

  #word<T>(word: string, value: T): T {
    this.#at += word.length
    return value
  }

  #number(): Json {
    const start = this.#at
    while (isOfNumber(this.#text.charCodeAt(this.#at))) this.#at++
    const number = numberFrom(this.#text.slice(start, this.#at))
    if (typeof number !== 'number' && --this.#numbersLeft < 0) throw new TooManyExactNumbersError()
    return number
  }

  /** The next character that is not white space. */
  #peek(): string {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at++
    return this.#text.charAt(this.#at)
  }

  #skip(separator: string): void {
    if (this.#peek() === separator) {
      this.#at++
      this.#peek()
    }
  }
}
