const bits = 31

/**
 * A small Bloom filter over terms. Each index entry of a token carries the filter of all the token's terms: if a bit of
 * some term is missing, the token does not have that term, and no look-up is needed. A bit that is set proves nothing.
 * The bits come from the terms, which are keyed hashes, so storage learns nothing that the token's entries do not
 * already tell it.
 */
export const signatureOf = (terms: readonly Uint8Array[]): number =>
  terms.reduce((signature, term) => signature | bitOf(term[0]) | bitOf(term[1]), 0)

const bitOf = (byte = 0): number => 1 << (byte % bits)
