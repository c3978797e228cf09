import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TamperedError } from '../../../src/domain/tampered-error.ts'
import { inListOrder, type ListPosition, requireProgress } from '../../../src/domain/tokens/list-position.ts'

/** In the order of a list. Ids are compared as UTF-8, where the emoji comes last; as UTF-16 the private-use character would. */
const positions: readonly ListPosition[] = [
  { createdAt: 3, id: 'b' },
  { createdAt: 2, id: 'B' },
  { createdAt: 2, id: 'a' },
  { createdAt: 2, id: 'a-longer-one' },
  { createdAt: 2, id: '\ue000' },
  { createdAt: 2, id: '😀' },
  { createdAt: 1, id: 'a' },
]

test('newest first, ties by the bytes of the id (C24.4)', () => {
  assert.deepEqual([...positions].reverse().sort(inListOrder), positions)
})

test('a walk through a list goes on from every position only to a later one (SECURITY.md)', () => {
  for (const [from, start] of positions.entries())
    for (const [to, next] of positions.entries()) {
      const walk = () => requireProgress(start, next)
      if (to > from) walk()
      else assert.throws(walk, TamperedError)
    }
  for (const first of positions) requireProgress(undefined, first)
})
