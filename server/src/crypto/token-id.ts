import { fillRandom } from './random.ts'

const countMax = 0xfff
const firstCountMask = 0x3ff
/** A clock that is set back by more starts anew. */
const setBackMs = 1_000

const bytes = Buffer.alloc(16)
let time = 0
let count = 0

/**
 * C16: a UUIDv7 whose twelve bits behind the milliseconds count on (RFC 9562, 6.2, method 1): ids of one process come
 * in the order in which they were made, and storage can lay rows in the order of their ids. 62 random bits remain.
 */
export const newTokenId = (now: number): string => {
  fillRandom(bytes)
  if (now > time || now < time - setBackMs) {
    time = now
    count = bytes.readUInt16BE(6) & firstCountMask
  } else if (++count > countMax) {
    time++
    count = 0
  }
  bytes.writeUIntBE(time, 0, 6)
  bytes.writeUInt16BE(0x7000 | count, 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  const hex = bytes.toString('hex')
  // Joined, not concatenated: a text in pieces would be put together again wherever the id is written.
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
