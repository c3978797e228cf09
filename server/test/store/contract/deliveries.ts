import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DeliveryRow } from '../../../src/store/rows.ts'
import type { Effect } from '../../../src/store/write-set.ts'
import { assertRows, bytes, type OpenStore, StoreRig, writeSet } from './rig.ts'

/** What is kept about the deliveries of webhooks. */
export const deliveryContract = (open: OpenStore): void => {
  describe('deliveries', () => {
    const rig = new StoreRig(open)
    const row = (
      tenant: number,
      webhookId: string,
      id: string,
      dueAt: number | null = null,
    ): DeliveryRow => ({
      tenant,
      webhookId,
      id,
      dueAt,
      sealed: bytes(`sealed ${webhookId} ${id} ${dueAt}`),
    })
    const put = (...of: Parameters<typeof row>): Effect => ({ kind: 'putDelivery', row: row(...of) })
    const write = (tenant: number, ...effects: Effect[]) => rig.write(writeSet(tenant, { effects }))
    const idsOf = (rows: readonly DeliveryRow[]): string[] => rows.map(({ id }) => id)

    test('rows are put, replaced, hastened, listed and dropped, each of one webhook and tenant (E4.8, E5.1)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      const { store } = rig
      await write(tenant, put(tenant, 'w', ''), put(tenant, 'w', 'b', 20), put(tenant, 'w', 'a', 30))
      await write(tenant, put(tenant, 'w', 'c'), put(tenant, 'v', 'a', 1))
      await write(other, put(other, 'w', 'a', 1))
      assertRows(await store.getDelivery(tenant, 'w', ''), row(tenant, 'w', ''))
      assertRows(await store.getDelivery(tenant, 'w', 'b'), row(tenant, 'w', 'b', 20))
      assert.equal(await store.getDelivery(tenant, 'w', 'd'), undefined)
      assertRows(await store.listDeliveries(tenant, 'w', '', 10), [
        row(tenant, 'w', 'a', 30),
        row(tenant, 'w', 'b', 20),
        row(tenant, 'w', 'c'),
      ])
      assert.deepEqual(idsOf(await store.listDeliveries(tenant, 'w', 'a', 1)), ['b'])
      assert.equal(await store.countDeliveries(tenant, 'w'), 3)
      assert.equal(await store.countDeliveries(tenant, 'x'), 0)
      assert.deepEqual(idsOf(await store.listDueDeliveries(tenant, 'w', 29, 10)), ['b'])
      assert.deepEqual(idsOf(await store.listDueDeliveries(tenant, 'w', 30, 10)), ['b', 'a'])
      assert.deepEqual(idsOf(await store.listDueDeliveries(tenant, 'w', 30, 1)), ['b'])
      assert.deepEqual((await store.listDeliveryOwners(tenant)).sort(), ['v', 'w'])

      await write(
        tenant,
        put(tenant, 'w', 'b', 50),
        { kind: 'hastenDelivery', webhookId: 'w', id: 'c', at: 5 },
        { kind: 'hastenDelivery', webhookId: 'w', id: 'nobody', at: 5 },
        { kind: 'dropDelivery', webhookId: 'w', id: 'a' },
      )
      const hastened = { ...row(tenant, 'w', 'c'), dueAt: 5 }
      assertRows(await store.listDeliveries(tenant, 'w', '', 10), [row(tenant, 'w', 'b', 50), hastened])
      await write(tenant, { kind: 'dropDeliveries', webhookId: 'w' })
      assert.deepEqual(await store.listDeliveryOwners(tenant), ['v'])
      assert.equal(await store.countDeliveries(other, 'w'), 1)
    })

    test('those of a deleted tenant are removed, and no more are written (E4.7, C31.6)', async () => {
      const tenant = await rig.newTenant()
      await write(tenant, put(tenant, 'w', ''), put(tenant, 'w', 'a', 1))
      await rig.write(
        writeSet(tenant, {
          guarded: [{ kind: 'reviseTenant', ifRevision: 1 }],
          effects: [{ kind: 'deleteTenant' }],
        }),
      )
      assert.deepEqual(await rig.store.commit(writeSet(tenant, { effects: [put(tenant, 'w', 'b')] })), {
        committed: false,
        conflict: 'tenantGone',
      })
      while ((await rig.store.purgeDeadTenants(100)) > 0);
      assert.deepEqual(await rig.store.listDeliveryOwners(tenant), [])
    })
  })
}
