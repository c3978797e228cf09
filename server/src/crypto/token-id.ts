import { twelveRandomBits, uuidV7 } from './uuid.ts'

const countMax = 0xfff
const firstCountMask = 0x3ff
/** If the clock is set back by more than this, ids follow it. If by less, they go on from the last one. */
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
