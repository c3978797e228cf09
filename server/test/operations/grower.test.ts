import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { threadedGrower } from '../../src/operations/log/evidence/grower.ts'

test('trees that grow at the same time on one thread are each answered about themselves (L4)', async () => {
  const grower = threadedGrower(createSecretKey(randomBytes(32)))
  try {
    const sizes = [7, 0, 12, 3, 7, 1]
    const grown = await Promise.all(
      sizes.map(size => grower.grow({ tenantId: `tenant ${size}`, size, edge: [], blocks: [] })),
    )
    assert.deepEqual(
      grown.map(({ size }) => size),
      sizes,
    )
  } finally {
    await grower.close()
  }
})
