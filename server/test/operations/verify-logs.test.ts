import assert from 'node:assert/strict'
import { appendFileSync, copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { ExportVerifier } from '../../src/cli/export-verifier.ts'
import { acceptRollback } from '../../src/operations/log/evidence/accept-rollback.ts'
import { Anchoring } from '../../src/operations/log/evidence/anchoring.ts'
import { type Severity, verifyLogs } from '../../src/operations/log/evidence/verify-logs.ts'
import type { LogOwner } from '../../src/operations/log/log-owner.ts'
import { cutLogs } from '../../src/operations/maintenance/cut-logs.ts'
import { fileAnchor } from '../../src/store/file-anchor.ts'
import { anyEngine, engines } from '../rig/engines.ts'
import { recordsOfOperator } from '../rig/log-records.ts'
import { isLong } from '../rig/long-run.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

const dayMs = 86_400_000

type Found = { readonly worst: number; readonly findings: readonly string[] }

const codes: Record<Severity, number> = { altered: 2, cut: 3, forked: 4 }

/** As `strongroom logs verify` does. */
const verified = async (vault: TestVault, anchors: readonly string[] = []): Promise<Found> => {
  const inner = vault.service.vault
  const verifier = await ExportVerifier.start(inner.evidence.verifierKey, anchors)
  const findings: string[] = []
  let worst = 0
  try {
    await verifyLogs(inner, {
      anchors: verifier.anchors,
      verifyExport: (lines, anchor) => verifier.verify(lines, anchor),
      find: (severity, what) => {
        findings.push(`${severity}: ${what}`)
        worst = Math.max(worst, codes[severity])
      },
    })
    return { worst, findings }
  } finally {
    await verifier.close()
  }
}

const assertGood = async (vault: TestVault, anchors: readonly string[] = []): Promise<void> => {
  assert.deepEqual(await verified(vault, anchors), { worst: 0, findings: [] })
}

const tables = ['log', 'log_heads', 'log_trees', 'log_owners', 'log_checkpoints', 'log_leaves']

/** What the log's tables hold, to be brought back. */
const snapshotOf = async ({ engine, folder }: TestVault): Promise<() => Promise<void>> => {
  const statements = tables.map(table => [`SELECT * FROM ${table}`] as const)
  const held = await engine.reachAll(folder.path, statements)
  return async () => {
    for (const [at, table] of tables.entries()) {
      await engine.reach(folder.path, `DELETE FROM ${table}`)
      for (const row of held[at] ?? []) {
        const places = Object.keys(row).map(() => '?')
        const insert = `INSERT INTO ${table} (${Object.keys(row).join()}) VALUES (${places.join()})`
        await engine.reach(folder.path, insert, ...(Object.values(row) as SQLInputValue[]))
      }
    }
  }
}

/** The service stops, storage is changed, and a service starts on it again. */
const changed = async (vault: TestVault, change: () => Promise<unknown>): Promise<void> => {
  await vault.close()
  await change()
  await vault.openOn(vault.engine)
}

const newWorld = async (vault: TestVault) => {
  const { tenantId, keys } = await vault.tenant({ owner })
  const log: LogOwner = { tenantNumber: await vault.tenantNumber(tenantId), keys: { tenantId } }
  const { id } = await vault.create(keys.owner, { type: 'token', data: 'Sensitive Value' })
  /** Each read has a block of its own, because it waits for its record. */
  const act = async (times: number) => {
    for (let at = 0; at < times; at++) await vault.get(`/tokens/${id}`, keys.owner)
  }
  return { log, act }
}

const prove = async (vault: TestVault): Promise<number> => {
  const inner = vault.service.vault
  await inner.acts.flush()
  const checkpoint = await inner.evidence.checkpoint()
  assert.ok(checkpoint)
  inner.anchoring.offer(checkpoint)
  await inner.anchoring.settled()
  return checkpoint.size
}

// What is read is verified above storage.
for (const engine of anyEngine)
  describe(`logs verify (${engine.name})`, () => {
    let vault: TestVault
    let one: LogOwner
    let other: LogOwner
    let restore: () => Promise<void>
    const reach = (sql: string, ...values: SQLInputValue[]) => engine.reach(vault.folder.path, sql, ...values)
    before(async () => {
      vault = await TestVault.start({ engine })
      const worlds = [await newWorld(vault), await newWorld(vault)]
      for (let round = 0; round < 3; round++) {
        for (const { act } of worlds) await act(3)
        await prove(vault)
      }
      ;[one, other] = worlds.map(({ log }) => log) as [LogOwner, LogOwner]
      await assertGood(vault)
      restore = await snapshotOf(vault)
    })
    after(() => vault.stop())

    /** Some writer of a log, and its blocks. */
    const blocksOf = async ({ tenantNumber }: LogOwner) => {
      const rows = await reach(
        'SELECT * FROM log WHERE tenant = ? ORDER BY writer, first_record',
        tenantNumber,
      )
      const byWriter = [...Map.groupBy(rows, ({ writer }) => Number(writer)).values()]
      const longest = byWriter.toSorted((a, b) => b.length - a.length)[0] ?? []
      assert.ok(longest.length >= 2)
      return longest.map(row => ({
        where: [tenantNumber, Number(row.writer), Number(row.first_record)] as const,
        records: Number(row.records),
        firstAt: Number(row.first_at),
        lastAt: Number(row.last_at),
        sealed: Buffer.from(row.sealed as Uint8Array),
      }))
    }
    type Block = Awaited<ReturnType<typeof blocksOf>>[number]
    const ofBlock = 'WHERE tenant = ? AND writer = ? AND first_record = ?'
    const overwrite = ({ where }: Block, { sealed, firstAt, lastAt }: Omit<Block, 'where' | 'records'>) =>
      reach(
        `UPDATE log SET sealed = ?, first_at = ?, last_at = ? ${ofBlock}`,
        sealed,
        firstAt,
        lastAt,
        ...where,
      )
    const pair = async (log: LogOwner): Promise<[Block, Block]> => {
      const blocks = await blocksOf(log)
      const [first, second] = [blocks.at(-2), blocks.at(-1)]
      assert.ok(first && second)
      return [first, second]
    }

    const scenarios: {
      name: string
      says: RegExp
      worst?: number
      isRemembered?: true
      change: () => Promise<unknown>
    }[] = [
      {
        name: 'a row that was dropped',
        says: /^altered: log of tenant .*: missing before line/,
        change: async () => reach(`DELETE FROM log ${ofBlock}`, ...(await pair(one))[0].where),
      },
      {
        name: 'rows that changed places',
        says: /^altered: log of tenant .* do not lead to the root/,
        change: async () => {
          const [first, second] = await pair(one)
          await overwrite(first, second)
          await overwrite(second, first)
        },
      },
      {
        name: 'a row that was duplicated over the next one',
        says: /^altered: log of tenant .* do not lead to the root/,
        change: async () => {
          const [first, second] = await pair(one)
          await overwrite(second, first)
        },
      },
      {
        name: 'a row that was re-dated',
        says: /^altered: log of tenant .* does not open/,
        change: async () => {
          const [block] = await pair(one)
          await overwrite(block, { ...block, firstAt: block.firstAt - dayMs, lastAt: block.lastAt - dayMs })
        },
      },
      {
        name: 'a row that was moved from another tenant',
        says: /^altered: log of tenant .* does not open/,
        change: async () => overwrite((await pair(one))[0], (await pair(other))[0]),
      },
      {
        name: 'a number of records that was changed',
        says: /^altered: log of tenant .* (does not open|missing)/,
        change: async () =>
          reach(`UPDATE log SET records = records + 1 ${ofBlock}`, ...(await pair(one))[0].where),
      },
      {
        name: 'a record that was declared to be dropped',
        says: /^altered: log of tenant /,
        change: async () =>
          reach(`UPDATE log SET kept = ? ${ofBlock}`, Buffer.of(0), ...(await pair(one))[0].where),
      },
      {
        name: 'a row behind the last one',
        says: /^altered: log of tenant .* stands behind the last record/,
        change: async () => {
          const { where, firstAt, lastAt, sealed } = (await pair(one))[1]
          const [tenant, writer, first] = where
          await reach(
            'INSERT INTO log (tenant, writer, first_record, records, kept, first_at, last_at, sealed) VALUES (?, ?, ?, 2, NULL, ?, ?, ?)',
            tenant,
            writer,
            first + 1,
            firstAt,
            lastAt,
            sealed,
          )
        },
      },
      {
        name: 'a head that was set back',
        says: /^altered: log of tenant .* storage counts 1 records/,
        change: async () => reach('UPDATE log_heads SET size = 1 WHERE tenant = ?', one.tenantNumber),
      },
      {
        name: 'a tree that was changed',
        says: /^altered: log of tenant .* the tree of writer \d+ does not open/,
        change: async () =>
          reach('UPDATE log_trees SET sealed = ? WHERE tenant = ?', Buffer.alloc(80), one.tenantNumber),
      },
      {
        name: 'an owner that is gone',
        isRemembered: true,
        says: /^altered: owner of log \d+ is corrupt/,
        change: async () => reach('DELETE FROM log_owners WHERE tenant = ?', one.tenantNumber),
      },
      {
        name: 'an owner that was renamed',
        isRemembered: true,
        says: /^altered: checkpoint \d+ of the log is corrupt/,
        change: async () =>
          reach('UPDATE log_owners SET tenant_id = ? WHERE tenant = ?', 'somebody', one.tenantNumber),
      },
      {
        name: 'a leaf that was changed',
        says: /^altered: checkpoint \d+ of the log is corrupt/,
        change: () => reach('UPDATE log_leaves SET size = size + 1 WHERE position = 2'),
      },
      {
        name: 'a leaf that was dropped',
        says: /^altered: leaf 2 of the checkpoints is corrupt/,
        change: () => reach('DELETE FROM log_leaves WHERE position = 2'),
      },
      {
        name: 'a note that was changed',
        says: /^altered: checkpoint \d+ of the log is corrupt/,
        change: () => reach("UPDATE log_checkpoints SET note = replace(note, 'time 2', 'time 3')"),
      },
      {
        name: 'a sealed state that was changed',
        says: /^altered: evidence of the log is corrupt/,
        change: () => reach('UPDATE log_checkpoints SET sealed = ?', Buffer.alloc(80)),
      },
      {
        name: 'records that were cut off the end',
        worst: 3,
        says: /^cut: log of tenant .* missing at the end/,
        change: async () => reach(`DELETE FROM log ${ofBlock}`, ...(await pair(one))[1].where),
      },
      {
        name: 'checkpoints that were cut off the end, without an anchor',
        worst: 3,
        says: /^cut: log of tenant .* their checkpoints are gone/,
        change: async () => {
          const sizes = await reach('SELECT size FROM log_checkpoints ORDER BY size')
          const kept = Number(sizes.at(-3)?.size)
          await reach('DELETE FROM log_checkpoints WHERE size > ?', kept)
          await reach('DELETE FROM log_leaves WHERE position >= ?', kept)
        },
      },
    ]

    for (const { name, says, worst = 2, isRemembered = false, change } of scenarios)
      test(`it names ${name} (L6.1)`, async () => {
        // A vault that runs may remember what storage said before.
        await (isRemembered ? changed(vault, change) : change())
        try {
          const found = await verified(vault)
          assert.equal(found.worst, worst, found.findings.join('\n'))
          assert.ok(
            found.findings.some(finding => says.test(finding)),
            found.findings.join('\n'),
          )
        } finally {
          await (isRemembered ? changed(vault, restore) : restore())
        }
      })

    test('no byte of a row can be changed without its being named (L6.1)', async () => {
      const [block] = await pair(one)
      const step = Math.max(1, Math.floor(block.sealed.length / (isLong ? 12 : 4)))
      for (let at = 0; at < block.sealed.length; at += step) {
        const sealed = Buffer.from(block.sealed)
        sealed[at] = (sealed[at] ?? 0) ^ 1
        await overwrite(block, { ...block, sealed })
        const { worst, findings } = await verified(vault)
        assert.equal(worst, 2, `byte ${at}`)
        assert.match(findings.join('\n'), new RegExp(`${one.keys.tenantId}.* does not open`))
      }
      await restore()
      await assertGood(vault)
    })

    test('heads that storage has set back or lost are raised to what the log has, and no number is given twice (L3, L6)', async () => {
      const headsOf = async ({ tenantNumber }: LogOwner): Promise<[number, number][]> =>
        (
          await reach('SELECT writer, size FROM log_heads WHERE tenant = ? ORDER BY writer', tenantNumber)
        ).map(({ writer, size }) => [Number(writer), Number(size)])
      const [before, others] = [await headsOf(one), await headsOf(other)]
      await reach('UPDATE log_heads SET size = 1 WHERE tenant = ?', one.tenantNumber)
      await reach('DELETE FROM log_heads WHERE tenant = ?', other.tenantNumber)
      const { store } = vault.service.vault
      assert.equal(await store.mendNumbers(one.tenantNumber), before.filter(([, size]) => size > 1).length)
      assert.equal(await store.mendNumbers(other.tenantNumber), others.length)
      assert.deepEqual([await headsOf(one), await headsOf(other)], [before, others])
      // Beyond what is left of the log, too: retention or an attacker may have removed its end.
      await reach('DELETE FROM log WHERE tenant = ?', one.tenantNumber)
      await reach('UPDATE log_heads SET size = 0 WHERE tenant = ?', one.tenantNumber)
      await store.mendNumbers(one.tenantNumber)
      assert.deepEqual(await headsOf(one), before)
      assert.equal(await store.mendNumbers(one.tenantNumber), 0)
      await restore()
      await assertGood(vault)
    })
  })

for (const engine of engines)
  describe(`anchors (${engine.name})`, () => {
    const folder = temporaryFolder()
    let vault: TestVault
    let world: Awaited<ReturnType<typeof newWorld>>
    const path = join(folder.path, 'anchor.notes')
    before(async () => {
      vault = await TestVault.start({ engine, settings: { auditAnchors: [fileAnchor(path)] } })
      world = await newWorld(vault)
      await world.act(2)
      await prove(vault)
    })
    after(async () => {
      await vault.stop()
      folder.remove()
    })
    /** A service that does not start leaves storage to whoever opened it. */
    const startsOn = async (anchors: readonly string[]): Promise<void> => {
      ;(vault.settings as { auditAnchors: unknown }).auditAnchors = anchors.map(fileAnchor)
      await vault.openOn(engine).catch(async error => {
        await vault.store.close()
        throw error
      })
    }
    const newestSize = async (): Promise<number> => (await vault.store.newestCheckpoint())?.size ?? 0

    test("yesterday's storage is not served under today's anchor, until the operator accepts it (L4.5, L6.3)", async () => {
      await assertGood(vault, [path])
      const yesterday = await snapshotOf(vault)
      const before = await newestSize()
      for (let round = 0; round < 4; round++) {
        await world.act(1)
        await prove(vault)
      }
      await assertGood(vault, [path])
      await vault.close()
      await yesterday()
      await assert.rejects(startsOn([path]), {
        name: 'NotAnchoredError',
        message: new RegExp(
          `^storage is older than its anchor: it was rolled back or cut \\([^\\n]*\\). If that was you: strongroom logs accept-rollback ${before}$`,
        ),
      })
      // A command has no service, and looks at anchors when it needs them.
      await startsOn([])
      const { worst, findings } = await verified(vault, [path])
      assert.equal(worst, 3)
      assert.match(findings.join('\n'), /^cut: file:[^\n]* is at checkpoint \d+, and storage at \d+: /)
      assert.equal(await newestSize(), before, 'nothing is signed on top of it')

      const inner = vault.service.vault
      const log = { error: () => {} }
      const anchored = { ...inner, anchoring: new Anchoring(inner.evidence, [fileAnchor(path)], log) }
      await assert.rejects(acceptRollback(anchored, before + 1), { code: 'invalidRequest' })
      const notes = readFileSync(path, 'utf8')
      const { size } = await acceptRollback(anchored, before)
      assert.ok(size > before)
      assert.ok(readFileSync(path, 'utf8').startsWith(notes))
      assert.match(readFileSync(path, 'utf8').slice(notes.length), new RegExp(`\nepoch 1 ${before}\n`))
      const accepted = (await recordsOfOperator(inner)).filter(
        ({ operation, result }) => operation === 'logs accept-rollback' && result === 'allowed',
      )
      assert.deepEqual(
        accepted.map(({ after: then }) => then),
        [{ checkpoint: before }],
      )
      await assert.rejects(acceptRollback(anchored, size), /nothing to accept/)
      await vault.close()
      await startsOn([path])
      await world.act(2)
      await prove(vault)
      assert.equal(vault.service.vault.anchoring.state, 'good')
      await assertGood(vault, [path])
    })

    test('two futures of one backup are a fork, which nothing can accept (L4.5, L6.3)', async () => {
      const backup = await snapshotOf(vault)
      const shared = join(folder.path, 'shared.notes')
      copyFileSync(path, shared)
      await vault.close()
      await startsOn([shared])
      for (let round = 0; round < 3; round++) {
        await world.act(1)
        await prove(vault)
      }
      await changed(vault, async () => {
        await backup()
        ;(vault.settings as { auditAnchors: unknown }).auditAnchors = []
      })
      for (let round = 0; round < 5; round++) {
        vault.now += 1_000
        await world.act(2)
        await prove(vault)
      }
      const { worst, findings } = await verified(vault, [shared])
      assert.equal(worst, 4, findings.join('\n'))
      assert.match(findings.join('\n'), /^forked: checkpoint \d+ of file:[^\n]* two futures/)
      await vault.close()
      await assert.rejects(startsOn([shared]), /the log has two futures [^\n]*Bring back/)
      await startsOn([])
    })

    test('the note of another vault, or an altered one, is refused (L4.5)', async () => {
      const altered = join(folder.path, 'altered.notes')
      copyFileSync(path, altered)
      const notes = readFileSync(altered, 'utf8').split(/(?<=\n— [^\n]*\n)/)
      appendFileSync(altered, (notes[0] ?? '').replace('epoch 0', 'epoch 1 0'))
      assert.equal((await verified(vault, [altered])).worst, 2)
      await vault.close()
      await assert.rejects(startsOn([altered]), /holds what this vault has not signed/)
      await startsOn([path])
    })

    test('what retention removes is no finding (L7)', async () => {
      vault.now += 100 * dayMs
      await world.act(2)
      await prove(vault)
      assert.ok((await cutLogs(vault.service.vault, { retentionDays: 90 })) > 0)
      await assertGood(vault, [path])
    })

    test('a process that does not write the anchor sees how it is, and brings what is late (L4.4)', async () => {
      const seen = join(folder.path, 'seen.notes')
      copyFileSync(path, seen)
      await vault.close()
      await startsOn([seen])
      const { evidence, anchoring, acts } = vault.service.vault
      await world.act(1)
      await acts.flush()
      const checkpoint = await evidence.checkpoint()
      assert.ok(checkpoint)
      vault.now += 60_000
      anchoring.look()
      await anchoring.settled()
      assert.ok(readFileSync(seen, 'utf8').endsWith(checkpoint.note))
      assert.deepEqual([anchoring.state, anchoring.sizes], ['good', [checkpoint.size]])
      const other = new Anchoring(evidence, [fileAnchor(seen)], { error: () => {} })
      appendFileSync(seen, checkpoint.note.replace(/epoch \d+/, 'epoch 9'))
      other.look()
      await other.settled()
      assert.equal(other.state, 'stopped')
      await vault.close()
      await startsOn([path])
    })

    test('an anchor that is dead or full harms no request, and /ready says so (L4.4)', async () => {
      for (const dead of ['/dev/full', join(folder.path, 'gone', 'anchor.notes')]) {
        await vault.close()
        await startsOn([dead])
        await world.act(1)
        await prove(vault)
        const ready = await vault.get('/ready', '')
        assert.deepEqual([ready.status, ready.body], [200, { status: 'ready', anchors: 'failing' }], dead)
      }
      await vault.close()
      const taken = join(folder.path, 'taken.notes')
      copyFileSync(path, taken)
      await startsOn([taken])
      appendFileSync(taken, 'what this vault has not signed\n\n— strongroom AAAA\n')
      const notes = readFileSync(taken, 'utf8')
      await world.act(1)
      await prove(vault)
      const ready = await vault.get('/ready', '')
      assert.deepEqual([ready.status, ready.body], [200, { status: 'ready', anchors: 'stopped' }])
      assert.equal(readFileSync(taken, 'utf8'), notes, 'nothing more is appended')
      await vault.close()
      await startsOn([path])
      await prove(vault).catch(() => 0)
      assert.deepEqual((await vault.get('/ready', '')).body, { status: 'ready' })
    })
  })
