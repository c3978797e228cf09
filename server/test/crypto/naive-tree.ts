import { createHash } from 'node:crypto'

// RFC 6962, section 2.1, written down as it stands there, with D[n] as an array of leaf hashes. Slow, and easy to compare with the text.

export const hash = (...parts: readonly (Uint8Array | string)[]): Buffer => {
  const sha256 = createHash('sha256')
  for (const part of parts) sha256.update(part)
  return sha256.digest()
}

/** The largest power of two smaller than n. */
const split = (n: number): number => {
  let k = 1
  while (k * 2 < n) k *= 2
  return k
}

/** MTH(D[n]) of 2.1, given the hashes of single entries. */
export const naiveRoot = (leaves: readonly Buffer[]): Buffer => {
  if (leaves.length === 0) return hash('')
  const [only] = leaves
  if (leaves.length === 1 && only) return only
  const k = split(leaves.length)
  return hash(Buffer.of(1), naiveRoot(leaves.slice(0, k)), naiveRoot(leaves.slice(k)))
}

/** PATH(m, D[n]) of 2.1.1. */
export const naiveInclusion = (m: number, leaves: readonly Buffer[]): Buffer[] => {
  if (leaves.length === 1) return []
  const k = split(leaves.length)
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)]
  return m < k
    ? [...naiveInclusion(m, left), naiveRoot(right)]
    : [...naiveInclusion(m - k, right), naiveRoot(left)]
}

/** PROOF(m, D[n]) of 2.1.2, for 0 < m ≤ n. */
export const naiveConsistency = (m: number, leaves: readonly Buffer[]): Buffer[] => subproof(m, leaves, true)

const subproof = (m: number, leaves: readonly Buffer[], isWhole: boolean): Buffer[] => {
  if (m === leaves.length) return isWhole ? [] : [naiveRoot(leaves)]
  const k = split(leaves.length)
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)]
  return m <= k
    ? [...subproof(m, left, isWhole), naiveRoot(right)]
    : [...subproof(m - k, right, false), naiveRoot(left)]
}
