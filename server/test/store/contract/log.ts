import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import type { Store } from '../../../src/store/port.ts'
import type { LogBlockRow, LogTreeRow } from '../../../src/store/rows.ts'
import { operatorLog } from '../../../src/store/rows.ts'
import type { WriteSet } from '../../../src/store/write-set.ts'
import { linesOf, logOf, tenantMade } from '../../rig/log-parts.ts'
import { bytes, type OpenStore, StoreRig, tokenRow, writeSet } from './rig.ts'

/** L1, L3, L4, L7: what storage promises of the log. */
export const logContract = (open: OpenStore): void => {
  describe('log', () => {
    const rig = new StoreRig(open)

    const recorded = (tenant: number, ...texts: string[]): WriteSet => writeSet(tenant, { log: logOf(texts) })

    const insertion = (tenant: number, id: string, ...texts: string[]): WriteSet =>
      writeSet(tenant, {
        guarded: [{ kind: 'insertToken', row: tokenRow(tenant, id) }],
        log: logOf(texts),
      })

    const deletion = (tenant: number, ...texts: string[]): WriteSet =>
      writeSet(tenant, {
        guarded: [{ kind: 'reviseTenant', ifRevision: 1 }],
        effects: [{ kind: 'deleteTenant' }],
        log: logOf(texts),
      })

    const wholeLog = async (tenant: number, store: Store = rig.store): Promise<LogBlockRow[]> => {
      const heads = await store.listLogHeads(tenant)
      const cursors = heads.map(({ writer, start }) => ({ writer, from: start }))
      return store.readLog(tenant, cursors, { limit: 10_000 })
    }

    /** All records but the first, of the tenant's creation. */
    const lines = async (tenant: number): Promise<string[]> =>
      (await wholeLog(tenant)).flatMap(linesOf).filter(text => text !== tenantMade)

    /** A log that begins empty: records need no tenant. */
    let unused = 1_000_000
    const emptyLog = (): number => ++unused

    /** Some engines return buffers, which equal arrays only by content. */
    const assertEqual = (actual: unknown, expected: unknown): void =>
      assert.deepEqual(structuredClone(actual), expected)

    /** Fails unless each writer's records are numbered from 0 without a gap, up to its head. */
    const requireGapless = async (tenant: number): Promise<void> => {
      const blocks = await wholeLog(tenant)
      for (const { writer, size } of await rig.store.listLogHeads(tenant)) {
        let next = 0
        for (const block of blocks.filter(each => each.writer === writer)) {
          assert.equal(block.first, next)
          assert.equal(linesOf(block).length, block.records)
          next += block.records
        }
        assert.equal(size, next)
      }
    }

    /** The log of one writer, with these blocks. */
    const growing = async (...blocks: string[][]): Promise<{ tenant: number; writer: number }> => {
      const tenant = emptyLog()
      for (const texts of blocks) await rig.write(recorded(tenant, ...texts))
      const [head] = await rig.store.listLogHeads(tenant)
      assert.ok(head)
      return { tenant, writer: head.writer }
    }

    test('a new tenant begins with the record of its creation, and its log has an owner (L1.6)', async () => {
      const made = { id: 'logged', sealed: bytes('s'), keys: [], applications: [], apiKeys: [] }
      const tenant = await rig.store.createTenant(made, logOf(['made'], 7))
      const [block] = await wholeLog(tenant)
      assert.deepEqual(
        { ...block, sealed: undefined },
        { tenant, writer: 0, first: 0, records: 1, kept: null, firstAt: 7, lastAt: 7, sealed: undefined },
      )
      assert.deepEqual(await rig.store.findLogOwner('logged'), { tenant, id: 'logged' })
      assert.equal(await rig.store.findLogOwner('nobody'), undefined)
      assert.deepEqual(await rig.store.listLogOwners(tenant - 1, 1), [{ tenant, id: 'logged' }])
      assert.deepEqual(await rig.store.listLogOwners(tenant, 1), [])
    })

    test('a set and its records become durable together (L1.6)', async () => {
      const tenant = await rig.newTenant()
      await rig.write(insertion(tenant, 'a', 'created a', 'and noted it'))
      const again = await rig.again()
      const blocks = await wholeLog(tenant, again)
      assert.deepEqual(blocks.flatMap(linesOf), [tenantMade, 'created a', 'and noted it'])
      assert.ok(await again.getToken(tenant, 'a'))
    })

    test('sets that come together share one block, sealed once, in their order (L3.2)', async () => {
      const tenant = await rig.newTenant()
      const parts = Array.from({ length: 20 }, (_, n) => logOf([`created t${n}`]))
      const sets = parts.map((log, n) => ({ ...insertion(tenant, `t${n}`), log }))
      await Promise.all(sets.map(set => rig.write(set)))
      assert.equal(
        parts.reduce((sum, { seals }) => sum + seals, 0),
        1,
      )
      const blocks = (await wholeLog(tenant)).filter(({ records }) => records > 1)
      assert.deepEqual(
        blocks.flatMap(linesOf),
        sets.map((_, n) => `created t${n}`),
      )
      assert.equal(blocks.length, 1)
    })

    test('a block says between which times its records were made (L5)', async () => {
      const tenant = emptyLog()
      await Promise.all([5, 3, 9].map(at => rig.write(writeSet(tenant, { log: logOf([`at ${at}`], at) }))))
      const blocks = await wholeLog(tenant)
      assert.equal(Math.min(...blocks.map(({ firstAt }) => firstAt)), 3)
      assert.equal(Math.max(...blocks.map(({ lastAt }) => lastAt)), 9)
    })

    const losing: { name: string; set: (tenant: number, n: number) => WriteSet }[] = [
      { name: 'at its first change', set: tenant => insertion(tenant, 'taken', 'never happened') },
      {
        name: 'half way',
        set: (tenant, n) =>
          writeSet(tenant, {
            guarded: [
              { kind: 'insertToken', row: tokenRow(tenant, `half ${n}`) },
              { kind: 'insertToken', row: tokenRow(tenant, 'taken') },
            ],
            log: logOf(['never happened', 'nor did this']),
          }),
      },
    ]
    for (const { name, set } of losing)
      test(`a set that is dropped ${name} leaves neither a record nor a gap (L1.6, L3.1)`, async () => {
        const tenant = await rig.newTenant()
        await rig.write(insertion(tenant, 'taken', 'created taken'))
        const outcomes = await Promise.all([
          rig.store.commit(insertion(tenant, 'a', 'created a')),
          rig.store.commit(set(tenant, 1)),
          ...Array.from({ length: 9 }, (_, n) =>
            rig.store.commit(insertion(tenant, `b${n}`, `created b${n}`)),
          ),
          rig.store.commit(set(tenant, 2)),
        ])
        assert.equal(outcomes.filter(({ committed }) => committed).length, 10)
        await requireGapless(tenant)
        assert.deepEqual((await lines(tenant)).sort(), [
          'created a',
          ...Array.from({ length: 9 }, (_, n) => `created b${n}`),
          'created taken',
        ])
        await rig.store.commit(set(tenant, 3))
        await Promise.all([rig.store.commit(set(tenant, 4)), rig.store.commit(set(tenant, 5))])
        assert.equal((await lines(tenant)).length, 11)
        await requireGapless(tenant)
      })

    test('a set that storage cannot take does not harm the records of those beside it (L1.6, L3.1)', async () => {
      const tenant = await rig.newTenant()
      const broken = writeSet(tenant, {
        counters: [{ name: 'n', by: Number.NaN }],
        log: logOf(['never happened']),
      })
      const results = await Promise.allSettled([
        rig.store.commit(insertion(tenant, 'a', 'created a', 'twice')),
        rig.store.commit(broken),
        rig.store.commit(insertion(tenant, 'b', 'created b')),
        rig.store.commit(recorded(tenant, 'read c')),
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
      )
      assert.deepEqual((await lines(tenant)).sort(), ['created a', 'created b', 'read c', 'twice'])
      await requireGapless(tenant)
    })

    test('records that cannot be sealed fail alone, with their set (L1.6)', async () => {
      const tenant = await rig.newTenant()
      const unsealed = {
        records: 1,
        bytes: 1,
        sealWith: () => {
          throw new Error('no key')
        },
      }
      const broken = { ...insertion(tenant, 'broken'), log: unsealed }
      const results = await Promise.allSettled([
        rig.store.commit(broken),
        rig.store.commit(insertion(tenant, 'a', 'created a')),
        rig.store.commit({ ...recorded(tenant), log: unsealed }),
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['rejected', 'fulfilled', 'rejected'],
      )
      assert.equal(await rig.store.getToken(tenant, 'broken'), undefined)
      assert.deepEqual(await lines(tenant), ['created a'])
      await requireGapless(tenant)
    })

    test('records need no living tenant unless their set changes something else (L1)', async () => {
      const tenant = await rig.newTenant()
      const answers = await Promise.all([
        rig.store.commit(deletion(tenant, 'deleted the tenant')),
        rig.store.commit(recorded(tenant, 'read before it was gone')),
        rig.store.commit(insertion(tenant, 'late', 'never happened')),
      ])
      assert.deepEqual(answers, [
        { committed: true },
        { committed: true },
        { committed: false, conflict: 'tenantGone' },
      ])
      await rig.write(recorded(tenant, 'a late record'))
      assert.deepEqual((await lines(tenant)).sort(), [
        'a late record',
        'deleted the tenant',
        'read before it was gone',
      ])
      await requireGapless(tenant)
    })

    test("the operator's log belongs to no tenant (L1)", async () => {
      await rig.write(recorded(operatorLog, 'an unknown key'))
      assert.deepEqual(await lines(operatorLog), ['an unknown key'])
      assert.deepEqual(await rig.store.commit(insertion(operatorLog, 'a', 'never happened')), {
        committed: false,
        conflict: 'tenantGone',
      })
      await requireGapless(operatorLog)
    })

    test('the log outlives its tenant and the purge of it (L7.2, C31)', async () => {
      const tenant = await rig.newTenant()
      const owner = (await rig.store.listLogOwners(tenant - 1, 1))[0]
      await rig.write(insertion(tenant, 'a', 'created a'))
      const [head] = await rig.store.listLogHeads(tenant)
      const tree: LogTreeRow = { tenant, writer: head?.writer ?? 0, size: 1, sealed: bytes('tree') }
      await rig.store.putLogTree(tree, null)
      await rig.write(deletion(tenant, 'deleted the tenant'))
      while ((await rig.store.purgeDeadTenants(1_000)) > 0);
      assert.equal(await rig.store.getToken(tenant, 'a'), undefined)
      assert.deepEqual((await lines(tenant)).sort(), ['created a', 'deleted the tenant'])
      assertEqual(await rig.store.getLogTree(tenant, tree.writer), tree)
      assert.deepEqual((await rig.store.listLogOwners(tenant - 1, 1))[0], owner)
    })

    test('numbers have no gaps, however many nodes and tenants write at once (L3.1)', async () => {
      const stores = [rig.store, await rig.again(), await rig.again()]
      const tenants = [await rig.newTenant(), await rig.newTenant(), await rig.newTenant()]
      const wanted = new Map<number, string[]>(tenants.map(tenant => [tenant, []]))
      for (let round = 0; round < 8; round++)
        await Promise.all(
          stores.flatMap((store, node) =>
            tenants.flatMap(tenant =>
              Array.from({ length: 6 }, async (_, n) => {
                // Nodes compete for the same token, so some sets are dropped.
                const id = n % 3 === 0 ? `shared ${round} ${n}` : `${node} ${round} ${n}`
                const text = `${node} created ${id}`
                const set = n === 5 ? recorded(tenant, text) : insertion(tenant, id, text)
                if ((await store.commit(set)).committed) wanted.get(tenant)?.push(text)
              }),
            ),
          ),
        )
      for (const [tenant, texts] of wanted) {
        await requireGapless(tenant)
        assert.deepEqual((await lines(tenant)).sort(), texts.sort())
      }
    })

    test('a reader that follows its cursor misses nothing that is committed meanwhile (L3)', async () => {
      const tenant = emptyLog()
      const other = await rig.again()
      const writes = Promise.all(
        Array.from({ length: 150 }, (_, n) =>
          (n % 2 === 0 ? rig.store : other).commit(recorded(tenant, `${n}`)),
        ),
      )
      const reached = new Map<number, number>()
      const seen: string[] = []
      const follow = async (): Promise<void> => {
        const heads = await rig.store.listLogHeads(tenant)
        const cursors = heads.map(({ writer }) => ({ writer, from: reached.get(writer) ?? 0 }))
        for (const block of await rig.store.readLog(tenant, cursors, { limit: 3 })) {
          assert.equal(block.first, reached.get(block.writer) ?? 0)
          reached.set(block.writer, block.first + block.records)
          seen.push(...linesOf(block))
        }
      }
      let isDone = false
      void writes.finally(() => {
        isDone = true
      })
      while (!isDone) {
        await follow()
        // Reads of the embedded engine would leave no turn of the event loop to the answers of its writer.
        await nextIteration()
      }
      await writes
      while (seen.length < 150) await follow()
      assert.equal(new Set(seen).size, 150)
    })

    describe('reading', () => {
      const read = async (
        { tenant, writer }: { tenant: number; writer: number },
        from: number,
        options: { limit: number; backwards?: boolean },
      ): Promise<string[]> =>
        (await rig.store.readLog(tenant, [{ writer, from }], options)).map(block => linesOf(block).join(''))

      const cases: {
        name: string
        from: number
        limit?: number
        backwards?: boolean
        expect: string[]
      }[] = [
        { name: 'from the start', from: 0, expect: ['ab', 'c', 'def'] },
        { name: 'from the middle of a block', from: 1, expect: ['ab', 'c', 'def'] },
        { name: 'from the start of a block', from: 2, expect: ['c', 'def'] },
        { name: 'from the last record', from: 5, expect: ['def'] },
        { name: 'from the end', from: 6, expect: [] },
        { name: 'from beyond the end', from: 60, expect: [] },
        { name: 'a few', from: 0, limit: 2, expect: ['ab', 'c'] },
        { name: 'back from the end', from: 6, backwards: true, expect: ['def', 'c', 'ab'] },
        { name: 'back from beyond the end', from: 60, backwards: true, expect: ['def', 'c', 'ab'] },
        { name: 'back from the middle of a block', from: 4, backwards: true, expect: ['def', 'c', 'ab'] },
        { name: 'back from the start of a block', from: 3, backwards: true, expect: ['c', 'ab'] },
        { name: 'back from the start', from: 0, backwards: true, expect: [] },
        { name: 'a few back', from: 6, limit: 2, backwards: true, expect: ['def', 'c'] },
      ]
      for (const { name, from, limit = 10, backwards = false, expect } of cases)
        test(`${name} gives the blocks that hold those records (L3, L5)`, async () => {
          const log = await growing(['a', 'b'], ['c'], ['d', 'e', 'f'])
          assert.deepEqual(await read(log, from, { limit, backwards }), expect)
        })

      test('the limit counts for each writer, and a writer without records gives none (L5)', async () => {
        const log = await growing(['a'], ['b'], ['c'])
        const cursors = [101, log.writer, 100].map(writer => ({ writer, from: 0 }))
        const blocks = await rig.store.readLog(log.tenant, cursors, { limit: 2 })
        assert.deepEqual(blocks.flatMap(linesOf), ['a', 'b'])
        assert.deepEqual(await rig.store.readLog(log.tenant, [], { limit: 2 }), [])
      })

      test('tenants read their own records alone (L5)', async () => {
        const [one, other] = [await growing(['mine']), await growing(['theirs'])]
        const cursors = [{ writer: one.writer, from: 0 }]
        const blocks = await rig.store.readLog(one.tenant, cursors, { limit: 9 })
        assert.deepEqual(blocks.flatMap(linesOf), ['mine'])
        assert.ok(blocks.every(({ tenant }) => tenant !== other.tenant))
      })
    })

    describe('trees', () => {
      const treeOf = (log: { tenant: number; writer: number }, size: number, text: string): LogTreeRow => ({
        tenant: log.tenant,
        writer: log.writer,
        size,
        sealed: bytes(text),
      })

      test('a tree grows from the size that its job has seen, or not at all (L4)', async () => {
        const log = await growing(['a', 'b', 'c'])
        assert.equal(await rig.store.getLogTree(log.tenant, log.writer), undefined)
        assert.equal(await rig.store.putLogTree(treeOf(log, 2, 'x'), 1), false)
        assert.equal(await rig.store.putLogTree(treeOf(log, 1, 'one'), null), true)
        assert.equal(await rig.store.putLogTree(treeOf(log, 2, 'x'), null), false)
        assert.equal(await rig.store.putLogTree(treeOf(log, 3, 'three'), 1), true)
        assert.equal(await rig.store.putLogTree(treeOf(log, 2, 'x'), 1), false)
        assertEqual(await rig.store.getLogTree(log.tenant, log.writer), treeOf(log, 3, 'three'))
      })

      test('a log that has grown since its tree did is listed with it (L4)', async () => {
        const log = await growing(['a', 'b'])
        const mine = async () =>
          (await rig.store.listGrownLogs(10_000)).filter(({ head }) => head.tenant === log.tenant)
        const head = { ...log, size: 2 }
        assertEqual(await mine(), [{ head, tree: undefined }])
        await rig.store.putLogTree(treeOf(log, 1, 'one'), null)
        assertEqual(await mine(), [{ head, tree: treeOf(log, 1, 'one') }])
        await rig.store.putLogTree(treeOf(log, 2, 'two'), 1)
        assertEqual(await mine(), [])
        await growing(['somebody else'])
        assert.equal((await rig.store.listGrownLogs(1)).length, 1)
      })

      test('a cut takes whole blocks before it and keeps the edge; numbers go on (L7.1)', async () => {
        const log = await growing(['a', 'b'], ['c'], ['d', 'e'], ['f'])
        const { tenant } = log
        await rig.store.putLogTree(treeOf(log, 6, 'whole'), null)
        assert.equal(await rig.store.cutLog(treeOf(log, 6, 'cut'), bytes('another'), 4), false)
        assert.deepEqual(await lines(tenant), ['a', 'b', 'c', 'd', 'e', 'f'])
        assert.equal(await rig.store.cutLog(treeOf(log, 6, 'cut'), bytes('whole'), 4), true)
        assert.deepEqual(await lines(tenant), ['d', 'e', 'f'])
        assertEqual(await rig.store.getLogTree(tenant, log.writer), treeOf(log, 6, 'cut'))
        assert.deepEqual(await rig.store.listLogHeads(tenant), [{ ...log, size: 6, start: 3 }])
        const below = await rig.store.readLog(tenant, [{ writer: log.writer, from: 0 }], { limit: 1 })
        assert.deepEqual(below.flatMap(linesOf), ['d', 'e'])
        assert.equal(await rig.store.cutLog(treeOf(log, 6, 'empty'), bytes('cut'), 6), true)
        assert.deepEqual(await rig.store.listLogHeads(tenant), [{ ...log, size: 6, start: 6 }])
        await rig.write(recorded(tenant, 'g'))
        const blocks = await wholeLog(tenant)
        assert.ok(blocks.some(block => linesOf(block).join() === 'g'))
      })

      test('a cut of many blocks takes them all (L7)', async () => {
        const tenant = emptyLog()
        for (let n = 0; n < 230; n++) await rig.write(recorded(tenant, `${n}`))
        for (const { writer, size } of await rig.store.listLogHeads(tenant)) {
          const log = { tenant, writer }
          await rig.store.putLogTree(treeOf(log, size, 'whole'), null)
          assert.equal(await rig.store.cutLog(treeOf(log, size, 'cut'), bytes('whole'), size), true)
        }
        assert.deepEqual(await wholeLog(tenant), [])
      })
    })

    test('a checkpoint and its leaves follow the newest checkpoint, or nothing is written (L4)', async () => {
      const { store } = rig
      const checkpoint = (size: number) => ({
        size,
        at: size * 10,
        note: `note ${size}\n`,
        sealed: bytes('seal'),
      })
      const leaf = (position: number) => ({
        position,
        tenant: 5,
        writer: 1,
        size: 9,
        root: bytes(`r${position}`),
      })
      assert.equal(await store.newestCheckpoint(), undefined)
      assert.equal(await store.putCheckpoint(checkpoint(2), [leaf(0), leaf(1)], 1), false)
      assert.equal(await store.putCheckpoint(checkpoint(2), [leaf(0), leaf(1)], null), true)
      assert.equal(await store.putCheckpoint(checkpoint(3), [leaf(2)], null), false)
      assert.equal(await store.putCheckpoint(checkpoint(3), [leaf(2)], 2), true)
      const races = await Promise.all(
        [rig.store, await rig.again()].map(each => each.putCheckpoint(checkpoint(5), [leaf(3), leaf(4)], 3)),
      )
      assert.deepEqual(races.sort(), [false, true])
      assertEqual(await store.newestCheckpoint(), checkpoint(5))
      assertEqual(await store.scanCheckpoints(0, 2), [checkpoint(2), checkpoint(3)])
      assertEqual(await store.scanCheckpoints(3, 2), [checkpoint(5)])
      assertEqual(await store.scanLogLeaves(1, 3), [leaf(1), leaf(2), leaf(3)])
      assertEqual(await store.scanLogLeaves(5, 3), [])
    })
  })
}
