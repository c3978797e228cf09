import { fillRandom } from './random.ts'

const bytes = Buffer.alloc(16)
const text = Buffer.from('00000000-0000-0000-0000-000000000000')
/** Where the two digits of each byte start in the text. */
const offsets = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const digits = Buffer.from('0123456789abcdef')

/**
 * A UUIDv7 (RFC 9562) with random bits only. Every request gets one. Node's own is a rope of twenty strings, and flattening it on first
 * use takes longer than all of this.
 */
export const newUuid = (): string => uuidV7(Date.now(), twelveRandomBits())

/** The milliseconds, twelve bits, and 62 random ones. */
const uuidV7 = (milliseconds: number, twelveBits: number): string => {
  fillRandom(bytes)
  bytes.writeUIntBE(milliseconds, 0, 6)
  bytes.writeUInt16BE(0x7000 | twelveBits, 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  return toText()
}

const pair = Buffer.alloc(2)

const twelveRandomBits = (): number => {
  fillRandom(pair)
  return pair.readUInt16BE() & 0xfff
}

/** Takes half as long as slicing a hexadecimal text, whose result V8 would also keep in pieces until it is used. */
const toText = (): string => {
  let index = 0
  for (const offset of offsets) {
    const byte = bytes[index++] ?? 0
    text[offset] = digits[byte >> 4] ?? 0
    text[offset + 1] = digits[byte & 0xf] ?? 0
  }
  return text.toString('latin1')
}

const countMax = 0xfff
const firstCountMask = 0x3ff
/** If the clock is set back by more than this, ids follow it. If by less, they continue from the last one. */
const setBackMs = 1_000

let time = 0
let count = 0

/**
 * C16: a UUIDv7 whose twelve bits after the milliseconds are a counter (RFC 9562, 6.2, method 1). Ids of one process
 * therefore sort in the order they were made, and storage can lay out rows in id order. 62 random bits remain.
 */
export const newTokenId = (now: number): string => {
  if (now > time || now < time - setBackMs) {
    time = now
    count = twelveRandomBits() & firstCountMask
  } else if (++count > countMax) {
    time++
    count = 0
  }
  return uuidV7(time, count)
}
