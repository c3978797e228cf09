import assert from 'node:assert/strict'
import { test } from 'node:test'
import { provenLines } from '../../src/operations/log/evidence/proven-lines.ts'
import { type LogOwner, theOperator } from '../../src/operations/log/log-owner.ts'
import { cutLogs } from '../../src/operations/maintenance/cut-logs.ts'
import { deleteTenant } from '../../src/operations/tenants/delete-tenant.ts'
import { asOperator } from '../../src/operations/vault/operator.ts'
import type { Vault } from '../../src/operations/vault/vault.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { verifyLines } from '../rig/log-evidence.ts'
import { recordsOf } from '../rig/log-records.ts'
import { secondNode } from '../rig/second-node.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

const dayMs = 86_400_000

/** The export of a log as lines, of everything until now. */
const exported = async (
  vault: Vault,
  log: LogOwner,
  options: { start?: string; anchored?: readonly number[] } = {},
): Promise<string[]> => {
  await vault.acts.flush()
  await vault.evidence.catchUp()
  let text = ''
  const work = vault.scheduler.background('test')
  for await (const piece of provenLines(vault, log, { work, ...options })) text += piece
  return text.split('\n').slice(0, -1)
}

const recordLines = (lines: readonly string[]): string[] => lines.filter(line => line.includes('"sequence"'))
const lastCursor = (lines: readonly string[]): string => {
  const { next } = JSON.parse(lines.at(-1) ?? '{}')
  assert.equal(typeof next, 'string')
  return next
}

const newWorld = async (vault: TestVault) => {
  const { tenantId, keys } = await vault.tenant({ owner })
  const log: LogOwner = { tenantNumber: await vault.tenantNumber(tenantId), keys: { tenantId } }
  const { id } = await vault.create(keys.owner, { type: 'token', data: 'Sensitive Value' })
  const inner = vault.service.vault
  const act = async (times: number, send: TestVault['send'] = (...sent) => vault.send(...sent)) => {
    for (let at = 0; at < times; at++) await send('GET', `/tokens/${id}`, { key: keys.owner })
  }
  const settle = async () => {
    await inner.acts.flush()
    await inner.evidence.catchUp()
  }
  return { inner, log, act, settle }
}

onOneEngine('exports with their evidence', 'storage is only read', vault => {
  const verify = (lines: readonly string[], anchor?: readonly string[]) =>
    verifyLines(vault().folder.path, vault().service.vault.evidence.verifierKey, lines, anchor)
  const assertGood = (lines: readonly string[], anchor?: readonly string[]) => {
    const { code, stdout, stderr } = verify(lines, anchor)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, stdout)
    assert.match(stdout, /^good: /)
  }

  test('an export holds every record, and is good (L4, L6)', async () => {
    const { inner, log, act, settle } = await newWorld(vault())
    for (let round = 0; round < 5; round++) {
      await act(4)
      await settle()
    }
    await act(2)
    const lines = await exported(inner, log)
    assert.equal(recordLines(lines).length, (await recordsOf(inner, log)).length)
    assertGood(lines)
    assertGood(await exported(inner, theOperator))
  })

  test('checkpoints of others are left out, except the newest one of an anchor (L4)', async () => {
    const one = await newWorld(vault())
    await one.settle()
    const other = await newWorld(vault())
    const anchor: string[] = []
    for (let round = 0; round < 6; round++) {
      await other.act(1)
      await one.inner.acts.flush()
      anchor.push((await one.inner.evidence.checkpoint())?.note ?? '')
    }
    const plain = await exported(one.inner, one.log)
    const sizes = anchor.map(note => Number(note.split('\n')[1]))
    const early = sizes[2] ?? 0
    const anchored = await exported(one.inner, one.log, { anchored: [early] })
    const told = (lines: readonly string[]) => lines.filter(line => line.startsWith('{"checkpoint"')).length
    assert.equal(told(anchored), told(plain) + 1)
    assert.ok(told(plain) <= 3)
    assertGood(plain)
    assertGood(anchored, anchor.slice(0, 3))
    assert.equal(verify(plain, anchor.slice(0, 3)).code, 3)
    assertGood(plain, anchor)
  })

  test('an export that is resumed at any of its cursors makes a good whole (L5, L6)', async () => {
    const { inner, log, act, settle } = await newWorld(vault())
    for (let round = 0; round < 4; round++) {
      await act(3)
      await settle()
    }
    const first = await exported(inner, log)
    await act(5)
    const cursors = first.flatMap((line, at) => (line.startsWith('{"next"') ? [at] : []))
    assert.ok(cursors.length >= 4)
    for (const at of cursors) {
      const kept = first.slice(0, at + 1)
      const rest = await exported(inner, log, { start: lastCursor(kept) })
      const whole = [...kept, ...rest]
      assertGood(whole)
      const records = recordLines(whole)
      assert.equal(records.length, new Set(records).size)
    }
    const whole = await exported(inner, log)
    const again = await exported(inner, log, { start: lastCursor(whole) })
    assert.equal(recordLines(again).length, 0)
    assertGood([...whole, ...again])
  })

  test('a cursor opens for its own log alone, and with no byte changed (L5)', async () => {
    const one = await newWorld(vault())
    const other = await newWorld(vault())
    const cursor = lastCursor(await exported(one.inner, one.log))
    const flipped = `${cursor.slice(0, 40)}${cursor[40] === 'A' ? 'B' : 'A'}${cursor.slice(41)}`
    await assert.rejects(exported(one.inner, other.log, { start: cursor }), { code: 'invalidRequest' })
    await assert.rejects(exported(one.inner, one.log, { start: flipped }), { code: 'invalidRequest' })
  })

  test('what retention leaves is good, a cursor from before it is refused (L6, L7)', async () => {
    const { inner, log, act, settle } = await newWorld(vault())
    await act(6)
    await settle()
    const early = lastCursor(await exported(inner, log))
    vault().now += 60 * dayMs
    await act(6)
    await settle()
    const late = lastCursor(await exported(inner, log))
    vault().now += 60 * dayMs
    await act(6)
    await settle()
    assert.ok((await cutLogs(inner, { retentionDays: 90 })) >= 6)
    const lines = await exported(inner, log)
    assert.match(lines[0] ?? '', /"edge"/)
    assertGood(lines)
    assert.ok(recordLines(lines).length >= 12)
    assert.match(verify(lines).stdout, /Retention has removed/)
    await exported(inner, log, { start: late })
    await exported(inner, log, { start: early })
    vault().now += 60 * dayMs
    await cutLogs(inner, { retentionDays: 90 })
    await assert.rejects(exported(inner, log, { start: early }), /retention has removed/)
    vault().now += 1_000 * dayMs
    await cutLogs(inner, { retentionDays: 90 })
    const empty = await exported(inner, log)
    // Only that the rest was cut, which is an act.
    assert.deepEqual(
      recordLines(empty).map(line => JSON.parse(line).operation),
      ['cut-logs'],
    )
    assertGood(empty)
  })

  test('the log of a tenant that is gone is good, with the deletion in it (L7, C31)', async () => {
    const { inner, log, act } = await newWorld(vault())
    await act(3)
    const { tenantId } = log.keys
    await asOperator(inner, tenantId, { operation: 'tenant delete', entityType: 'tenant' }, operator =>
      deleteTenant(inner, operator),
    )
    const lines = await exported(inner, log)
    assert.match(recordLines(lines).at(-1) ?? '', /"operation":"tenant delete"/)
    assertGood(lines)
  })

  test('two nodes write and prove at once, and the export is good (L3, L4)', async () => {
    const { inner, log, act } = await newWorld(vault())
    const node = await secondNode(vault())
    const other = node.service.vault
    try {
      for (let round = 0; round < 4; round++) {
        await Promise.all([act(5), act(5, node.send)])
        await Promise.all([inner.acts.flush(), other.acts.flush()])
        await Promise.all([
          inner.evidence.checkpoint(),
          other.evidence.checkpoint(),
          inner.evidence.catchUp(),
        ])
      }
      const lines = await exported(inner, log)
      assert.equal(recordLines(lines).length, (await recordsOf(inner, log)).length)
      const writers = new Set(recordLines(lines).map(line => /"sequence":"(\d+)/.exec(line)?.[1]))
      assert.ok(vault().engine.name === 'sqlite' || writers.size > 1)
      assertGood(lines)
      assertGood(await exported(other, log))
    } finally {
      await node.stop()
    }
  })
})
