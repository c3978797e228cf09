import { open, truncate } from 'node:fs/promises'
import type { Anchor } from './anchor.ts'

/** Longer than any note with its signatures. */
const tailBytes = 1 << 16

/** A note ends with the lines of its signatures, and its text begins after those of the one before. */
const signatureLine = /^— \S+ \S+$/u

/** A file, best on another disk or machine: `file:/mnt/anchor/strongroom.notes`. */
export const fileAnchor = (path: string): Anchor => {
  /** The last whole note, and where it ends. */
  const readTail = async (): Promise<{ note: string | undefined; end: number; size: number }> => {
    const file = await open(path, 'a+', 0o600)
    try {
      const { size } = await file.stat()
      const start = Math.max(0, size - tailBytes)
      const bytes = Buffer.alloc(size - start)
      await file.read(bytes, 0, bytes.length, start)
      const { note, end } = lastNote(bytes.toString('utf8'))
      return {
        note,
        size,
        end: size - bytes.length + Buffer.byteLength(bytes.toString('utf8').slice(0, end)),
      }
    } finally {
      await file.close()
    }
  }
  return {
    name: `file:${path}`,
    newest: async () => (await readTail()).note,
    append: async note => {
      const { end, size } = await readTail()
      // What a power cut left of a note would be taken for the beginning of this one.
      if (end < size) await truncate(path, end)
      // Only to append: the file may permit nothing else (`chattr +a`).
      const file = await open(path, 'a', 0o600)
      try {
        await file.write(note)
        await file.sync()
      } finally {
        await file.close()
      }
    },
  }
}

/** The last whole note in a text that may begin in the middle of one, and where it ends. */
const lastNote = (text: string): { note: string | undefined; end: number } => {
  let end = 0
  let begun = 0
  let note: string | undefined
  let isSigned = false
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\n', at)
    if (next < 0) break
    const isSignature = signatureLine.test(text.slice(at, next))
    if (isSigned && !isSignature) begun = at
    if (isSignature) {
      end = next + 1
      note = text.slice(begun, end)
    }
    isSigned = isSignature
    at = next + 1
  }
  return { note, end }
}
