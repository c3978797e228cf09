import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Store } from '../../src/store/port.ts'
import { openCopyTarget } from '../../src/store/postgres/copy-target.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import type { LogBlockRow } from '../../src/store/rows.ts'
import { backUpSqlite } from '../../src/store/sqlite/back-up.ts'
import { openCopySource } from '../../src/store/sqlite/copy-source.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { tables } from '../../src/store/tables.ts'
import { linesOf, logOf } from '../rig/log-parts.ts'
import { emptyDatabase, settingsOf } from '../rig/postgres-databases.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { bytes, tokenRow, writeSet } from './contract/rig.ts'

describe('the log of a vault that moves', () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'vault.db')
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let tenant: number
  let known: unknown

  const newTenant = (id: string) => ({ id, sealed: bytes('s'), keys: [], applications: [], apiKeys: [] })
  const blocksOf = async (store: Store): Promise<LogBlockRow[]> => {
    const heads = await store.listLogHeads(tenant)
    const cursors = heads.map(({ writer }) => ({ writer, from: 0 }))
    return store.readLog(tenant, cursors, { limit: 100 })
  }
  /** All that storage knows of the log, without what says where its bytes are. */
  const all = async (store: Store) =>
    structuredClone({
      blocks: await blocksOf(store),
      heads: await store.listLogHeads(tenant),
      tree: await store.getLogTree(tenant, 0),
      owners: await store.listLogOwners(0, 9),
      checkpoints: await store.scanCheckpoints(0, 9),
      leaves: await store.scanLogLeaves(0, 9),
    })

  before(async () => {
    database = await emptyDatabase()
    const store = openSqlite({ path })
    tenant = await store.createTenant(newTenant('one'), logOf(['made']))
    const insertion = (text: string, id: string) =>
      writeSet(tenant, {
        guarded: [{ kind: 'insertToken', row: tokenRow(tenant, id) }],
        log: logOf([text]),
      })
    const [kept, dropped] = [insertion('created a', 'a'), insertion('never happened', 'a')]
    await Promise.all([kept, dropped, insertion('created b', 'b')].map(set => store.commit(set)))
    await store.putLogTree({ tenant, writer: 0, size: 2, sealed: bytes('tree') }, null)
    const leaf = { position: 0, tenant, writer: 0, size: 2, root: bytes('root') }
    await store.putCheckpoint({ size: 1, at: 5, note: 'note\n', sealed: bytes('seal') }, [leaf], null)
    const revised = { kind: 'reviseTenant', ifRevision: 1 } as const
    await store.commit(
      writeSet(tenant, { guarded: [revised], effects: [{ kind: 'deleteTenant' }], log: logOf(['deleted']) }),
    )
    while ((await store.purgeDeadTenants(100)) > 0);
    known = await all(store)
    assert.deepEqual((await blocksOf(store)).flatMap(linesOf), ['made', 'created a', 'created b', 'deleted'])
    assert.ok((await blocksOf(store)).some(block => block.kept !== null))
    await store.close()
  })
  after(async () => {
    await database.drop()
    folder.remove()
  })

  test('a backup holds all of it (L7, C35)', async () => {
    const to = join(folder.path, 'backup.db')
    await backUpSqlite({ path, to })
    const store = openSqlite({ path: to })
    assert.deepEqual(await all(store), known)
    await store.close()
  })

  test('a copy in PostgreSQL holds all of it, and numbers go on (L3, L7, C35)', async () => {
    const source = openCopySource(path)
    const destination = await openCopyTarget(settingsOf(database.url), source.identity)
    for (const table of tables) {
      let rows = 0
      for (const page of source.pages(table, 0, 2)) {
        rows += page.length
        await destination.append(table, page, { table: table.name, rows })
      }
    }
    await destination.finish(source.lastTenant())
    await destination.close()
    source.close()

    const store = await openPostgres(settingsOf(database.url))
    assert.deepEqual(await all(store), known)
    await store.commit(writeSet(tenant, { log: logOf(['a late record']) }))
    const heads = await store.listLogHeads(tenant)
    assert.equal(
      heads.reduce((sum, { size }) => sum + size, 0),
      5,
    )
    assert.equal(await store.createTenant(newTenant('two'), logOf(['made'])), tenant + 1)
    await store.close()
  })
})
