import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { type CopyProgress, type CopyResult, copyVault } from '../../src/operations/transfer/copy-vault.ts'
import type { CopyTarget } from '../../src/store/copying.ts'
import { openCopyTarget } from '../../src/store/postgres/copy-target.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { openCopySource } from '../../src/store/sqlite/copy-source.ts'
import { sqlite } from '../rig/engines.ts'
import { type LivedInVault, livedInVault } from '../rig/lived-in-vault.ts'
import { emptyDatabase, settingsOf } from '../rig/postgres-databases.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'

/** Small, so that most tables take several batches, even that of the tenants' keys. */
const rowsPerBatch = 5

class Killed extends Error {}

describe('a copy of a vault into PostgreSQL', () => {
  let lived: LivedInVault
  let folder: ReturnType<typeof temporaryFolder>
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  before(async () => {
    lived = await livedInVault()
    await lived.vault.close()
  })
  after(() => lived.vault.folder.remove())
  beforeEach(async () => {
    folder = temporaryFolder()
    cpSync(lived.vault.folder.path, folder.path, { recursive: true })
    database = await emptyDatabase()
  })
  afterEach(async () => {
    folder.remove()
    await database.drop()
  })

  const inSource = (sql: string) => sqlite.reach(folder.path, sql)
  const inCopy = async (sql: string): Promise<void> => {
    const client = new pg.Client(database.url)
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }
  /** One run of the command, with some calls of the target replaced. */
  const run = async (
    replaced: (target: CopyTarget) => Partial<CopyTarget> = () => ({}),
    report: (progress: CopyProgress) => void = () => {},
  ): Promise<CopyResult> => {
    const source = openCopySource(join(folder.path, 'vault.db'))
    const opened = await openCopyTarget(settingsOf(database.url), source.identity)
    const keyProvider = fileKeyProvider(join(folder.path, 'master.key'))
    try {
      const target = { ...opened, ...replaced(opened) }
      return await copyVault({ source, target, keyProvider, report, rowsPerBatch })
    } finally {
      await opened.close()
      source.close()
    }
  }
  const killedAtTheEnd = () =>
    assert.rejects(
      run(() => ({ finish: () => Promise.reject(new Killed()) })),
      Killed,
    )
  const cannotBeServed = () =>
    assert.rejects(openPostgres(settingsOf(database.url)), error => {
      assert.match(String((error as Error).cause), /a copy into this storage is not finished/)
      return true
    })

  for (const [moment, diesBefore] of [
    ['before a batch is written', true],
    ['after a batch is written', false],
  ] as const)
    test(`a copy killed ${moment}, again and again, ends as if it had never been killed (C35)`, async () => {
      let copied = 0
      let runs = 0
      let result: CopyResult | undefined
      const told: number[] = []
      while (result === undefined) {
        assert.ok(runs++ < 200, 'the copy goes on with each run')
        let batches = 0
        result = await run(
          ({ append }) => ({
            append: async (...batch) => {
              if (diesBefore && batches > 0) throw new Killed()
              batches++
              await append(...batch)
              copied += batch[1].length
              if (!diesBefore) throw new Killed()
            },
          }),
          ({ phase, done }) => phase === 'copy' && told.push(done),
        ).catch(error => {
          if (!(error instanceof Killed)) throw error
          return undefined
        })
      }
      const all = Object.values(result.rows).reduce((sum, count) => sum + count, 0)
      assert.ok(runs > 15, `${runs} runs`)
      assert.deepEqual(result.faults, [])
      assert.equal(copied, all, 'no row twice, none left out')
      assert.deepEqual(
        told,
        told.toSorted((a, b) => a - b),
        'progress never goes back',
      )
      await (await openPostgres(settingsOf(database.url))).close()
    })

  test('an unfinished copy cannot be served, and is finished by the next run (C35)', async () => {
    await killedAtTheEnd()
    await cannotBeServed()
    const told: CopyProgress[] = []
    const { faults, copied, rows } = await run(undefined, progress => told.push(progress))
    assert.deepEqual({ faults, copied }, { faults: [], copied: 0 })
    const of = Object.values(rows).reduce((sum, count) => sum + count, 0)
    assert.deepEqual(told.at(-1), { phase: 'verify', done: of, of }, 'all of it is verified')
    await (await openPostgres(settingsOf(database.url))).close()
  })

  test('every row that was changed behind the back of the vault does not open, and is named (C35)', async () => {
    const { ids } = lived
    const [grants] = await inSource(
      `SELECT (SELECT application_id FROM applications WHERE tenant = 1 ORDER BY 1 LIMIT 1) AS application,
         (SELECT lower(hex(hash)) FROM api_keys WHERE tenant = 1 ORDER BY hash LIMIT 1) AS api_key,
         (SELECT lower(hex(hash)) FROM results) AS result,
         (SELECT token_id FROM transients WHERE tenant = 2) AS card`,
    )
    for (const sql of [
      `UPDATE tokens SET type = 'token' WHERE token_id = '${ids.card}'`,
      `UPDATE tokens SET sealed = zeroblob(length(sealed)) WHERE token_id = '${ids.found}'`,
      `UPDATE tokens SET expires_at = expires_at + 1 WHERE token_id = '${ids.brief}'`,
      'UPDATE tenants SET sealed = zeroblob(40) WHERE tenant = 2',
      `UPDATE applications SET sealed = zeroblob(40) WHERE application_id = '${grants?.application}'`,
      `UPDATE api_keys SET expires_at = 1 WHERE hash = x'${grants?.api_key}'`,
      'UPDATE slots SET bytes = zeroblob(size) WHERE slot IN (SELECT slot FROM transients WHERE tenant = 2)',
      'UPDATE results SET expires_at = expires_at + 1',
      "UPDATE reports SET name = 'Indexes' WHERE tenant = 1",
    ])
      await inSource(sql)
    const { faults } = await run()
    assert.deepEqual(
      faults.map(({ row, problem }) => `${row} ${problem}`).toSorted(),
      [
        `tokens 1 ${ids.card}`,
        `tokens 1 ${ids.found}`,
        `tokens 1 ${ids.brief}`,
        'tenants 2',
        `applications 1 ${grants?.application}`,
        `api_keys ${grants?.api_key}`,
        // Its own bytes are intact, but it opens only together with its token.
        `transients 1 ${ids.card} cvc`,
        `transients 2 ${grants?.card} cvc`,
        `results 1 ${grants?.result}`,
        'reports 1 Indexes',
      ]
        .map(row => `${row} does not open`)
        .toSorted(),
    )
    await cannotBeServed()
  })

  test('a transient field whose token is gone does not open, and is named (C35)', async () => {
    await inSource(`DELETE FROM tokens WHERE token_id = '${lived.ids.card}'`)
    const { faults } = await run()
    assert.deepEqual(faults, [{ row: `transients 1 ${lived.ids.card} cvc`, problem: 'does not open' }])
    await cannotBeServed()
  })

  test('the verification of a copy of which hardly anything opens ends early (C35)', async () => {
    await inSource(`
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1100)
      INSERT INTO results SELECT 1, CAST(printf('%04d', n) AS BLOB), 1, x'02' FROM numbers`)
    await inSource("UPDATE reports SET name = 'Indexes' WHERE tenant = 1")
    const { faults } = await run()
    assert.ok(faults.length >= 1_000 && faults.length < 1_000 + rowsPerBatch, `${faults.length} faults`)
    assert.ok(
      faults.every(({ row }) => row.startsWith('results ')),
      'the table after it is not even read',
    )
    await cannotBeServed()
  })

  test('the master key of another vault is found before anything is copied (C35)', async () => {
    const path = join(folder.path, 'master.key')
    rmSync(path)
    createMasterKeyFile(path)
    let batches = 0
    const wrongKey = run(({ append }) => ({
      append: (...batch) => {
        batches++
        return append(...batch)
      },
    }))
    await assert.rejects(wrongKey, KeyProviderError)
    assert.equal(batches, 0)
  })

  test('a copy whose source and target fail at once fails for the reason of the source (C35)', async () => {
    await inSource("UPDATE tokens SET version = 'many' WHERE token_id = (SELECT max(token_id) FROM tokens)")
    const failing = run(({ append }) => ({
      append: (table, ...batch) =>
        table.name === 'tokens' ? Promise.reject(new Killed()) : append(table, ...batch),
    }))
    await assert.rejects(failing, /holds a value that the vault never wrote/)
  })

  test('a copy that cannot be read back fails for that reason, even while an earlier page is checked (C35)', async () => {
    const unread = run(({ read }) => ({
      read: table => {
        const reader = read(table)
        let pages = 0
        return table.name === 'tokens'
          ? { ...reader, next: rows => (pages++ === 0 ? reader.next(rows) : Promise.reject(new Killed())) }
          : reader
      },
    }))
    await assert.rejects(unread, Killed)
    await cannotBeServed()
  })

  test('a tenant whose keys do not unwrap is named, along with the rows that they would open (C35)', async () => {
    const [tenant] = await inSource('SELECT tenant_id AS id FROM tenants WHERE tenant = 2')
    await inSource(
      `UPDATE slots SET bytes = zeroblob(size) WHERE slot IN
         (SELECT slot FROM tenant_keys WHERE tenant = 2 AND purpose = 'data')`,
    )
    const { faults } = await run()
    const names = faults.map(({ row }) => row)
    assert.equal(names[0], `tenant_keys of tenant ${tenant?.id}`)
    assert.ok(names.some(name => name.startsWith('tokens 2 ')))
    assert.ok(!names.some(name => name.startsWith('tokens 1 ')))
  })

  test('a key that does not unwrap is no fault of its row while the master key is out of reach (C35)', async () => {
    await inSource(
      `UPDATE slots SET bytes = zeroblob(size) WHERE slot IN
         (SELECT slot FROM tenant_keys WHERE tenant = 2 AND purpose = 'data')`,
    )
    const withoutKey = run(({ read }) => ({
      read: table => {
        if (table.name === 'tenants') rmSync(join(folder.path, 'master.key'))
        return read(table)
      },
    }))
    await assert.rejects(withoutKey, KeyProviderError)
    await cannotBeServed()
  })

  test('every row of the copy that differs from the source is named (C35)', async () => {
    await killedAtTheEnd()
    const [last] = await inSource(
      'SELECT tenant, lower(hex(term)) AS term, lower(hex(tag)) AS tag FROM matches',
    )
    const [use] = await inSource(
      `SELECT lower(hex(hash)) AS hash FROM api_keys WHERE tenant = 1 AND last_used_at IS NOT NULL
         ORDER BY hash LIMIT 1`,
    )
    await inCopy(`
      UPDATE applications SET sealed = '\\x00' WHERE tenant = 2;
      UPDATE key_uses SET hash = set_byte(hash, 31, get_byte(hash, 31) # 1) WHERE hash = '\\x${use?.hash}';
      UPDATE tokens SET active_month = 202601 WHERE token_id = '${lived.ids.card}';
      DELETE FROM matches;
      UPDATE counters SET at = at + 1 WHERE tenant = 1 AND name = 'type:card';
      INSERT INTO results VALUES (9, '\\x01', 1, '\\x02');
      INSERT INTO dead_tenants VALUES (9);
      UPDATE terms SET tag = NULL WHERE tag = (SELECT max(tag) FROM terms WHERE tenant = 2) AND tenant = 2`)
    const { faults } = await run()
    const names = faults.map(({ row, problem }) => `${row} ${problem}`)
    const expected = [
      'dead_tenants 9',
      /^applications 2 \S+ does not open$/,
      /^applications 2 \S+ is not what the source holds$/,
      `key_uses 1 ${use?.hash}`,
      `tokens 1 ${lived.ids.card}`,
      'results 9 01',
      /^terms 2 [0-9a-f]{24} \d+ \S+ is not what the source holds$/,
      `matches ${last?.tenant} ${last?.term} ${last?.tag}`,
      'counters 1 type:card',
    ]
    assert.equal(names.length, expected.length, names.join())
    expected.forEach((name, place) => {
      if (name instanceof RegExp) assert.match(names[place] ?? '', name)
      else assert.equal(names[place], `${name} is not what the source holds`)
    })
    await cannotBeServed()
  })
})
