import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  append,
  consistencyProof,
  type Edge,
  holdsConsistency,
  holdsInclusion,
  inclusionProof,
  inclusionRanges,
  isEdgeOf,
  leafHash,
  perfectSubtrees,
  rootOf,
  type Subtrees,
  subtreesOf,
} from '../../src/crypto/merkle.ts'
import { isLong } from '../rig/long-run.ts'
import { fc } from '../rig/properties.ts'
import { hash, naiveConsistency, naiveInclusion, naiveRoot } from './naive-tree.ts'

const leavesOf = (size: number): Buffer[] => Array.from({ length: size }, (_, n) => leafHash(`leaf ${n}`))

/** A size, and two numbers up to it, the first of them smaller or equal. */
const sizes = fc
  .tuple(fc.integer({ min: 1, max: 200 }), fc.nat(), fc.nat())
  .map(([size, a, b]) => [size, a % (size + 1), b % (size + 1)].sort((x, y) => x - y))
  .map(([low = 0, middle = 0, size = 0]) => ({ low, middle, size }))

const whole = (leaves: readonly Buffer[]): Subtrees =>
  subtreesOf({ cut: 0, edge: [], leafHashes: (start, end) => leaves.slice(start, end) })

/** All that is left of a tree whose leaves before `cut` were removed: reading one of those fails. */
const remains = (leaves: readonly Buffer[], cut: number): Subtrees =>
  subtreesOf({
    cut,
    edge: append([], 0, leaves.slice(0, cut)),
    leafHashes: (start, end) => {
      assert.ok(start >= cut)
      return leaves.slice(start, end)
    },
  })

describe('RFC 6962 trees', () => {
  test('leaves and nodes are hashed apart, and the empty tree has the hash of nothing (L4)', () => {
    assert.deepEqual(leafHash('abc'), hash(Buffer.of(0), 'abc'))
    assert.equal(
      rootOf([]).toString('hex'),
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    )
    const [first, second] = [leafHash('a'), leafHash(Buffer.from('b'))]
    assert.deepEqual(rootOf(append([], 0, [first])), first)
    assert.deepEqual(rootOf(append([], 0, [first, second])), hash(Buffer.of(1), first, second))
  })

  test('a tree grown in any pieces has the root that the RFC defines, and its edge is as long as its size has bits (L4)', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 12 }), pieces => {
        const leaves = leavesOf(pieces.reduce((sum, piece) => sum + piece, 0))
        let edge: Edge = []
        let size = 0
        for (const piece of pieces) {
          const before = [...edge]
          const grown = append(edge, size, leaves.slice(size, size + piece))
          assert.deepEqual(edge, before)
          edge = grown
          size += piece
          assert.deepEqual(rootOf(edge), naiveRoot(leaves.slice(0, size)))
          assert.ok(isEdgeOf(edge, size))
          assert.ok(!isEdgeOf([...edge, Buffer.alloc(32)], size))
        }
        assert.equal(edge.length, size.toString(2).replaceAll('0', '').length)
      }),
    )
    assert.ok(!isEdgeOf([Buffer.alloc(31)], 1) && isEdgeOf([Buffer.alloc(32)], 2 ** 52))
  })

  test('inclusion proofs are those of the RFC, and hold (L4)', () => {
    for (let size = 1; size <= 40; size++) {
      const leaves = leavesOf(size)
      const root = naiveRoot(leaves)
      for (const [index, leaf] of leaves.entries()) {
        const proof = inclusionProof(whole(leaves), index, size)
        assert.deepEqual(proof, naiveInclusion(index, leaves))
        assert.ok(holdsInclusion({ leaf, index, size, proof, root }))
      }
    }
  })

  test('consistency proofs are those of the RFC, and hold (L4)', () => {
    for (let size = 1; size <= 40; size++) {
      const leaves = leavesOf(size)
      for (let from = 1; from <= size; from++) {
        const proof = consistencyProof(whole(leaves), from, size)
        assert.deepEqual(proof, naiveConsistency(from, leaves))
        const roots = { fromRoot: naiveRoot(leaves.slice(0, from)), root: naiveRoot(leaves) }
        assert.ok(holdsConsistency({ from, size, proof, ...roots }))
      }
    }
  })

  test('the empty tree is the beginning of every tree, which takes no proof (L4)', () => {
    const leaves = leavesOf(5)
    assert.deepEqual(consistencyProof(whole(leaves), 0, 5), [])
    const claim = { from: 0, size: 5, fromRoot: rootOf([]), root: naiveRoot(leaves), proof: [] }
    assert.ok(holdsConsistency(claim))
    assert.ok(!holdsConsistency({ ...claim, fromRoot: leafHash('x') }))
    assert.ok(!holdsConsistency({ ...claim, proof: [leafHash('x')] }))
  })

  test('from the edge at a cut, everything from the cut on can be proven as before (L4, L7)', () => {
    fc.assert(
      fc.property(sizes, ({ low: cut, middle, size }) => {
        const leaves = leavesOf(size)
        const left = remains(leaves, cut)
        assert.deepEqual(consistencyProof(left, middle, size), middle ? naiveConsistency(middle, leaves) : [])
        if (middle < size)
          assert.deepEqual(inclusionProof(left, middle, size), naiveInclusion(middle, leaves))
      }),
      { numRuns: isLong ? 500 : 60 },
    )
  })

  test('what lies before a cut cannot be proven, and says so (L7)', () => {
    const left = remains(leavesOf(13), 10)
    assert.equal(inclusionProof(left, 3, 13), undefined)
    assert.equal(consistencyProof(left, 3, 13), undefined)
    // The first eight are one whole subtree of the edge, so their tree is known.
    assert.deepEqual(consistencyProof(left, 8, 13), naiveConsistency(8, leavesOf(13)))
  })

  test('no proof holds for another leaf, place, size or root, nor one that was changed, cut or made longer (L4)', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), ({ low: index, size }, at) => {
        fc.pre(index < size)
        const leaves = leavesOf(size)
        const claim = {
          leaf: leaves[index]!,
          index,
          size,
          proof: naiveInclusion(index, leaves),
          root: naiveRoot(leaves),
        }
        assert.ok(holdsInclusion(claim))
        const no = (change: Partial<typeof claim>) =>
          assert.ok(!holdsInclusion({ ...claim, ...change }), JSON.stringify(change))
        no({ leaf: leafHash('other') })
        no({ root: leafHash('other') })
        no({ proof: [...claim.proof, leafHash('other')] })
        for (const other of [index - 1, index + 1, size, -1, 0.5, Number.NaN])
          if (other !== index) no({ index: other })
        // A size that leaves the path as it is proves the same place, so only those that change it count.
        no({ size: index })
        if (size > 1) {
          no({ proof: claim.proof.slice(1) })
          no({ proof: claim.proof.with(at % claim.proof.length, leafHash('other')) })
          no({ proof: claim.proof.map(step => step.subarray(1)) })
        }
      }),
      { numRuns: isLong ? 300 : 40 },
    )
  })

  test('no consistency proof holds for other sizes or roots, nor one that was changed, cut or made longer (L4)', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), ({ middle: from, size }, at) => {
        fc.pre(from > 0)
        const leaves = leavesOf(size)
        const claim = {
          from,
          size,
          fromRoot: naiveRoot(leaves.slice(0, from)),
          root: naiveRoot(leaves),
          proof: naiveConsistency(from, leaves),
        }
        assert.ok(holdsConsistency(claim))
        const no = (change: Partial<typeof claim>) =>
          assert.ok(!holdsConsistency({ ...claim, ...change }), JSON.stringify(change))
        no({ fromRoot: leafHash('other') })
        no({ root: leafHash('other') })
        no({ proof: [...claim.proof, leafHash('other')] })
        no({ from: size + 1 })
        no({ from: -1 })
        if (claim.proof.length > 0) {
          no({ proof: claim.proof.slice(1) })
          no({ proof: [] })
          no({ proof: claim.proof.with(at % claim.proof.length, leafHash('other')) })
        }
      }),
      { numRuns: isLong ? 300 : 40 },
    )
  })

  test('two futures of one past are not consistent with each other (L4)', () => {
    const [past, one, other] = [leavesOf(9), leavesOf(17), [...leavesOf(9), ...leavesOf(8)]]
    for (const future of [one, other]) {
      const proof = naiveConsistency(past.length, future)
      const claim = { from: past.length, size: future.length, fromRoot: naiveRoot(past), proof }
      assert.ok(holdsConsistency({ ...claim, root: naiveRoot(future) }))
      assert.ok(!holdsConsistency({ ...claim, root: naiveRoot(future === one ? other : one) }))
    }
  })

  test('what a proof needs can be named before it is read, in a tree of any size (L4)', () => {
    const size = 2 ** 50 - 1
    const index = 2 ** 49 - 1
    const needs = inclusionRanges(index, size).flatMap(perfectSubtrees)
    const asked = new Set<string>()
    const proof = inclusionProof(
      (level, at) => {
        asked.add(`${level} ${at}`)
        return hash(`${level} ${at}`)
      },
      index,
      size,
    )
    assert.deepEqual(new Set(needs.map(({ level, index }) => `${level} ${index}`)), asked)
    assert.equal(proof?.length, 50)
  })
})
