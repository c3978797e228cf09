import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Lexeme, readLexemes } from '../../../src/domain/search/lexer.ts'
import { faultOf, positionOf } from './fault.ts'

/** `field=value` for terms, the kind for the rest. */
const show = (lexeme: Lexeme): string => {
  if (lexeme.kind !== 'term') return lexeme.kind
  const { field, key, value } = lexeme
  const name = key === undefined ? field : `${field}.<${key}>`
  if (value.kind === 'text') return `${name}=${value.isQuoted ? `"${value.text}"` : value.text}`
  const { from = '*', to = '*', holdsFrom, holdsTo } = value
  return `${name}=${holdsFrom ? '[' : '{'}${from}..${to}${holdsTo ? ']' : '}'}`
}

describe('the words of a search query', () => {
  const read: [string, string[]][] = [
    ['type:card', ['type=card']],
    ['  type:card\tid:x\n', ['type=card', 'id=x']],
    ['data:"two words"', ['data="two words"']],
    ['data:""', ['data=""']],
    [String.raw`data:"a \"b\" \\ c"`, [String.raw`data="a "b" \ c"`]],
    ['data:"AND (OR) -x"', ['data="AND (OR) -x"']],
    ['metadata.customer:x', ['metadata.<customer>=x']],
    ['metadata.a.b:x', ['metadata.<a.b>=x']],
    ['metadata."odd: key":x', ['metadata.<odd: key>=x']],
    ['a:b AND c:d OR NOT e:f', ['a=b', 'AND', 'c=d', 'OR', 'NOT', 'e=f']],
    ['-a:b !c:d', ['NOT', 'a=b', 'NOT', 'c=d']],
    ['a:-5 b:!x', ['a=-5', 'b=!x']],
    ['(a:b)(c:d)', ['(', 'a=b', ')', '(', 'c=d', ')']],
    ['NOT(a:b)', ['NOT', '(', 'a=b', ')']],
    ['NOT:x and:y', ['NOT=x', 'and=y']],
    ['created_at:2026-03-01T12:00:00Z', ['created_at=2026-03-01T12:00:00Z']],
    ['d:[2026-01-01 TO 2026-02-01]', ['d=[2026-01-01..2026-02-01]']],
    ['d:{2026-01-01 TO *}', ['d={2026-01-01..*}']],
    ['d:[* TO "3/1/2026 1:00:00 PM"}', ['d=[*..3/1/2026 1:00:00 PM}']],
    ['d:[  a   TO   b  ] x:y', ['d=[a..b]', 'x=y']],
    ['data:𝒳y', ['data=𝒳y']],
  ]
  for (const [query, lexemes] of read)
    test(`reads ${query} (C26.3, C26.4, C26.5)`, () =>
      assert.deepEqual(readLexemes(query).map(show), lexemes))

  test('positions count characters from 1, not code units (C26.9)', () => {
    const lexemes = readLexemes('data:"𝒳𝒳" ( type:card')
    assert.deepEqual(
      lexemes.map(lexeme => lexeme.position),
      [1, 11, 13],
    )
  })

  const refused: [query: string, position: number][] = [
    ['card', 1],
    ['a:b card', 5],
    [':x', 1],
    ['a:', 3],
    ['a: b', 3],
    ['a:(b)', 3],
    ['a:b"c"', 4],
    ['a:"b"c', 6],
    ['a:"b', 3],
    [String.raw`a:"b\n"`, 5],
    [String.raw`a:"b\\`, 3],
    [String.raw`a:b\c`, 3],
    ['d:[a b]', 6],
    ['d:[a TO b', 10],
    ['d:[TO b]', 7],
    ['d:[a TO ]', 9],
    ['d:[a to b]', 6],
    ['d:[a TO b]c', 11],
    ['metadata."a:b', 10],
    ['"a":b', 1],
  ]
  for (const [query, position] of refused)
    test(`refuses ${query} at character ${position} (C26.9)`, () =>
      assert.equal(positionOf(faultOf(() => readLexemes(query))), position))
})
