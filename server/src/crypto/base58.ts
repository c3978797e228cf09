const alphabet = Buffer.from('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz')

/** Base58 as Bitcoin writes it: no 0, O, I, l. Leading zero bytes become leading `1`s. */
export const base58 = (bytes: Uint8Array): string => {
  // Two bytes in, five digits out at a time: 58^5 * 2^16 stays inside a safe integer.
  const base = 58 ** 5
  const limbs: number[] = []
  let zeros = 0
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++
  // With an odd number of bytes the first pair lacks its first byte, which counts as 0.
  for (let i = zeros - ((bytes.length - zeros) % 2); i < bytes.length; i += 2) {
    let carry = (i < zeros ? 0 : (bytes[i] ?? 0)) * 256 + (bytes[i + 1] ?? 0)
    for (let j = 0; j < limbs.length; j++) {
      const value = (limbs[j] ?? 0) * 65_536 + carry
      carry = Math.floor(value / base)
      // Not `%`: beyond 32 bits it becomes a call that takes as long as everything else here.
      limbs[j] = value - carry * base
    }
    if (carry > 0) limbs.push(carry)
  }
  const text = Buffer.allocUnsafe(zeros + limbs.length * 5)
  let start = text.length
  for (let j = 0; j < limbs.length; j++) {
    // A limb fits 32 bits: an integer is divided faster than a double.
    let limb = (limbs[j] ?? 0) | 0
    const last = j === limbs.length - 1
    for (let k = 0; k < 5 && (!last || limb > 0); k++) {
      const rest = (limb / 58) | 0
      text[--start] = alphabet[limb - rest * 58] ?? 0
      limb = rest
    }
  }
  while (zeros-- > 0) text[--start] = alphabet[0] ?? 0
  return text.toString('latin1', start)
}
