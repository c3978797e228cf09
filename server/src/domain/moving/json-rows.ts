import { HeldBytes, type RawRow, type RowSplitter, tooLong, withoutMark } from './raw-row.ts'

const newLine = 0x0a
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const isBlank = (byte: number): boolean => byte === 0x20 || byte === newLine || byte === 0x0d || byte === 0x09

/** Keys longer than this are none that matter here. */
const keyBytesMax = 8

/**
 * JSON values one after another, or the elements of lists. With `pages`, a value such as `{"pagination": …, "data": [ … ]}` is a
 * page, whose rows are the elements of `data`. It counts brackets and parses nothing: what is no JSON becomes rows that do not parse.
 */
export class JsonRows implements RowSplitter {
  readonly #held = new HeldBytes()
  readonly #hasPages: boolean
  #line = 1
  #offset = 0
  #depth = 0
  /** How many brackets around rows are open: those of a list, or of a page and its list. */
  #around: 0 | 1 | 2 = 0
  /** The page goes on behind its list. */
  #isBehindList = false
  #inString = false
  #isEscaped = false
  #begins: number | undefined
  /** Of the value at depth 0: the key that was read last, and whether a key says that it is a row and no page. */
  #key = ''
  #isKey = false
  #isRow = false

  constructor({ pages }: { pages: boolean }) {
    this.#hasPages = pages
  }

  *push(chunk: Uint8Array): Generator<RawRow> {
    const bytes = this.#offset === 0 ? withoutMark(chunk) : chunk
    this.#offset += chunk.length - bytes.length
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      if (byte === newLine) this.#line++
      if (this.#begins === undefined && !this.#startsRow(byte)) {
        from = at + 1
        continue
      }
      if (this.#begins === undefined) {
        this.#begins = this.#line
        from = at
      }
      const ends = this.#step(byte)
      if (ends === 'page') {
        this.#held.clear()
        this.#begins = undefined
        from = at + 1
      } else if (ends !== undefined) {
        // A closing bracket too many is a row of its own, which does not parse.
        const isBefore = ends === 'before' && this.#held.length + at - from > 0
        const upTo = isBefore ? at : at + 1
        yield this.#row(bytes.subarray(from, upTo), this.#offset + upTo)
        from = upTo
        if (!isBefore) continue
        at--
        if (byte === newLine) this.#line--
      }
    }
    if (this.#begins !== undefined) this.#held.add(bytes.subarray(from))
    this.#offset += bytes.length
  }

  *end(): Generator<RawRow> {
    if (this.#begins === undefined) return
    const isWhole = this.#depth === this.#around && !this.#inString
    const row = this.#row(new Uint8Array(), this.#offset)
    yield isWhole ? row : { line: row.line, end: row.end, fault: 'is cut off: the JSON does not end' }
  }

  /** Between rows: whether one begins here. Brackets around rows are no part of any. */
  #startsRow(byte: number): boolean {
    if (this.#isBehindList) {
      this.#skip(byte)
      return false
    }
    if (isBlank(byte) || byte === comma) return false
    if (this.#around === 0 && byte === openBracket) {
      this.#around = 1
      this.#depth = 1
      return false
    }
    if (this.#around > 0 && byte === closeBracket) {
      this.#depth--
      this.#isBehindList = this.#around === 2
      if (this.#around === 1) this.#around = 0
      return false
    }
    return true
  }

  /** The rest of a page, up to its closing brace. */
  #skip(byte: number): void {
    this.#count(byte)
    if (this.#depth > 0) return
    this.#around = 0
    this.#isBehindList = false
  }

  /** Whether a row ends with or before this byte, or turns out to be a page. */
  #step(byte: number): 'with' | 'before' | 'page' | undefined {
    if (this.#inString) {
      if (this.#isKey && byte !== quote && this.#key.length <= keyBytesMax)
        this.#key += String.fromCharCode(byte)
      this.#count(byte)
      return this.#inString || this.#depth > this.#around ? undefined : 'with'
    }
    const isAtEdge = this.#depth === this.#around
    // A number or a word has no end of its own.
    if (isAtEdge && (isBlank(byte) || byte === comma || byte === closeBracket || byte === closeBrace))
      return 'before'
    if (this.#hasPages && this.#depth === 1 && this.#around === 0) {
      if (byte === openBracket && this.#key === 'data' && !this.#isRow) {
        this.#depth = 2
        this.#around = 2
        return 'page'
      }
      if (byte === quote) {
        this.#isKey = true
        this.#key = ''
      }
      if (byte === colon && (this.#key === 'id' || this.#key === 'type')) this.#isRow = true
    }
    this.#count(byte)
    return this.#depth === this.#around && (byte === closeBrace || byte === closeBracket) ? 'with' : undefined
  }

  #count(byte: number): void {
    if (this.#inString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === backslash) this.#isEscaped = true
      else if (byte === quote) {
        this.#inString = false
        this.#isKey = false
      }
    } else if (byte === quote) this.#inString = true
    else if (byte === openBrace || byte === openBracket) this.#depth++
    else if (byte === closeBrace || byte === closeBracket) this.#depth--
  }

  #row(last: Uint8Array, end: number): RawRow {
    const place = { line: this.#begins ?? this.#line, end }
    const isTooLong = this.#held.wouldExceed(last)
    const row: RawRow = isTooLong
      ? { ...place, fault: tooLong() }
      : { ...place, bytes: this.#held.take(last) }
    this.#held.clear()
    this.#begins = undefined
    this.#depth = this.#around
    this.#isRow = false
    this.#key = ''
    return row
  }
}
