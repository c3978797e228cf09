import { hash } from 'node:crypto'

// The trees of RFC 6962, section 2.1. A tree is known by its size and its edge, from which it can grow; proofs need subtrees as well.
// Sizes go beyond what bit operators hold (2^31), so all arithmetic is on numbers.

const hashBytes = 32
const leafPrefix = Buffer.of(0)
const nodePrefix = Buffer.of(1)

/** In one call: a hash object with three updates takes a third longer. */
const sha256 = (bytes: Uint8Array | string): Buffer => hash('sha256', bytes, 'buffer')

export const leafHash = (leaf: Uint8Array | string): Buffer =>
  sha256(typeof leaf === 'string' ? `\0${leaf}` : Buffer.concat([leafPrefix, leaf]))

const node = Buffer.alloc(1 + 2 * hashBytes, nodePrefix)

const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => {
  node.set(left, 1)
  node.set(right, 1 + hashBytes)
  return sha256(node)
}

/**
 * The hashes of the perfect subtrees that a tree consists of, from the largest, on the left, to the smallest: one for each bit of its
 * size. It is all that a tree needs in order to grow and to know its root.
 */
export type Edge = readonly Buffer[]

/** The edge of a tree of `size` leaves after some more of them. */
export const append = (edge: Edge, size: number, leafHashes: Iterable<Buffer>): Edge => {
  const grown = [...edge]
  let leaves = size
  for (const leaf of leafHashes) {
    let carried = leaf
    // A carry of binary addition: two subtrees of the same size become one.
    for (let rest = leaves; rest % 2 === 1; rest = (rest - 1) / 2) {
      const left = grown.pop()
      if (left === undefined) throw new Error('the edge does not belong to a tree of this size')
      carried = nodeHash(left, carried)
    }
    grown.push(carried)
    leaves++
  }
  return grown
}

export const rootOf = (edge: Edge): Buffer => {
  const last = edge.at(-1)
  if (last === undefined) return sha256('')
  return edge.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last)
}

/** Whether the edge has the form that it must have at this size. */
export const isEdgeOf = (edge: Edge, size: number): boolean =>
  isSize(size) &&
  edge.length === perfectSubtrees({ start: 0, end: size }).length &&
  edge.every(subtree => subtree.length === hashBytes)

const isSize = (size: number): boolean => Number.isSafeInteger(size) && size >= 0

/** The leaves from `start` up to, but not including, `end`. */
export type Range = { readonly start: number; readonly end: number }

/** The perfect subtree over the leaves from `index` × 2^`level` on. */
export type Subtree = { readonly level: number; readonly index: number }

/** The perfect subtrees that a subtree of the tree consists of, from the left. */
export const perfectSubtrees = ({ start, end }: Range): Subtree[] => {
  const found: Subtree[] = []
  for (let at = start; at < end; ) {
    const level = floorLog2(end - at)
    found.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return found
}

/** Math.log2 rounds: of 2^49 - 1 it makes 49. */
const floorLog2 = (value: number): number => {
  const level = Math.floor(Math.log2(value))
  return 2 ** level > value ? level - 1 : level
}

/** The hash of a perfect subtree, or undefined if it cannot be known any more. */
export type Subtrees = (level: number, index: number) => Buffer | undefined

/**
 * What is left of a tree whose leaves before `cut` were removed: its edge there, and the hashes of the leaves from there on. With
 * `cut` 0 it is a whole tree.
 */
export type Remains = {
  readonly cut: number
  readonly edge: Edge
  readonly leafHashes: (start: number, end: number) => Iterable<Buffer>
}

/** Reads every leaf of a subtree that it is asked for. Whoever keeps the hashes of subtrees can answer from those. */
export const subtreesOf = ({ cut, edge, leafHashes }: Remains): Subtrees => {
  const kept = perfectSubtrees({ start: 0, end: cut })
  const hashOf: Subtrees = (level, index) => {
    const start = index * 2 ** level
    const end = start + 2 ** level
    if (start >= cut) return rootOf(append([], 0, leafHashes(start, end)))
    if (end <= cut) return edge[kept.findIndex(subtree => subtree.level === level && subtree.index === index)]
    const left = hashOf(level - 1, index * 2)
    const right = hashOf(level - 1, index * 2 + 1)
    return left && right && nodeHash(left, right)
  }
  return hashOf
}

/** Where a subtree of this size is divided: the largest power of two below it. */
const leftSize = (size: number): number => 2 ** floorLog2(size - 1)

/** The subtrees beside the path from a leaf to the root, in the order of an inclusion proof (2.1.1). */
export const inclusionRanges = (index: number, size: number): Range[] => {
  const beside: Range[] = []
  let { start, end }: Range = { start: 0, end: size }
  while (end - start > 1) {
    const middle = start + leftSize(end - start)
    if (index < middle) {
      beside.push({ start: middle, end })
      end = middle
    } else {
      beside.push({ start, end: middle })
      start = middle
    }
  }
  return beside.reverse()
}

/** The subtrees that a consistency proof shows, in its order (2.1.2). The tree of `from` leaves itself is known to whoever checks it. */
export const consistencyRanges = (from: number, size: number): Range[] => {
  if (from === 0 || from === size) return []
  const shown: Range[] = []
  let { start, end }: Range = { start: 0, end: size }
  while (end !== from) {
    const middle = start + leftSize(end - start)
    if (from <= middle) {
      shown.push({ start: middle, end })
      end = middle
    } else {
      shown.push({ start, end: middle })
      start = middle
    }
  }
  if (start > 0) shown.push({ start, end })
  return shown.reverse()
}

/** Undefined if a subtree that it needs is not known any more. */
export const inclusionProof = (subtrees: Subtrees, index: number, size: number): Buffer[] | undefined =>
  prove(subtrees, inclusionRanges(index, size))

/** Undefined if a subtree that it needs is not known any more. */
export const consistencyProof = (subtrees: Subtrees, from: number, size: number): Buffer[] | undefined =>
  prove(subtrees, consistencyRanges(from, size))

const prove = (subtrees: Subtrees, ranges: readonly Range[]): Buffer[] | undefined => {
  const proof: Buffer[] = []
  for (const range of ranges) {
    const hashes = perfectSubtrees(range).map(({ level, index }) => subtrees(level, index))
    if (!hashes.every(subtree => subtree !== undefined)) return undefined
    proof.push(rootOf(hashes))
  }
  return proof
}

const isProof = (proof: readonly Uint8Array[], ranges: readonly Range[]): boolean =>
  proof.length === ranges.length && proof.every(beside => beside.length === hashBytes)

/** Whether the proof shows that the tree of `size` leaves with this root has the leaf at `index`. */
export const holdsInclusion = ({
  leaf,
  index,
  size,
  root,
  proof,
}: {
  /** Its hash. */
  leaf: Buffer
  index: number
  size: number
  root: Buffer
  proof: readonly Buffer[] | undefined
}): boolean => {
  if (proof === undefined || !isSize(index) || !isSize(size) || index >= size) return false
  const ranges = inclusionRanges(index, size)
  if (!isProof(proof, ranges)) return false
  return proof
    .reduce(
      (under, beside, at) =>
        (ranges[at]?.start ?? 0) > index ? nodeHash(under, beside) : nodeHash(beside, under),
      leaf,
    )
    .equals(root)
}

/** Whether the proof shows that the tree of `from` leaves with `fromRoot` is the beginning of the tree of `size` with `root`. */
export const holdsConsistency = ({
  from,
  fromRoot,
  size,
  root,
  proof,
}: {
  from: number
  fromRoot: Buffer
  size: number
  root: Buffer
  proof: readonly Buffer[] | undefined
}): boolean => {
  if (proof === undefined || !isSize(from) || !isSize(size) || from > size) return false
  const ranges = consistencyRanges(from, size)
  if (!isProof(proof, ranges)) return false
  if (from === 0) return fromRoot.equals(rootOf([]))
  if (from === size) return fromRoot.equals(root)
  // Both trees are built from the subtree that they share, upwards; what lies right of `from` is in the larger one only.
  const isShared = ranges[0]?.end === from
  const [shared, ...rest] = isShared ? proof : [fromRoot, ...proof]
  if (shared === undefined) return false
  const places = isShared ? ranges.slice(1) : ranges
  let [older, newer] = [shared, shared]
  for (const [at, beside] of rest.entries())
    if ((places[at]?.start ?? 0) >= from) newer = nodeHash(newer, beside)
    else {
      older = nodeHash(beside, older)
      newer = nodeHash(beside, newer)
    }
  return older.equals(fromRoot) && newer.equals(root)
}
