import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TokenQuery } from '../../src/store/port.ts'
import { Connection } from '../../src/store/postgres/connection.ts'
import { numbered, postgresDialect } from '../../src/store/postgres/dialect.ts'
import {
  matchHolders,
  oldestMatches,
  shortTokenById,
  shortTokensById,
  tokensById,
} from '../../src/store/postgres/token-reads.ts'
import * as statements from '../../src/store/sql/statements.ts'
import { countQuery, pageQuery } from '../../src/store/sql/token-query.ts'
import { databaseOf, settingsOf } from '../rig/postgres-databases.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'

const [a, b, c] = ['a', 'b', 'c'].map(text => Buffer.from(text)) as [Buffer, Buffer, Buffer]
const base = { tenant: 1, now: 0 }

/** On empty tables: the planner must not be misled even where it knows least. */
describe('how PostgreSQL answers lists and searches', () => {
  const folder = temporaryFolder()
  let connection: Connection
  before(async () => {
    connection = new Connection(settingsOf(await databaseOf(folder.path)))
  })
  after(async () => {
    await connection.close()
    folder.remove()
  })

  const planOf = async (sql: string): Promise<string[]> => {
    const { rows } = await connection.query({ text: `EXPLAIN (GENERIC_PLAN, COSTS OFF) ${numbered(sql)}` })
    return rows.map(row => String(row['QUERY PLAN']).trim())
  }

  /** Each table is read through an index that starts with the tenant: on Citus, one shard. */
  const assertOneTenant = (plan: readonly string[]): void => {
    const scans = plan.flatMap((line, at) =>
      / Scan /.test(line) && !line.includes('Function Scan') ? [{ line, cond: plan[at + 1] ?? '' }] : [],
    )
    assert.ok(scans.length > 0, plan.join('\n'))
    for (const { line, cond } of scans) {
      assert.match(line, /Index (Only )?Scan/, plan.join('\n'))
      if (line.includes('terms_key')) assert.match(line, /Index Only Scan/, plan.join('\n'))
      assert.match(cond, /^Index Cond: \(+tenant = \$\d+/, plan.join('\n'))
    }
  }

  const queries: [name: string, query: TokenQuery, sorts?: true][] = [
    ['one term', { ...base, groups: [[a]] }],
    ['an AND', { ...base, groups: [[a], [b], [c]] }],
    ['a group of several terms', { ...base, groups: [[a, b], [c]] }],
    ['after a position', { ...base, groups: [[a], [b, c]], after: { createdAt: 5, id: 'x' } }],
    [
      'negations',
      { ...base, groups: [[a]], without: [b, c], withoutIds: ['x', 'y'], notCreatedAt: [{ from: 1 }] },
    ],
    ['alternatives', { ...base, anyOf: [{ groups: [[a]] }, { groups: [[b], [c]] }] }],
    ['ids', { ...base, groups: [[a]], ids: ['x', 'y'] }, true],
  ]
  for (const [name, query, sorts] of queries)
    for (const [kind, { sql }] of [
      ['page', pageQuery(query, { offset: 0, limit: 20 }, postgresDialect)],
      ['count', countQuery(query, postgresDialect)],
    ] as const)
      test(`${name}: the ${kind} uses only indexes of one tenant and ${sorts ? 'may' : 'does not'} sort (C24.10, C25.2, C26.8)`, async () => {
        const plan = await planOf(sql)
        assertOneTenant(plan)
        if (sorts === undefined)
          assert.ok(!plan.some(line => line.includes('Sort (') || /-> +Sort$/.test(line)))
        if (sorts === undefined && kind === 'page')
          assert.deepEqual(
            plan.filter(line => /^(-> +)?(Incremental )?Sort$/.test(line)),
            [],
            plan.join('\n'),
          )
      })

  for (const [name, sql] of Object.entries({
    shortTokenById,
    shortTokensById,
    tokensById,
    oldestMatches,
    matchHolders,
    resultByHash: statements.resultByHash,
    tenantByNumber: statements.tenantByNumber,
    applicationById: statements.applicationById,
  }))
    test(`${name} uses only indexes of one tenant (C24.10)`, async () => {
      assertOneTenant(await planOf(sql))
    })

  test('the widest search that the limits allow fits in one statement (C26.9)', async () => {
    const roots = Array.from({ length: 50 }, (_, index) => Buffer.from(`root ${index}`))
    const branch = { groups: [roots, [a], roots], without: [b] }
    const { sql, values } = countQuery({ ...base, anyOf: Array(64).fill(branch) }, postgresDialect)
    const { rows } = await connection.query({ text: numbered(sql), values })
    assert.equal(rows[0]?.n, 0)
  })
})
