const bits = 31

/**
 * A small Bloom filter over terms. Each index entry of a token carries that of all its terms: where a bit of some term
 * is not in it, the token does not have the term, and nothing needs to be looked up. A set bit proves nothing. Bits
 * are taken from the terms, keyed hashes already, so storage learns what the entries of a token tell it anyway.
 */
export const signatureOf = (terms: readonly Uint8Array[]): number =>
  terms.reduce((signature, term) => signature | bitOf(term[0]) | bitOf(term[1]), 0)

const bitOf = (byte = 0): number => 1 << (byte % bits)
