import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../src/domain/limits.ts'
import { parseQuery } from '../../../src/domain/search/parser.ts'
import { type PlannedBranch, planSearch } from '../../../src/domain/search/plan.ts'
import type { Lookup } from '../../../src/domain/search/query.ts'
import { tokenTypes } from '../../../src/domain/tokens/types/registry.ts'
import { faultOf, positionOf } from './fault.ts'

const plan = (text: string, mayRedact = false) => planSearch(parseQuery(text), { mayRedact })

/**
 * A branch in one line, in the order of the query: what is looked up, what is excluded, and what only the opened token
 * tells.
 */
const show = (branch: PlannedBranch): string =>
  branch
    .flatMap(({ field, negated, lookup, isOpened }) => [
      ...(lookup === undefined ? [] : [`${negated ? 'not ' : ''}${showLookup(lookup)}`]),
      ...(isOpened ? [`open ${field}`] : []),
    ])
    .join(', ')

const showLookup = (lookup: Lookup): string => {
  switch (lookup.by) {
    case 'id':
      return `id=${lookup.id}`
    case 'term':
      return lookup.terms.map(({ field, value }) => `${field}=${value}`).join('|')
    case 'createdAt':
      return 'created'
    case 'column':
      return `column ${lookup.condition.column}`
  }
}

/** Where a search with nothing but times starts. */
const anyType = [...tokenTypes.keys()].map(name => `type=${name}`).join('|')

describe('the plan of a search', () => {
  const plans: [query: string, ...branches: string[]][] = [
    ['type:card', 'type=card'],
    ['id:abc type:card', 'id=abc, type=card'],
    ['id:abc id:abc', 'id=abc, id=abc'],
    ['data:ABC metadata.K:É', 'data=abc, metadata.K=é'],
    ['container:/A/ container:/b/*', 'direct=/a/, container=/b/'],
    ['type:card -container:/a/', 'type=card, not direct=/a/'],
    ['type:card -container:/a/*', 'type=card, not container=/a/'],
    ['type:card OR type:bank', 'type=card', 'type=bank'],
    ['type:card (data:x OR data:y)', 'type=card, data=x|data=y'],
    ['(metadata.a:1 OR type:card) (type:bank OR data:y)', 'metadata.a=1|type=card, type=bank|data=y'],
    ['type:card (container:/a/ OR type:bank)', 'type=card, direct=/a/|type=bank'],
    ['type:card (type:bank OR -type:token)', 'type=card, type=bank', 'type=card, not type=token'],
    ['id:"\ud800abc" type:card'],
    ['type:card -data:x -id:abc', 'type=card, not data=x, not id=abc'],
    ['type:card NOT (data:x OR data:y)', 'type=card, not data=x, not data=y'],
    ['type:card NOT (data:x AND data:y)', 'type=card, not data=x', 'type=card, not data=y'],
    ['NOT (NOT type:card)', 'type=card'],
    ['NOT (-type:card OR data:x)', 'type=card, not data=x'],
    ['type:card created_at:2026-01-01', 'type=card, created'],
    ['type:card -created_at:2026-01-01', 'type=card, not created'],
    ['created_at:2026-01-01', `${anyType}, created`],
    ['created_at:[* TO 2026-01-01]', `${anyType}, created`],
    ['created_at:[2026-01-01 TO *]', `${anyType}, created`],
    ['created_at:[* TO *]', anyType],
    ['created_at:[* TO *] -created_at:2026-01-01', `${anyType}, not created`],
    ['created_at:[* TO *] type:card', 'type=card'],
    ['created_by:x created_at:2026-01-01', `${anyType}, column createdBy, created`],
    ['created_at:2026-01-01 -data:x', `${anyType}, created, not data=x`],
    ['id:abc OR created_at:2026-01-01', 'id=abc', `${anyType}, created`],
    ['type:card created_by:x', 'type=card, column createdBy'],
    ['type:card -modified_at:2026-01-01', 'type=card, not column modifiedAt'],
    ['(type:card OR created_by:x) data:y', 'type=card, data=y', 'column createdBy, data=y'],
  ]
  for (const [query, ...branches] of plans)
    test(`${query} starts from the index (C26.8)`, () =>
      assert.deepEqual(plan(query).branches.map(show), branches))

  test('a branch that no token can satisfy is left out of the plan (C26.4)', () => {
    assert.deepEqual(plan('id:abc id:xyz').branches, [])
    assert.deepEqual(plan('type:card created_at:2026-01-01 created_at:2026-01-02').branches, [])
    assert.equal(plan('(id:abc id:xyz) OR type:card').branches.length, 1)
  })

  test('conditions that an index or a column decides exactly are counted by storage (C26.8)', () => {
    for (const query of [
      'type:card -data:x created_at:2026-01-01',
      'container:/a/* OR id:abc',
      'container:/a/ -container:/b/',
      'type:card created_by:x',
      'type:card OR (data:x -modified_by:y)',
    ])
      assert.equal(plan(query).isExact, true, query)
  })

  test('where tokens may be redacted, data and fingerprint are checked on the opened token (C26.7)', () => {
    assert.equal(plan('type:card metadata.k:x', true).isExact, true)
    for (const query of ['data:x', 'fingerprint:x', 'type:card -data:x'])
      assert.equal(plan(query, true).isExact, false)
    assert.deepEqual(plan('data:x', true).branches.map(show), ['data=x, open data'])
    // A token that has the value but hides it must not be excluded: to this caller it has none.
    assert.deepEqual(plan('type:card -data:x', true).branches.map(show), ['type=card, open data'])
  })

  const refused: [query: string, position: number][] = [
    ['created_by:x', 1],
    ['-created_at:2026-01-01', 2],
    ['type:card OR (modified_at:[* TO *] NOT created_at:2026-01-01)', 15],
    ['NOT type:card', 5],
    ['-id:abc', 2],
    ['type:card OR created_by:x', 14],
    ['type:card OR (modified_by:x AND NOT data:y)', 15],
    ['NOT (type:card AND data:x)', 6],
    ['(type:card OR -data:x) (id:abc OR created_by:y)', 16],
  ]
  for (const [query, position] of refused)
    test(`refuses ${query} at character ${position} (C26.8)`, () =>
      assert.equal(positionOf(faultOf(() => plan(query))), position))

  test('the number of alternatives is bounded, however they arise (C26.9)', () => {
    const pair = '(id:x OR data:y)'
    const pairs = (count: number): string => Array(count).fill(pair).join(' ')
    assert.equal(plan(pairs(Math.log2(limits.searchBranches))).branches.length, limits.searchBranches)
    const tooMany = pairs(Math.log2(limits.searchBranches) + 1)
    assert.equal(positionOf(faultOf(() => plan(tooMany))), tooMany.lastIndexOf(pair) + 2)
    assert.match(
      faultOf(() => plan(`type:card NOT (${tooMany.replaceAll('OR', 'AND').replaceAll(') (', ') OR (')})`)),
      /alternatives/,
    )
  })
})
