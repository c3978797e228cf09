import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../../src/domain/limits.ts'
import { parseQuery } from '../../../src/domain/search/parser.ts'
import type { Query } from '../../../src/domain/search/query.ts'
import { faultOf, positionOf } from './fault.ts'

const show = (query: Query): string => {
  switch (query.kind) {
    case 'term':
      return query.condition.field.replace('metadata.', '')
    case 'not':
      return `!${show(query.part)}`
    default:
      return `(${query.parts.map(show).join(query.kind === 'and' ? '&' : '|')})`
  }
}
/** Short names for terms, so that only the structure is seen. */
const structure = (text: string): string =>
  show(parseQuery(text.replace(/\b[a-e]\b/g, name => `metadata.${name}:x`)))

describe('the structure of a search query', () => {
  const read: [string, string][] = [
    ['a', 'a'],
    ['a b', '(a&b)'],
    ['a AND b c', '(a&b&c)'],
    ['a OR b AND c', '(a|(b&c))'],
    ['a b OR c d', '((a&b)|(c&d))'],
    ['(a OR b) c', '((a|b)&c)'],
    ['NOT a b', '(!a&b)'],
    ['-a OR !b', '(!a|!b)'],
    ['NOT (a OR b)', '!(a|b)'],
    ['NOT NOT a', '!!a'],
    ['a AND NOT b', '(a&!b)'],
    ['a -(b c)', '(a&!(b&c))'],
    ['((a))', 'a'],
    ['(a)(b)', '(a&b)'],
  ]
  for (const [query, expected] of read)
    test(`${query} is read as ${expected} (C26.4)`, () => assert.equal(structure(query), expected))

  test('every field is known by its own name (C26.3)', () => {
    const query =
      'id:x type:card data:x fingerprint:x container:/a/ metadata.k:x created_by:x created_at:2026-01-01 modified_by:x modified_at:2026-01-01'
    assert.equal(
      show(parseQuery(query)),
      '(id&type&data&fingerprint&container&k&created_by&created_at&modified_by&modified_at)',
    )
  })

  const refused: [query: string, position: number][] = [
    ['', 1],
    ['   ', 4],
    ['()', 2],
    ['AND type:card', 1],
    ['type:card AND', 14],
    ['type:card OR OR id:abc', 14],
    ['NOT', 4],
    ['(type:card', 1],
    ['type:card)', 10],
    ['nonsense:x', 1],
    ['type:card dota:x', 11],
    ['metadata:x', 1],
    ['metadata.:x', 1],
    ['data.number:x', 1],
    ['type:unknown', 6],
    ['type:Card', 6],
    ['data:abc*', 6],
    ['metadata.k:*', 12],
    ['data:[a TO b]', 6],
    ['container:[a TO b]', 11],
    ['container:/', 11],
    ['container:/a', 11],
    ['container:a/', 11],
    ['container:/a*', 11],
    ['container:/*/a/', 11],
    ['created_at:yesterday', 12],
    ['created_at:*', 12],
    ['created_at:[2026-02-01 TO 2026-01-01]', 12],
    ['modified_at:[a TO *]', 13],
  ]
  for (const [query, position] of refused)
    test(`refuses "${query}" at character ${position} (C26.9)`, () =>
      assert.equal(positionOf(faultOf(() => parseQuery(query))), position))

  test('an error never repeats what was sent, but suggests a known field (C26.9, C2.5)', () => {
    for (const query of [
      '4242424242424242',
      '4242424242424242:x',
      'type:4242424242424242',
      'created_at:4242424242',
    ])
      assert.ok(!/\d{5}/.test(faultOf(() => parseQuery(query))))
    assert.match(
      faultOf(() => parseQuery('fingerprnt:x')),
      /did you mean fingerprint\?/,
    )
  })

  test('the number of terms and the depth are bounded (C26.9)', () => {
    const terms = (count: number): string => Array(count).fill('id:x').join(' ')
    const nested = (depth: number): string => `${'('.repeat(depth)}id:x${')'.repeat(depth)}`
    parseQuery(terms(limits.searchTerms))
    assert.equal(
      positionOf(faultOf(() => parseQuery(terms(limits.searchTerms + 1)))),
      5 * limits.searchTerms + 1,
    )
    parseQuery(nested(limits.searchDepth))
    parseQuery(`${'-'.repeat(limits.searchDepth)}id:x`)
    assert.equal(
      positionOf(faultOf(() => parseQuery(nested(limits.searchDepth + 1)))),
      limits.searchDepth + 2,
    )
    assert.equal(
      positionOf(faultOf(() => parseQuery(`${'-'.repeat(limits.searchDepth + 1)}id:x`))),
      limits.searchDepth + 2,
    )
  })
})
