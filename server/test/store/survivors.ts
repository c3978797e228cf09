import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Format and key version, which all sealed values share: with three bytes of a nonce they would be a piece of many of them. */
const headerBytes = 5

/** The `bytes` that a query on a folder's vault returns, sealed values, without their headers. */
export const sealedBytes = (folder: string, sql: string): Uint8Array[] => {
  const outsider = new DatabaseSync(join(folder, 'vault.db'), { readOnly: true })
  const rows = outsider.prepare(sql).all()
  outsider.close()
  return rows.map(({ bytes }) => (bytes as Uint8Array).subarray(headerBytes))
}

const pieceBytes = 8
/** One bit for each value of the low bits of a piece's head: it rules out most places in a file without a look-up. */
const filterBits = 2 ** 22

/**
 * Which of these secrets have left a piece of eight bytes or more in any file of the folder. Pieces are taken side by
 * side, so that any fifteen consecutive bytes of a secret contain a whole one.
 */
export const survivors = (folder: string, secrets: readonly Uint8Array[]): number[] => {
  const pieces = new Map<number, { piece: Buffer; secret: number }[]>()
  const filter = new Uint8Array(filterBits / 8)
  for (const [secret, bytes] of secrets.entries()) {
    const whole = Buffer.from(bytes)
    for (let start = 0; start + pieceBytes <= whole.length; start += pieceBytes) {
      const piece = whole.subarray(start, start + pieceBytes)
      const head = piece.readInt32LE(0)
      const bit = head & (filterBits - 1)
      filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7))
      const known = pieces.get(head)
      if (known === undefined) pieces.set(head, [{ piece, secret }])
      else known.push({ piece, secret })
    }
  }
  const found = new Set<number>()
  for (const name of readdirSync(folder)) {
    const content = readFileSync(join(folder, name))
    let head = 0
    for (let end = 0; end < content.length; end++) {
      // The four bytes that end here, as one signed 32-bit number.
      head = (head >>> 8) | ((content[end] ?? 0) << 24)
      const bit = head & (filterBits - 1)
      if (((filter[bit >>> 3] ?? 0) & (1 << (bit & 7))) === 0) continue
      for (const { piece, secret } of pieces.get(head) ?? [])
        if (piece.equals(content.subarray(end - 3, end - 3 + pieceBytes))) found.add(secret)
    }
  }
  return [...found].sort((a, b) => a - b)
}
