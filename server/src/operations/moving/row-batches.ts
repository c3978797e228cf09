import { createHash, type Hash } from 'node:crypto'
import { tokensPerRecord } from '../../domain/acts/act.ts'
import type { RawRow } from '../../domain/moving/raw-row.ts'
import type { RowForm } from '../../domain/moving/row-form.ts'
import type { ImportState } from './kept-import.ts'

/** Rows that are imported together, and what the bytes up to the last one's end were. */
export type RowBatch = { readonly rows: readonly RawRow[]; readonly end: number; readonly digest: string }

/** A batch ends early with this many bytes, so that memory has a limit: rows of a megabyte come one or two at a time. */
const bytesPerBatch = 1 << 19

/** The file is another one than the import began with. */
export class OtherFileError extends Error {}

/**
 * The rows behind those that are done with, in batches. The bytes before them are read too: they must be those that the import
 * began with. The last batch may be empty; it ends where the file does.
 */
export async function* rowBatches(
  chunks: AsyncIterable<Uint8Array>,
  { rows, header }: RowForm,
  { end: doneUpTo, digested, digest: doneDigest }: Pick<ImportState, 'end' | 'digested' | 'digest'>,
): AsyncGenerator<RowBatch> {
  const read = new HashedBytes()
  let isFirst = true
  let isVerified = false
  let batch: RawRow[] = []
  let began = doneUpTo
  const verify = (): void => {
    if (isVerified || read.length < digested) return
    if (read.digestUpTo(digested) !== doneDigest) throw new OtherFileError()
    isVerified = true
  }
  const add = (row: RawRow): void => {
    const isHeader = isFirst && header !== undefined
    isFirst = false
    if (isHeader) header?.(row)
    else if (row.end > doneUpTo) batch.push(row)
  }
  const lastEnd = (): number => batch.at(-1)?.end ?? began
  // What is not known to be of this file is not stored.
  const mayBeStored = (): boolean => isVerified && lastEnd() >= digested
  const take = (end: number): RowBatch => {
    const taken = { rows: batch, end, digest: read.digestUpTo(end) }
    batch = []
    began = end
    return taken
  }
  for await (const chunk of chunks) {
    read.add(chunk)
    verify()
    for (const row of rows.push(chunk)) {
      add(row)
      const isFull = batch.length >= tokensPerRecord || lastEnd() - began >= bytesPerBatch
      if (isFull && mayBeStored()) yield take(lastEnd())
    }
    // Behind the batch is one row without end.
    const isFollowed = batch.length > 0 && read.length - lastEnd() >= bytesPerBatch
    if (isFollowed && mayBeStored()) yield take(lastEnd())
    if (!isVerified) read.hashUpTo(Math.min(read.length, digested))
    // No row will end before this.
    else if (batch.length === 0) read.hashUpTo(read.length)
  }
  verify()
  if (!isVerified) throw new OtherFileError()
  for (const row of rows.end()) add(row)
  yield take(read.length)
}

/** The digest of what was read, up to where rows end. Holds the bytes behind that. */
class HashedBytes {
  readonly #hash: Hash = createHash('sha256')
  #hashed = 0
  #behind: Uint8Array[] = []
  length = 0

  add(chunk: Uint8Array): void {
    this.#behind.push(chunk)
    this.length += chunk.length
  }

  digestUpTo(end: number): string {
    this.hashUpTo(end)
    return this.#hash.copy().digest('base64')
  }

  hashUpTo(end: number): void {
    while (this.#hashed < end) {
      const [first] = this.#behind
      if (first === undefined) return
      const part = first.subarray(0, end - this.#hashed)
      this.#hash.update(part)
      this.#hashed += part.length
      if (part.length === first.length) this.#behind.shift()
      else this.#behind[0] = first.subarray(part.length)
    }
  }
}
