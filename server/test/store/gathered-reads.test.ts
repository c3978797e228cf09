import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatheredReads } from '../../src/store/postgres/gathered-reads.ts'

const gathering = (answer: (key: string) => string | undefined = key => key) => {
  const statements: [tenant: number, keys: readonly string[]][] = []
  const reads = new GatheredReads<string, string>(async (tenant, keys) => {
    statements.push([tenant, keys])
    return keys.map(answer)
  })
  return { reads, statements }
}

test('reads of a tenant that meet share a statement, and those of different tenants never do (C37)', async () => {
  const { reads, statements } = gathering()
  const asked = [reads.read(1, 'a'), reads.read(2, 'b'), Promise.resolve().then(() => reads.read(1, 'c'))]
  assert.deepEqual(await Promise.all(asked), ['a', 'b', 'c'])
  assert.deepEqual(statements, [
    [1, ['a', 'c']],
    [2, ['b']],
  ])
  assert.equal(await reads.read(1, 'late'), 'late')
  assert.deepEqual(statements.at(-1), [1, ['late']])
})

test('a statement reads no more than 64 keys, and whatever is beyond goes in the next (C37)', async () => {
  const { reads, statements } = gathering()
  const keys = Array.from({ length: 130 }, (_, n) => `${n}`)
  assert.deepEqual(await Promise.all(keys.map(key => reads.read(1, key))), keys)
  assert.deepEqual(
    statements.map(([, sent]) => sent.length),
    [64, 64, 2],
  )
})

test('a statement that fails fails for everybody who asked, and for nobody after them (C2.23)', async () => {
  const { reads } = gathering(key => {
    if (key === 'broken') throw new Error('broken')
    return key
  })
  const asked = await Promise.allSettled([reads.read(1, 'a'), reads.read(1, 'broken'), reads.read(2, 'b')])
  assert.deepEqual(
    asked.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled'],
  )
  assert.equal(await reads.read(1, 'a'), 'a')
})
