import { HeldBytes, type RawRow, type RowSplitter, tooLong, withoutMark } from './raw-row.ts'

const newLine = 0x0a
const carriageReturn = 0x0d
const blanks: ReadonlySet<number> = new Set([0x09, carriageReturn, 0x20])

/** NDJSON: one row per line. Blank lines are none. */
export class LineRows implements RowSplitter {
  readonly #held = new HeldBytes()
  #line = 1
  #offset = 0;

  *push(chunk: Uint8Array): Generator<RawRow> {
    let from = 0
    for (;;) {
      const at = chunk.indexOf(newLine, from)
      if (at === -1) break
      const row = this.#row(chunk.subarray(from, at), 1)
      if (row !== undefined) yield row
      this.#line++
      from = at + 1
    }
    if (from === chunk.length) return
    const rest = chunk.subarray(from)
    this.#offset += rest.length
    this.#held.add(rest)
  }

  *end(): Generator<RawRow> {
    const row = this.#row(new Uint8Array(), 0)
    if (row !== undefined) yield row
  }

  #row(last: Uint8Array, terminator: number): RawRow | undefined {
    this.#offset += last.length + terminator
    const place = { line: this.#line, end: this.#offset }
    if (this.#held.wouldExceed(last)) {
      this.#held.clear()
      return { ...place, fault: tooLong() }
    }
    const whole = this.#held.take(last)
    const bytes = this.#line === 1 ? withoutMark(whole) : whole
    return bytes.every(byte => blanks.has(byte)) ? undefined : { ...place, bytes }
  }
}
