import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Transform } from '../../../src/domain/access/application.ts'
import { matchesQuery } from '../../../src/domain/search/match.ts'
import { parseQuery } from '../../../src/domain/search/parser.ts'
import { Secret } from '../../../src/domain/secret.ts'
import { dataTerm, nameOfTerm } from '../../../src/domain/tokens/index-terms.ts'
import type { Token } from '../../../src/domain/tokens/token.ts'
import { tokenType } from '../../../src/domain/tokens/types/registry.ts'

const author = '0198a2f0-0000-7000-8000-000000000001'
const editor = '0198a2f0-0000-7000-8000-000000000002'

const token: Token = {
  id: 'Token-1',
  tenantId: '0198a2f0-0000-7000-8000-000000000000',
  type: tokenType('token')!,
  version: 1,
  data: new Secret({ name: 'Ada Lovelace', year: 1815 }),
  transients: [],
  mask: { from: 'type' },
  containers: ['/people/high/', '/archive/'],
  metadata: { City: 'Zürich', 'odd: key': '', ['__proto__']: 'kept' },
  searchIndexes: ['{{ data.name }}', '{{ data.year }}', '{{ data.none }}'],
  indexTerms: [nameOfTerm(dataTerm('Ada Lovelace')), nameOfTerm(dataTerm('1815')), null],
  fingerprint: 'FpAbC',
  blind: {},
  activeMonth: 202603,
  createdBy: author,
  createdAt: Date.parse('2026-03-01T12:00:00Z'),
  modifiedBy: editor,
  modifiedAt: Date.parse('2026-03-05T00:00:00Z'),
}

const matches = (query: string, transform: Transform = 'reveal'): boolean =>
  matchesQuery(parseQuery(query), token, transform, nameOfTerm)

describe('whether an opened token matches a query', () => {
  const cases: [id: string, query: string, expected: boolean][] = [
    ['C26.3', 'id:Token-1', true],
    ['C26.3', 'id:token-1', false],
    ['C26.3', 'type:token', true],
    ['C26.3', 'type:card', false],
    ['C26.6', 'data:"ada LOVELACE"', true],
    ['C26.6', 'data:Ada', false],
    ['C26.6', 'data:1815', true],
    ['C26.6', 'data:""', false],
    ['C26.3', 'fingerprint:FpAbC', true],
    ['C26.3', 'fingerprint:fpabc', false],
    ['C26.5', 'container:/people/high/', true],
    ['C26.5', 'container:/People/High/', true],
    ['C26.5', 'container:/people/', false],
    ['C26.5', 'container:/people/*', true],
    ['C26.5', 'container:"/people/high/*"', true],
    ['C26.5', 'container:/peo/*', false],
    ['C26.5', 'container:/*', true],
    ['C26.3', 'container:/archive/', true],
    ['C26.3', 'metadata.City:ZÜRICH', true],
    ['C26.3', `metadata.City:"${'zürich'.normalize('NFD')}"`, true],
    ['C26.3', 'metadata.city:zürich', false],
    ['C26.3', 'metadata."odd: key":""', true],
    ['C26.3', 'metadata.__proto__:kept', true],
    ['C26.3', 'metadata.toString:x', false],
    ['C26.3', `created_by:${author}`, true],
    ['C26.3', `created_by:${author.toUpperCase()}`, true],
    ['C26.3', `created_by:${editor}`, false],
    ['C26.3', `modified_by:${editor}`, true],
    ['C26.5', 'created_at:2026-03-01', true],
    ['C26.5', 'created_at:2026-03-01T12:00:00Z', true],
    ['C26.5', 'created_at:2026-03-01T12:00:00.001Z', false],
    ['C26.5', 'created_at:{2026-03-01 TO *]', false],
    ['C26.5', 'created_at:[* TO 2026-03-01]', true],
    ['C26.5', 'modified_at:[2026-03-05 TO 2026-03-05]', true],
    ['C26.5', 'modified_at:[* TO 2026-03-05}', false],
    ['C26.4', 'type:token data:1815', true],
    ['C26.4', 'type:token AND data:1816', false],
    ['C26.4', 'type:card OR data:1815', true],
    ['C26.4', 'type:token -data:1815', false],
    ['C26.4', 'type:token !data:1816', true],
    ['C26.4', 'NOT (type:card OR data:1815)', false],
  ]
  for (const [id, query, expected] of cases)
    test(`${query} ${expected ? 'matches' : 'does not match'} (${id})`, () =>
      assert.equal(matches(query), expected))

  test('under redact a data or fingerprint term never matches, and its negation always does (C26.7)', () => {
    for (const query of ['data:1815', 'fingerprint:FpAbC']) {
      assert.equal(matches(query, 'redact'), false)
      assert.equal(matches(`NOT ${query}`, 'redact'), true)
      assert.equal(matches(query, 'mask'), true)
    }
    assert.equal(matches('type:token metadata.City:zürich', 'redact'), true)
  })

  test('a token that was never changed matches no modified_at or modified_by (C26.5)', () => {
    const { modifiedAt: _at, modifiedBy: _by, ...unchanged } = token
    for (const query of ['modified_at:[* TO *]', `modified_by:${editor}`])
      assert.equal(matchesQuery(parseQuery(query), unchanged, 'reveal', nameOfTerm), false)
  })
})

test('a search renders no search index: it asks what the token keeps of them (C20.7, C26.6)', t => {
  const exposed = t.mock.method(token.data, 'expose').mock
  const query = `${Array.from({ length: 30 }, (_, at) => `-data:${at} `).join('')} data:1815`
  assert.equal(matches(query), true)
  assert.equal(exposed.callCount(), 0)
})
