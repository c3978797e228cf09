import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { headLeaf, openCheckpoint } from '../../src/crypto/checkpoint.ts'
import { append, leafHash, rootOf } from '../../src/crypto/merkle.ts'
import { lineOf } from '../../src/domain/acts/block.ts'
import { proveLog } from '../../src/jobs/prove-log.ts'
import { openTree } from '../../src/operations/log/evidence/tree-state.ts'
import type { LogOwner } from '../../src/operations/log/log-owner.ts'
import { cutLogs } from '../../src/operations/maintenance/cut-logs.ts'
import { fileAnchor } from '../../src/store/file-anchor.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { recordsOf } from '../rig/log-records.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

const dayMs = 86_400_000
const text = { type: 'token', data: 'Sensitive Value' }
const always = { hold: async () => true, release: async () => {} }

const newWorld = async (vault: TestVault) => {
  const { tenantId, keys } = await vault.tenant({ owner })
  const log: LogOwner = { tenantNumber: await vault.tenantNumber(tenantId), keys: { tenantId } }
  const { id } = await vault.create(keys.owner, text)
  const inner = vault.service.vault
  const act = async (times: number) => {
    for (let at = 0; at < times; at++) await vault.get(`/tokens/${id}`, keys.owner)
  }
  const prove = () => proveLog(inner, always).run(new AbortController().signal)
  /** What the stored trees say, and what the records themselves add up to. */
  const roots = async () => {
    const records = await recordsOf(inner, log)
    const byWriter = Map.groupBy(records, ({ sequence }) => Number(sequence.split('.')[0]))
    return Promise.all(
      [...byWriter].map(async ([writer, ofWriter]) => {
        const row = await vault.store.getLogTree(log.tenantNumber, writer)
        const tree = openTree(inner.evidence.keys, row)
        const counted = append(
          tree.cut.edge,
          tree.cut.size,
          ofWriter.map(record => leafHash(lineOf(record))),
        )
        return { size: tree.size, cut: tree.cut.size, stored: rootOf(tree.edge), counted: rootOf(counted) }
      }),
    )
  }
  return { inner, log, act, prove, roots }
}

/** All leaves of the checkpoints' tree, hashed. */
const leavesOf = async (vault: TestVault): Promise<Buffer[]> => {
  const leaves = await vault.store.scanLogLeaves(0, 1_000_000)
  return Promise.all(
    leaves.map(async leaf => {
      const tenantId = await vault.service.vault.evidence.tenantIdOf(leaf.tenant)
      return leafHash(headLeaf({ ...leaf, tenantId, root: Buffer.from(leaf.root) }))
    }),
  )
}

onEveryEngine('evidence', vault => {
  test('the tree of each log holds the lines of its records, and the checkpoint holds the trees (L4.1, L4.2, L6.4)', async () => {
    const world = await newWorld(vault())
    await world.act(3)
    await world.prove()
    await world.act(20)
    await world.inner.acts.flush()
    await world.prove()
    for (const { stored, counted } of await world.roots()) assert.deepEqual(stored, counted)
    const newest = await vault().store.newestCheckpoint()
    assert.ok(newest)
    const checkpoint = openCheckpoint(newest.note, world.inner.evidence.keys.signer)
    const leaves = await leavesOf(vault())
    assert.equal(checkpoint.size, leaves.length)
    assert.deepEqual(checkpoint.root, rootOf(append([], 0, leaves)))
    assert.equal(checkpoint.time, vault().now)
  })

  test('where nothing has grown there is no further checkpoint (L4.2)', async () => {
    const world = await newWorld(vault())
    await world.inner.acts.flush()
    await world.prove()
    const newest = await vault().store.newestCheckpoint()
    assert.deepEqual(await world.prove(), {})
    assert.equal((await vault().store.newestCheckpoint())?.size, newest?.size)
  })

  test('nodes that prove at the same time make one history (L4)', async () => {
    const world = await newWorld(vault())
    for (let round = 0; round < 5; round++) {
      await world.act(2)
      await Promise.all([world.prove(), world.prove(), world.prove()])
    }
    await world.inner.acts.flush()
    await world.inner.evidence.catchUp()
    for (const { stored, counted } of await world.roots()) assert.deepEqual(stored, counted)
    const newest = await vault().store.newestCheckpoint()
    const { root } = openCheckpoint(newest?.note ?? '', world.inner.evidence.keys.signer)
    assert.deepEqual(root, rootOf(append([], 0, await leavesOf(vault()))))
  })

  test('a tree that storage has exchanged does not grow (L4)', async () => {
    const world = await newWorld(vault())
    const other = await newWorld(vault())
    for (const { inner, act, prove } of [world, other]) {
      await act(2)
      await inner.acts.flush()
      await prove()
    }
    const [head] = await vault().store.listLogHeads(other.log.tenantNumber)
    const theirs = head && (await vault().store.getLogTree(other.log.tenantNumber, head.writer))
    assert.ok(theirs)
    // Any writer may make the next record.
    const exchanged = { tenant: world.log.tenantNumber, size: theirs.size, sealed: theirs.sealed }
    const logged = vault().log.length
    for (let writer = 0; writer < 32; writer++) {
      const mine = await vault().store.getLogTree(world.log.tenantNumber, writer)
      assert.equal(await vault().store.putLogTree({ ...exchanged, writer }, mine?.size ?? null), true)
    }
    const sizes = async () => (await world.roots()).map(({ size }) => size)
    for (const { inner, act } of [world, other]) {
      await act(3)
      await inner.acts.flush()
      await inner.evidence.catchUp()
    }
    await assert.rejects(sizes(), /evidence of the log is corrupt/)
    assert.ok(
      vault()
        .log.slice(logged)
        .some(line => line.includes('its tree does not grow')),
    )
    for (const { stored, counted } of await other.roots()) assert.deepEqual(stored, counted)
  })

  test('blocks that are too old go whole, and what remains is still proven (L7.1)', async () => {
    const world = await newWorld(vault())
    await world.act(5)
    await world.inner.acts.flush()
    vault().now += 100 * dayMs
    await world.act(4)
    await world.inner.acts.flush()
    const before = (await recordsOf(world.inner, world.log)).length
    await cutLogs(world.inner, { retentionDays: 90 })
    assert.equal((await recordsOf(world.inner, world.log)).length, before, 'nothing goes before it is proven')
    await world.inner.evidence.catchUp()
    assert.ok((await cutLogs(world.inner, { retentionDays: 90 })) >= 6)
    assert.equal(await cutLogs(world.inner, { retentionDays: 90 }), 0)
    const records = await recordsOf(world.inner, world.log)
    assert.deepEqual(records.map(({ operation }) => operation).sort(), [
      'cut-logs',
      'getToken',
      'getToken',
      'getToken',
      'getToken',
    ])
    await world.inner.evidence.catchUp()
    for (const { stored, counted } of await world.roots()) assert.deepEqual(stored, counted)
    await world.act(3)
    await world.inner.acts.flush()
    await world.inner.evidence.catchUp()
    for (const { stored, counted } of await world.roots()) assert.deepEqual(stored, counted)
  })

  test('each checkpoint goes to the anchor, and what a power cut left there does no harm (L4.4)', async () => {
    const world = await newWorld(vault())
    const path = join(vault().folder.path, 'good.notes')
    const anchor = fileAnchor(path)
    const bring = async () => {
      await world.act(1)
      await world.inner.acts.flush()
      const checkpoint = await world.inner.evidence.checkpoint()
      assert.ok(checkpoint)
      assert.equal(await world.inner.evidence.anchor(anchor, checkpoint), true)
      return checkpoint.note
    }
    const notes = [await bring(), await bring()]
    appendFileSync(path, 'strongroom\n17\nhalf a no')
    notes.push(await bring())
    assert.equal(readFileSync(path, 'utf8'), notes.join(''))
    assert.equal(await anchor.newest(), notes.at(-1))
    await world.inner.evidence.requirePast(anchor, notes.at(-1) ?? '')
    truncateSync(path, Buffer.byteLength(notes.slice(0, 2).join('')) + 10)
    assert.equal(await anchor.newest(), notes[1])
  })

  test('an anchor that holds what is not our past gets nothing more, and says so (L4.4)', async () => {
    const world = await newWorld(vault())
    const foreign = join(vault().folder.path, 'foreign.notes')
    const elsewhere = await newWorldElsewhere(vault())
    writeFileSync(foreign, elsewhere)
    await world.act(1)
    const checkpoint = await world.inner.evidence.checkpoint()
    assert.ok(checkpoint)
    await assert.rejects(
      world.inner.evidence.anchor(fileAnchor(foreign), checkpoint),
      /not signed with this key/,
    )
    assert.equal(readFileSync(foreign, 'utf8'), elsewhere)
  })
})

/** A checkpoint of another vault. */
const newWorldElsewhere = async ({ engine }: TestVault): Promise<string> => {
  const { TestVault: Vault } = await import('../rig/test-vault.ts')
  const other = await Vault.start({ engine })
  try {
    await newWorld(other)
    return (await other.service.vault.evidence.checkpoint())?.note ?? ''
  } finally {
    await other.stop()
  }
}
