import { isUtf8 } from 'node:buffer'
import { HeldBytes, type RawRow, type RowSplitter, tooLong, withoutMark } from './raw-row.ts'

const newLine = 0x0a
const carriageReturn = 0x0d
const quote = 0x22

/**
 * Where a row stands: `closing` is behind a quote that may close its cell, or be the first of two; `returned` is behind the carriage
 * return after such a quote.
 */
type State = 'start' | 'plain' | 'quoted' | 'closing' | 'returned' | 'astray'

/**
 * CSV as in RFC 4180: cells may be quoted, and hold separators, line ends and doubled quotes then. A row that breaks the rules is a
 * fault of its own, and the next line begins a new one.
 */
export class CsvRows implements RowSplitter {
  readonly #held = new HeldBytes()
  readonly #separator: number
  #state: State = 'start'
  /** The line that the row begins on, and the one that was reached. */
  #begins = 1
  #line = 1
  #offset = 0
  #isFirst = true

  constructor(separator: string) {
    this.#separator = separator.charCodeAt(0)
  }

  *push(chunk: Uint8Array): Generator<RawRow> {
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (byte === newLine) {
        this.#line++
        // A quote that is never closed must not swallow the rest of the file.
        const isInside = this.#state === 'quoted' && !this.#held.wouldExceed(chunk.subarray(from, at))
        if (isInside) continue
        const row = this.#row(chunk.subarray(from, at), 1)
        if (row !== undefined) yield row
        from = at + 1
      } else this.#state = this.#next(byte)
    }
    const rest = chunk.subarray(from)
    this.#offset += rest.length
    this.#held.add(rest)
  }

  *end(): Generator<RawRow> {
    const row = this.#row(new Uint8Array(), 0)
    if (row !== undefined) yield row
  }

  #next(byte: number): State {
    if (this.#state === 'astray' || this.#state === 'returned') return 'astray'
    if (this.#state === 'quoted') return byte === quote ? 'closing' : 'quoted'
    if (byte === this.#separator) return 'start'
    if (this.#state === 'closing')
      return byte === quote ? 'quoted' : byte === carriageReturn ? 'returned' : 'astray'
    if (byte !== quote) return 'plain'
    return this.#state === 'start' ? 'quoted' : 'astray'
  }

  #row(last: Uint8Array, terminator: number): RawRow | undefined {
    this.#offset += last.length + terminator
    const place = { line: this.#begins, end: this.#offset }
    const state = this.#state
    const isTooLong = this.#held.wouldExceed(last)
    const whole = isTooLong ? undefined : this.#held.take(last)
    this.#held.clear()
    this.#state = 'start'
    this.#begins = this.#line
    if (whole === undefined)
      return { ...place, fault: state === 'quoted' ? `${tooLong()}; a quote may not be closed` : tooLong() }
    const bytes = this.#isFirst ? withoutMark(whole) : whole
    this.#isFirst = false
    if (bytes.length === 0 || (bytes.length === 1 && bytes[0] === carriageReturn)) return undefined
    if (state === 'quoted') return { ...place, fault: 'has a quote that is not closed' }
    if (state === 'astray') return { ...place, fault: 'has a quote where none may be' }
    if (!isUtf8(bytes)) return { ...place, fault: 'is not valid UTF-8' }
    return {
      ...place,
      cells: cellsOf(Buffer.from(bytes).toString('utf8'), String.fromCharCode(this.#separator)),
    }
  }
}

/** The cells of one row whose quotes are known to be in order. */
const cellsOf = (row: string, separator: string): string[] => {
  const text = row.endsWith('\r') ? row.slice(0, -1) : row
  const cells: string[] = []
  for (let at = 0; at <= text.length; ) {
    if (text[at] !== '"') {
      const end = text.indexOf(separator, at)
      const upTo = end === -1 ? text.length : end
      cells.push(text.slice(at, upTo))
      at = upTo + 1
      continue
    }
    let cell = ''
    for (at++; ; ) {
      const end = text.indexOf('"', at)
      cell += text.slice(at, end)
      at = end + 1
      if (text[at] !== '"') break
      cell += '"'
      at++
    }
    cells.push(cell)
    at++
  }
  return cells
}
