import { isDigit } from './character-classes.ts'

/**
 * `2030-01-31`, alone or with a time `T17:05`, `T17:05:09` or `T17:05:09.123`, with or without an offset `Z`, `+02:00`
 * or `+0200`. A blank may replace the T, and no offset means UTC. Undefined for days that no calendar has and for any
 * other text, including `now`, since the core does not know the time.
 *
 * Not parseDateTime of the API (date-time.ts): that one uses regular expressions, of which the language has none
 * (C20.8), accepts no blank for the T, and accepts month/day/year, which data may mean as day/month/year.
 */
export const parseIsoDate = (text: string): number | undefined => {
  const reader = new Reader(text)
  const year = reader.digits(4)
  const month = reader.after('-').digits(2)
  const day = reader.after('-').digits(2)
  const midnight = Date.UTC(year, month - 1, day)
  const back = new Date(midnight)
  // Date.UTC reads the years 0 to 99 as 1900 to 1999, so those fail here, too.
  const isDay =
    back.getUTCFullYear() === year && back.getUTCMonth() === month - 1 && back.getUTCDate() === day
  const time = reader.isAtEnd ? 0 : readTime(reader)
  return isDay && reader.isAtEnd && !reader.failed ? midnight + time : undefined
}

/** Milliseconds from midnight UTC, read from `T` to the end. */
const readTime = (reader: Reader): number => {
  if (!reader.take(' ')) reader.after('T')
  const hours = reader.atMost(23)
  const minutes = reader.after(':').atMost(59)
  const hasSeconds = reader.take(':')
  const seconds = hasSeconds ? reader.atMost(59) : 0
  const milliseconds = hasSeconds && reader.take('.') ? reader.fraction() : 0
  return (hours * 60 + minutes - readOffset(reader)) * 60_000 + seconds * 1_000 + milliseconds
}

/** Minutes east of UTC. */
const readOffset = (reader: Reader): number => {
  if (reader.isAtEnd || reader.take('Z')) return 0
  const sign = reader.take('-') ? -1 : 1
  if (sign === 1) reader.after('+')
  const hours = reader.atMost(23)
  reader.take(':')
  return sign * (hours * 60 + reader.atMost(59))
}

/** Records a failure and reads on: a date is short, and the caller checks once, at the end. */
class Reader {
  readonly #text: string
  #position = 0
  failed = false

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#text.length
  }

  take(character: string): boolean {
    const isNext = this.#text[this.#position] === character
    if (isNext) this.#position++
    return isNext
  }

  after(character: string): this {
    if (!this.take(character)) this.failed = true
    return this
  }

  digits(count: number): number {
    const word = this.#text.slice(this.#position, this.#position + count)
    if (word.length < count || ![...word].every(isDigit)) this.failed = true
    this.#position += count
    return Number(word)
  }

  atMost(most: number): number {
    const value = this.digits(2)
    if (value > most) this.failed = true
    return value
  }

  /** Milliseconds; finer digits are cut off. */
  fraction(): number {
    const start = this.#position
    while (isDigit(this.#text[this.#position] ?? '')) this.#position++
    if (this.#position === start) this.failed = true
    return Number(this.#text.slice(start, Math.min(this.#position, start + 3)).padEnd(3, '0'))
  }
}
