import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StoreOverloadedError } from '../../../src/store/port.ts'
import type { WriteSet } from '../../../src/store/write-set.ts'
import { type OpenStore, StoreRig, tokenRow, writeSet } from './rig.ts'

/** Who waits for whom where more is asked for than storage can do. */
export const fairnessContract = (open: OpenStore): void => {
  describe('a backlog', () => {
    const rig = new StoreRig(open)

    /** A token, and so many counters. */
    const setOf = (tenant: number, id: string, counters: number): WriteSet =>
      writeSet(tenant, {
        guarded: [{ kind: 'insertToken', row: tokenRow(tenant, id) }],
        counters: Array.from({ length: counters }, (_, n) => ({ name: `n${n}`, by: 1 })),
      })

    test('a write passes those of another tenant that came before it (C37.1)', async () => {
      const [busy, other] = [await rig.newTenant(), await rig.newTenant()]
      let answered = 0
      const flood = Array.from({ length: 100 }, async (_, n) => {
        await rig.store.commit(setOf(busy, `${n}`, 400))
        answered++
      })
      await rig.write(setOf(other, 'passes', 1))
      assert.ok(answered <= 40, `${answered} of 100 were answered before`)
      await Promise.all(flood)
      assert.equal((await rig.store.readCounters(busy, ['n0']))[0]?.value, 100)
    })

    test('a tenant whose backlog is too large is refused, and nothing of that is stored; others are let in (C2, C37.1)', async () => {
      const [busy, other] = [await rig.newTenant(), await rig.newTenant()]
      const flood = Promise.allSettled(
        Array.from({ length: 300 }, (_, n) => rig.store.commit(setOf(busy, `${n}`, 400))),
      )
      for (let n = 0; n < 3; n++) await rig.write(setOf(other, `${n}`, 400))
      const outcomes = await flood
      const refused = outcomes.flatMap((outcome, n) => (outcome.status === 'rejected' ? [n] : []))
      assert.ok(refused.length >= 100 && refused.length < 300, `${refused.length} refused`)
      for (const n of refused) {
        const { reason } = outcomes[n] as PromiseRejectedResult
        assert.ok(reason instanceof StoreOverloadedError)
        assert.equal(await rig.store.getToken(busy, `${n}`), undefined)
      }
      assert.equal((await rig.store.readCounters(busy, ['n0']))[0]?.value, 300 - refused.length)
      await rig.write(setOf(busy, 'afterwards', 400))
    })

    test('a set that is more than one commit holds is stored whole, and others with it (C37.1)', async () => {
      const [busy, other] = [await rig.newTenant(), await rig.newTenant()]
      await Promise.all([
        rig.write(setOf(busy, 'heavy', 3_000)),
        rig.write(setOf(other, 'light', 1)),
        rig.write(setOf(busy, 'heavy too', 3_000)),
      ])
      assert.equal((await rig.store.listCounters(busy)).length, 3_000)
      assert.equal((await rig.store.readCounters(busy, ['n2999']))[0]?.value, 2)
      assert.ok(await rig.store.getToken(other, 'light'))
    })
  })
}
