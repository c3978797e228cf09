/** Every way to damage bytes in one step: flip a bit, cut to a shorter length, put a byte in front or behind. */
export function* damages(whole: Uint8Array): Generator<{ how: string; bytes: Uint8Array }> {
  for (let bit = 0; bit < whole.length * 8; bit++) {
    const bytes = Uint8Array.from(whole)
    bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
    yield { how: `bit ${bit} flipped`, bytes }
  }
  for (let length = 0; length < whole.length; length++) {
    yield { how: `cut to ${length} bytes`, bytes: whole.subarray(0, length) }
    yield { how: `its last ${length} bytes`, bytes: whole.subarray(whole.length - length) }
  }
  yield { how: 'a byte behind', bytes: Uint8Array.from([...whole, 0]) }
  yield { how: 'a byte in front', bytes: Uint8Array.from([1, ...whole]) }
  yield { how: 'twice', bytes: Uint8Array.from([...whole, ...whole]) }
  yield { how: 'all zero', bytes: new Uint8Array(whole.length) }
}
