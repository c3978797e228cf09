import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type OpenStore, StoreRig } from './rig.ts'

/** Which node may do a job that only one should do at a time. */
export const leaseContract = (open: OpenStore): void => {
  describe('leases', () => {
    const rig = new StoreRig(open)

    /** Lets each holder ask for a lease of 100 at its moment, in turn, and returns who got it. */
    const asked = async (
      name: string,
      ...moments: (readonly [at: number, holder: string])[]
    ): Promise<boolean[]> => {
      const got: boolean[] = []
      for (const [at, holder] of moments)
        got.push(await rig.store.acquireLease({ name, holder, until: at + 100 }, at))
      return got
    }

    const table: {
      name: string
      moments: (readonly [at: number, holder: string])[]
      got: boolean[]
    }[] = [
      { name: 'the first one gets it', moments: [[1_000, 'a']], got: [true] },
      {
        name: 'another one does not, until it is over',
        moments: [
          [1_000, 'a'],
          [1_000, 'b'],
          [1_099, 'b'],
          [1_100, 'b'],
          [1_100, 'a'],
        ],
        got: [true, false, false, true, false],
      },
      {
        name: 'its holder renews it, before and after it is over',
        moments: [
          [1_000, 'a'],
          [1_060, 'a'],
          [1_120, 'b'],
          [1_500, 'a'],
          [1_560, 'b'],
        ],
        got: [true, true, false, true, false],
      },
      {
        name: 'a clock that is behind takes it later, one that is ahead sooner',
        moments: [
          [1_000, 'a'],
          [900, 'b'],
          [1_100, 'c'],
        ],
        got: [true, false, true],
      },
      {
        name: 'one that a clock far ahead has written does not last until then',
        moments: [
          [9_000_000, 'a'],
          [1_000, 'b'],
          [1_001, 'c'],
        ],
        got: [true, true, false],
      },
    ]
    for (const { name, moments, got } of table)
      test(`a lease: ${name} (C17.6)`, async () => assert.deepEqual(await asked(name, ...moments), got))

    test('leases of different names are independent (C17.6)', async () => {
      assert.deepEqual(await asked('one', [1_000, 'a']), [true])
      assert.deepEqual(await asked('other', [1_000, 'b']), [true])
    })

    test('released leases are free at once, and only their holder can release them (C17.6)', async () => {
      const names = ['given up', 'given up, too', 'kept']
      const [first = '', second = '', kept = ''] = names
      for (const name of names) assert.deepEqual(await asked(name, [1_000, 'a']), [true])
      await rig.store.releaseLeases('b', names)
      assert.deepEqual(await asked(first, [1_001, 'b']), [false])
      await rig.store.releaseLeases('a', [first, second, 'never held'])
      assert.deepEqual(await asked(first, [1_001, 'b']), [true])
      assert.deepEqual(await asked(second, [1_001, 'b']), [true])
      assert.deepEqual(await asked(kept, [1_001, 'b']), [false])
    })

    test('of many nodes that ask for a lease at the same moment exactly one gets it (C17.6)', async () => {
      const stores = [rig.store, await rig.again(), await rig.again()]
      const got = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          stores[index % stores.length]?.acquireLease(
            { name: 'at once', holder: String(index), until: 1_100 },
            1_000,
          ),
        ),
      )
      assert.equal(got.filter(Boolean).length, 1)
    })
  })
}
