import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ResultRow } from '../../../src/store/rows.ts'
import type { Outcome } from '../../../src/store/write-set.ts'
import {
  assertRows,
  bytes,
  insertion,
  type OpenStore,
  pendingAfter,
  StoreRig,
  tokenRow,
  writeSet,
} from './rig.ts'

/** Kept answers of idempotent requests, and which tokens were active in a month. */
export const resultContract = (open: OpenStore): void => {
  describe('kept answers', () => {
    const rig = new StoreRig(open)
    const hash = bytes('an idempotency key')
    const result = (tenant: number, more: Partial<ResultRow> = {}): ResultRow => ({
      tenant,
      hash,
      expiresAt: 100,
      sealed: bytes('sealed answer'),
      ...more,
    })
    const keep = (row: ResultRow, now: number, tokenId = 'made'): Promise<Outcome> =>
      rig.store.commit({
        ...insertion(row.tenant, [{ row: tokenRow(row.tenant, tokenId), terms: [] }]),
        guarded: [
          { kind: 'insertToken', row: tokenRow(row.tenant, tokenId) },
          { kind: 'keepResult', row, now },
        ],
      })

    test('an answer is kept together with the writes it reports; a second one for the same key writes nothing (C33.5, C33.4)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      assert.deepEqual(await keep(result(tenant), 0), { committed: true })
      assertRows(await rig.store.getResult(tenant, hash, 0), result(tenant))
      assert.equal(await rig.store.getResult(other, hash, 0), undefined)
      assert.equal(await rig.store.getResult(tenant, bytes('another key'), 0), undefined)

      const late = result(tenant, { sealed: bytes('another answer') })
      assert.deepEqual(await keep(late, 99, 'late'), { committed: false, conflict: 'resultKept' })
      assert.equal(await rig.store.getToken(tenant, 'late'), undefined)
      assertRows(await rig.store.getResult(tenant, hash, 99), result(tenant))
      assert.deepEqual(await keep(result(other), 0), { committed: true })
    })

    test('a long answer comes back whole (C33.5)', async () => {
      const tenant = await rig.newTenant()
      const long = result(tenant, { sealed: new Uint8Array(50_000).fill(7) })
      await keep(long, 0)
      assertRows(await rig.store.getResult(tenant, hash, 0), long)
    })

    test('a kept answer is gone once it expires, and its key is free for another (C33.10)', async () => {
      const tenant = await rig.newTenant()
      await keep(result(tenant), 0)
      assertRows(await rig.store.getResult(tenant, hash, 99), result(tenant))
      assert.equal(await rig.store.getResult(tenant, hash, 100), undefined)
      const next = result(tenant, { expiresAt: 200, sealed: bytes('the next answer') })
      assert.deepEqual(await keep(next, 100, 'second'), { committed: true })
      assertRows(await rig.store.getResult(tenant, hash, 100), next)
    })

    test('a kept answer is dropped if its expiry has come or lies too far ahead, and then its key is free (C33.10)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      await keep(result(tenant), 0)
      await keep(result(other), 0)
      const drop = (after: number, upTo: number): Promise<void> =>
        rig.store.dropResult(tenant, hash, { after, upTo })
      await drop(99, 100)
      await rig.store.dropResult(tenant, bytes('another key'), { after: 0, upTo: 99 })
      assertRows(await rig.store.getResult(tenant, hash, 0), result(tenant))
      await drop(0, 99)
      assert.equal(await rig.store.getResult(tenant, hash, 0), undefined)
      assertRows(await rig.store.getResult(other, hash, 0), result(other))

      const next = result(tenant, { sealed: bytes('the next answer') })
      assert.deepEqual(await keep(next, 0, 'second'), { committed: true })
      await drop(100, 200)
      assert.equal(await rig.store.getResult(tenant, hash, 0), undefined)
    })

    test('of many answers for one key over two connections exactly one is kept (C33.4)', async () => {
      const tenant = await rig.newTenant()
      const stores = [rig.store, await rig.again()]
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          stores[i % 2]?.commit(
            writeSet(tenant, {
              guarded: [
                { kind: 'keepResult', row: result(tenant, { sealed: bytes(`answer ${i}`) }), now: 0 },
              ],
              counters: [{ name: 'kept', by: 1 }],
            }),
          ),
        ),
      )
      assert.equal(outcomes.filter(outcome => outcome?.committed).length, 1)
      assert.equal((await rig.store.readCounters(tenant, ['kept']))[0]?.value, 1)
    })
  })

  describe('purging kept answers', () => {
    const rig = new StoreRig(open)

    test('expired answers of all tenants are purged in batches, the oldest first, and no others are (C33.10)', async () => {
      const tenants = [await rig.newTenant(), await rig.newTenant()]
      for (const [base, tenant] of tenants.entries())
        await rig.write(
          writeSet(tenant, {
            guarded: [10, 20, 30].map(at => ({
              kind: 'keepResult',
              row: { tenant, hash: bytes(`until ${at}`), expiresAt: at + base, sealed: bytes('answer') },
              now: 0,
            })),
          }),
        )
      const left = async (): Promise<number[]> => {
        const kept = await Promise.all(
          tenants.flatMap(tenant =>
            [10, 20, 30].map(at => rig.store.getResult(tenant, bytes(`until ${at}`), 0)),
          ),
        )
        return kept.flatMap(row => (row === undefined ? [] : [row.expiresAt])).sort((a, b) => a - b)
      }
      assert.equal(await rig.store.purgeResults(pendingAfter(9), 100), 0)
      assert.equal(await rig.store.purgeResults(pendingAfter(10), 100), 1)
      assert.deepEqual(await left(), [11, 20, 21, 30, 31])
      assert.equal(await rig.store.purgeResults(pendingAfter(21), 2), 2)
      assert.deepEqual(await left(), [21, 30, 31])
      assert.equal(await rig.store.purgeResults(pendingAfter(21), 2), 1)
      assert.equal(await rig.store.purgeResults(pendingAfter(21), 2), 0)
      assert.deepEqual(await left(), [30, 31])
    })

    test('answers whose expiry lies too far ahead are purged too, and no others are (C33.10)', async () => {
      await rig.store.purgeResults(pendingAfter(999), 100)
      const tenant = await rig.newTenant()
      const ends = [1_010, 1_020, 1_030, 1_040]
      const hashOf = (expiresAt: number): Uint8Array => bytes(`too late ${expiresAt}`)
      await rig.write(
        writeSet(tenant, {
          guarded: ends.map(expiresAt => ({
            kind: 'keepResult',
            row: { tenant, hash: hashOf(expiresAt), expiresAt, sealed: bytes('answer') },
            now: 0,
          })),
        }),
      )
      const left = async (): Promise<number[]> => {
        const kept = await Promise.all(ends.map(end => rig.store.getResult(tenant, hashOf(end), 0)))
        return kept.flatMap(row => (row === undefined ? [] : [row.expiresAt]))
      }
      assert.equal(await rig.store.purgeResults({ after: 0, upTo: 1_020 }, 1), 1)
      assert.deepEqual(await left(), [1_010, 1_020, 1_040])
      assert.equal(await rig.store.purgeResults({ after: 1_010, upTo: 1_020 }, 10), 2)
      assert.deepEqual(await left(), [1_020])
    })
  })

  describe('reports', () => {
    const rig = new StoreRig(open)

    test('a report is stored, read by its name and replaced (C26)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      const put = (name: string, sealed: string): Promise<void> =>
        rig.write(writeSet(tenant, { effects: [{ kind: 'putReport', name, sealed: bytes(sealed) }] }))
      assert.equal(await rig.store.getReport(tenant, 'indexes'), undefined)
      await put('indexes', 'first')
      await put('another', 'beside it')
      assertRows(await rig.store.getReport(tenant, 'indexes'), bytes('first'))
      await put('indexes', 'second')
      assertRows(await rig.store.getReport(tenant, 'indexes'), bytes('second'))
      assertRows(await rig.store.getReport(tenant, 'another'), bytes('beside it'))
      assert.equal(await rig.store.getReport(other, 'indexes'), undefined)
    })

    test('a report is replaced only if it is what the writer knows, and with it goes the rest of the set (L1)', async () => {
      const tenant = await rig.newTenant()
      const replace = (sealed: string, ifSealed: string | null, token: string) =>
        rig.store.commit(
          writeSet(tenant, {
            guarded: [
              {
                kind: 'replaceReport',
                name: 'import',
                sealed: bytes(sealed),
                ifSealed: ifSealed === null ? null : bytes(ifSealed),
              },
              { kind: 'insertToken', row: tokenRow(tenant, token) },
            ],
          }),
        )
      const changed = { committed: false, conflict: 'reportChanged' }
      assert.deepEqual(await replace('first', 'none', 'a'), changed, 'there is none yet')
      assert.deepEqual(await replace('first', null, 'b'), { committed: true })
      assert.deepEqual(await replace('another', null, 'c'), changed, 'there is one now')
      assert.deepEqual(await replace('second', 'first', 'd'), { committed: true })
      assert.deepEqual(await replace('late', 'first', 'e'), changed, 'somebody was faster')
      assertRows(await rig.store.getReport(tenant, 'import'), bytes('second'))
      const stored = await rig.store.scanTokens(tenant, undefined, 10)
      assert.deepEqual(
        stored.map(({ id }) => id),
        ['b', 'd'],
      )
      const outcomes = await Promise.all(['f', 'g', 'h'].map(token => replace('third', 'second', token)))
      assert.equal(outcomes.filter(({ committed }) => committed).length, 1, 'one of many at once')
    })
  })

  describe('activity', () => {
    const rig = new StoreRig(open)

    test('a token is marked active once per month, and the counter rises by those newly marked (C32.2)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      for (const owner of [tenant, other])
        await rig.write(
          insertion(
            owner,
            ['a', 'b', 'c'].map(id => ({ row: tokenRow(owner, id, { activeMonth: 202_601 }), terms: [] })),
          ),
        )
      const mark = (month: number, ...ids: string[]): Promise<void> =>
        rig.write(
          writeSet(tenant, { effects: [{ kind: 'markActive', ids, month, counter: `active:${month}` }] }),
        )
      const active = async (month: number): Promise<number> =>
        (await rig.store.readCounters(tenant, [`active:${month}`]))[0]?.value ?? 0
      await mark(202_602, 'a', 'b', 'a', 'none')
      assert.equal(await active(202_602), 2)
      await mark(202_602, 'a', 'c')
      assert.equal(await active(202_602), 3)
      await mark(202_601, 'a', 'b', 'c')
      assert.equal(await active(202_601), 0)
      const months = async (owner: number) =>
        (await rig.store.getTokens(owner, ['a', 'b', 'c'])).rows.map(({ activeMonth }) => activeMonth)
      assert.deepEqual(await months(tenant), [202_602, 202_602, 202_602])
      assert.deepEqual(await months(other), [202_601, 202_601, 202_601])
      assert.equal((await rig.store.getToken(tenant, 'a'))?.version, 1)
    })

    test('the latest creation in any tenant is known from the counters (C32.1)', async () => {
      const tenant = await rig.newTenant()
      const other = await rig.newTenant()
      await rig.write(writeSet(tenant, { counters: [{ name: 'type:card', by: 1, at: 700 }] }))
      await rig.write(writeSet(other, { counters: [{ name: 'type:bank', by: 1, at: 900 }] }))
      await rig.write(writeSet(other, { counters: [{ name: 'n', by: 1 }] }))
      assert.equal(await rig.store.newestTokenAt(), 900)
    })
  })
}
