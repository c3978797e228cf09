import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import type { TokenBranch, TokenQuery } from '../../src/store/port.ts'
import type { Sql } from '../../src/store/sql/dialect.ts'
import { countQuery, pageQuery } from '../../src/store/sql/token-query.ts'
import { sqliteDialect } from '../../src/store/sqlite/dialect.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { withRowNumbers } from '../../src/store/sqlite/row-number.ts'

const term = (text: string): Uint8Array => Buffer.from(text)
const [a, b, c] = [term('a'), term('b'), term('c')]
const base = { tenant: 1, now: 0 }

describe('how SQLite answers lists and searches', () => {
  const database = new DatabaseSync(':memory:')
  migrate(withRowNumbers(database))
  after(() => database.close())

  const planOf = ({ sql, values }: Sql): string[] =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map(row => String(row.detail))

  const queries: [name: string, query: TokenQuery, start: string, sorts?: true][] = [
    ['one term', { ...base, groups: [[a]] }, 'tenant=? AND term=?'],
    ['an AND', { ...base, groups: [[a], [b], [c]] }, 'tenant=? AND term=?'],
    ['a group of several terms', { ...base, groups: [[a, b], [c]] }, 'tenant=? AND term=?'],
    [
      'after a position',
      { ...base, groups: [[a], [b, c]], after: { createdAt: 5, id: 'x' } },
      'tenant=? AND term=? AND created_at<?',
    ],
    [
      'after a position and within a span',
      { ...base, groups: [[a]], createdAt: { from: 1, until: 9 }, after: { createdAt: 5, id: 'x' } },
      'tenant=? AND term=? AND created_at>? AND created_at<?',
    ],
    [
      'negations',
      { ...base, groups: [[a]], without: [b, c], withoutIds: ['x'], notCreatedAt: [{ from: 1 }] },
      'tenant=? AND term=?',
    ],
    [
      'alternatives',
      { ...base, anyOf: [{ groups: [[a], [b]] }, { groups: [[c]], without: [a] }] },
      'tenant=? AND term=?',
    ],
    // A start of several terms next to other branches is sorted; a search uses one only if it is rare.
    [
      'alternatives that start from several terms',
      { ...base, anyOf: [{ groups: [[a, b]] }, { groups: [[c]] }] },
      'tenant=? AND term=?',
      true,
    ],
    ['ids', { ...base, groups: [[a]], ids: Array.from({ length: 100 }, String) }, 'rowid=?', true],
  ]
  for (const [name, query, start, sorts] of queries)
    for (const [kind, sql] of [
      ['page', pageQuery(query, { offset: 0, limit: 20 }, sqliteDialect)],
      ['count', countQuery(query, sqliteDialect)],
    ] as const)
      test(`${name}: the ${kind} starts with a search in an index and scans no table (C24.10, C25.2, C26.8)`, () => {
        const plan = planOf(sql)
        const touched = plan.filter(line => /^(SEARCH|SCAN) [tek]\b/.test(line))
        const [first = ''] = touched
        assert.ok(first.startsWith('SEARCH t ') && first.endsWith(`(${start})`), first)
        for (const line of touched)
          assert.match(line, /^SEARCH \w+ .*\((tenant=\? AND (term|token_id)|rowid)=\?/)
        const scans = plan.filter(
          line =>
            line.startsWith('SCAN') && !/^SCAN (found|\(subquery-\d+\)|\d+-ROW VALUES CLAUSE)$/.test(line),
        )
        assert.deepEqual(scans, [])
        if (sorts === undefined)
          assert.deepEqual(
            plan.filter(line => line.includes('TEMP B-TREE')),
            [],
          )
      })

  for (const [lookUps, isJoined] of [
    [6, true],
    [7, false],
    [45, false],
  ] as const)
    test(`${lookUps} look-ups for each entry are ${isJoined ? '' : 'not '}made a join, whose planning takes exponential time (C26.9)`, () => {
      const query = { ...base, groups: [[a], ...Array(lookUps - 1).fill([b])], without: [c] }
      const plan = planOf(countQuery(query, sqliteDialect))
      assert.equal(
        plan.some(line => line.includes(' EXISTS ')),
        isJoined,
      )
    })

  const terms = (count: number): Uint8Array[] => Array.from({ length: count }, (_, at) => term(`term ${at}`))
  const widest: [name: string, alternatives: number, branch: TokenBranch][] = [
    ['of many rules, rarest term first', 64, { groups: [[a], terms(150), terms(150)], without: [b] }],
    ['that starts from many rules', 64, { groups: [terms(150), [a], terms(150)], without: [b] }],
    ['that starts from every type', 13, { groups: [terms(36), terms(150), terms(150)] }],
    ['with as many terms as a query may hold', 64, { groups: Array(44).fill(terms(8)), without: terms(30) }],
  ]
  for (const [name, alternatives, branch] of widest)
    test(`the widest search that the limits allow fits in one statement: ${name} (C26.9)`, () => {
      const query: TokenQuery = { ...base, anyOf: Array(alternatives).fill(branch) }
      const { sql, values } = countQuery(query, sqliteDialect)
      assert.equal(database.prepare(sql).get(...values)?.n, 0)
    })
})
