import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { withRowNumbers } from '../../src/store/sqlite/row-number.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { storeContract } from './store-contract.ts'
import { type SqliteWatch, watchSqlite } from './watch-sqlite.ts'

/**
 * Tables that are small by nature, such as the heads of logs, one for each tenant, and steps of a plan with no more rows than its page or list. Only `doctor` reads all
 * counters, and only the purge of a dead tenant all waiting entries.
 */
const mayBeScanned =
  /^SCAN (?:sqlite_schema|tenants|dead_tenants|heads|counters|vault_keys|waiting_terms|listed|json_each|page|found|oldest|CONSTANT ROW|\d+-ROW VALUES CLAUSE|\(?subquery-\d+\)?)\b/

const planOf = (database: DatabaseSync, sql: string): string[] =>
  database
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(step => String(step.detail))

let watch: SqliteWatch

// The contract exercises everything that the port promises, so its SQL is all the SQL there is.
describe('watched SQL (sqlite)', () => {
  before(() => {
    watch = watchSqlite()
  })
  after(() => watch.stop())
  storeContract('sqlite, watched', folder =>
    openSqlite({ path: join(folder, 'vault.db'), writing: 'inline' }),
  )
})

describe('query plans (sqlite)', () => {
  let database: DatabaseSync
  let queries: string[]
  before(() => {
    database = new DatabaseSync(':memory:')
    migrate(withRowNumbers(database))
    // An empty IN is false before the first row; its plan names a scan that never begins.
    queries = [...watch.prepared].filter(sql => /\bFROM\b|\bUPDATE\b/.test(sql) && !sql.includes('IN ()'))
  })

  test('no query scans a whole table of tokens, terms or anything else that grows with them (C24.10, C25.2)', () => {
    assert.ok(queries.length > 50, 'the watch saw the queries')
    assert.ok(queries.some(sql => sql.includes('UNION')) && queries.some(sql => sql.includes('EXISTS')))
    for (const sql of queries)
      for (const step of planOf(database, sql))
        assert.ok(!step.startsWith('SCAN') || mayBeScanned.test(step), `${step}\n${sql}`)
  })

  test('a further group is checked with one look-up in the index (C24.7, C25.2)', () => {
    const steps = queries
      .filter(sql => sql.includes('EXISTS'))
      .flatMap(sql => planOf(database, sql).filter(step => /^SEARCH e\b/.test(step)))
    assert.ok(steps.length > 0)
    for (const step of steps) assert.match(step, /tenant=\? AND term=\? AND created_at=\? AND token_id=\?/)
  })

  test('the arms of an OR are merged in the order of the index, not sorted (C24.4, C25.2)', () => {
    // Ids, and a start of several terms next to other branches, match few rows: those are sorted.
    const isSorted = (sql: string): boolean => sql.includes('FROM tokens t') || sql.includes('t.term IN')
    const lists = queries.filter(
      sql => sql.includes('OFFSET') && sql.includes('FROM terms t') && !isSorted(sql),
    )
    assert.ok(lists.some(sql => sql.includes('UNION')) && lists.some(sql => !sql.includes('UNION')))
    for (const sql of lists)
      assert.deepEqual(
        planOf(database, sql).filter(step => step.includes('TEMP B-TREE')),
        [],
        sql,
      )
  })
})

test('expired tokens are counted from their own index, not by scanning the tenant (C24.10)', () => {
  const database = new DatabaseSync(':memory:')
  migrate(database)
  const counts = [...watch.prepared].filter(sql => sql.includes('GROUP BY t.type') && !sql.includes('IN ()'))
  assert.ok(counts.length >= 2, 'with and without terms')
  for (const sql of counts) {
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
    assert.match(String(plan[0]?.detail), /USING (?:COVERING )?INDEX tokens_by_expiry/)
  }
})
