import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { getHeapSpaceStatistics } from 'node:v8'
import { openToken, sealToken } from '../../src/crypto/data-seal.ts'
import { ReadStatement } from '../../src/store/sqlite/reading/reading-side.ts'
import { statementCache } from '../../src/store/sqlite/statement-cache.ts'
import { packSets } from '../../src/store/sqlite/writing/packed-sets.ts'
import { newTenantKeys } from '../crypto/test-keys.ts'

const keys = newTenantKeys()
const database = new DatabaseSync(':memory:')
const prepared = statementCache(sql => new ReadStatement(database, sql))
const statements = ['SELECT ? AS one', 'SELECT ? AS two', 'SELECT 3 AS three, ? AS four']
const columns = (version: number) => ({
  id: '0195f2d0-0000-7000-8000-000000000001',
  type: 'card',
  version,
  expiresAt: null,
  createdBy: 'application',
  createdAt: version,
  modifiedBy: null,
  modifiedAt: null,
})
/** Each makes young objects only, which are gone by the next collection of young memory. */
const works: Record<string, (round: number) => unknown> = {
  'sealing and opening a row': round => {
    const row = columns(2 ** 40 + round)
    return openToken(keys, { ...row, sealed: sealToken(keys, row, '{"d":1}') })
  },
  'packing a batch': () =>
    packSets(1, [
      {
        tenant: 1,
        guarded: [{ kind: 'deleteToken', id: '1', ifVersion: 1 }],
        effects: [{ kind: 'dropTransient', tokenId: '1', field: 'cvc' }],
        counters: [{ name: 'type card', by: 1 }],
        log: null,
      },
    ]),
  'reading rows': round => prepared(statements[round % statements.length] ?? '').get(round),
}

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0

/** Whatever lives by now survives some collections of young memory. */
const makeOld = (): void => {
  const made: number[][] = []
  for (let count = 0; count < 200_000; count++) made[count % 100] = new Array(100).fill(count)
}

const rounds = 20_000
/** What V8 makes by the way comes to two. One text of a number makes 32, a row as an object 72, a map that is used again 400. */
const bytesPerRoundMax = 15

describe('what a request leaves behind is not where only the slow collector looks (docs/performance.md)', () => {
  for (const [name, work] of Object.entries(works))
    test(name, () => {
      const run = (): void => {
        for (let round = 0; round < rounds; round++) work(round)
      }
      run()
      makeOld()
      run()
      const before = oldBytes()
      run()
      const left = (oldBytes() - before) / rounds
      assert.ok(left < bytesPerRoundMax, `${left} bytes`)
    })
})
