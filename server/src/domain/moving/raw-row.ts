import { limits } from '../limits.ts'

/** One row of a file as it was found: its bytes, its cells, or why there are none. */
export type RawRow = {
  /** The line that it begins on, from 1. */
  readonly line: number
  /** How many bytes of the file end with it. */
  readonly end: number
} & ({ readonly bytes: Uint8Array } | { readonly cells: readonly string[] } | { readonly fault: string })

/**
 * Finds the rows of a file while it is read. It holds one row at most, and no more of that than a request may have: a file that is
 * one endless line costs no memory.
 */
export type RowSplitter = {
  push(chunk: Uint8Array): Iterable<RawRow>
  end(): Iterable<RawRow>
}

export const tooLong = (): string => `is longer than ${limits.bodyBytes} bytes`

/** The bytes of a row that began in earlier chunks. */
export class HeldBytes {
  #pieces: Uint8Array[] = []
  length = 0

  /** Of a row that is too long nothing is held, only its length. */
  add(piece: Uint8Array): void {
    this.length += piece.length
    if (this.length > limits.bodyBytes) {
      this.#pieces = []
      return
    }
    // A copy: the chunk that it was cut from may be large, and a row may come in a million chunks.
    this.#pieces.push(Buffer.from(piece))
    if (this.#pieces.length > 1_000) this.#pieces = [Buffer.concat(this.#pieces)]
  }

  /** Whether the row is too long, if it ends with this piece. */
  wouldExceed({ length }: Uint8Array): boolean {
    return this.length + length > limits.bodyBytes
  }

  /** All of the row, given its last piece. */
  take(last: Uint8Array): Uint8Array {
    const whole = this.#pieces.length === 0 ? last : Buffer.concat([...this.#pieces, last])
    this.clear()
    return whole
  }

  clear(): void {
    this.#pieces = []
    this.length = 0
  }
}

const byteOrderMark = [0xef, 0xbb, 0xbf] as const

/** Without the mark that some programs put before UTF-8. */
export const withoutMark = (bytes: Uint8Array): Uint8Array =>
  byteOrderMark.every((byte, at) => bytes[at] === byte) ? bytes.subarray(byteOrderMark.length) : bytes
