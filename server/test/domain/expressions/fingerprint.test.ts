import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileExpression } from '../../../src/domain/expressions/expression.ts'
import { ExpressionError } from '../../../src/domain/expressions/expression-error.ts'
import { exactNumber, type Json, type JsonType } from '../../../src/domain/json/json.ts'
import { Secret } from '../../../src/domain/secret.ts'
import { renderFingerprint } from '../../../src/domain/tokens/hash-inputs.ts'
import { token } from '../../../src/domain/tokens/types/token.ts'

const typed: readonly (readonly [text: string, data: Json, value: Json, type: JsonType])[] = [
  ['{{ data }}', 8, 8, 'number'],
  ['{{ data }}', '8', '8', 'string'],
  ['{{ data | stringify }}', 8, '8', 'number'],
  ['{{ data | stringify }}', 1e21, '1e+21', 'number'],
  ['{{ data | stringify }}', '8', '8', 'string'],
  ['{{ data | stringify }}', true, 'true', 'boolean'],
  ['{{ data | stringify }}', [1], '[1]', 'array'],
  ['{{ data | stringify }}', { a: 1 }, '{"a":1}', 'object'],
  ['{{ data.missing | stringify }}', { a: 1 }, null, 'null'],
  ['{{ data | to_string }}', 8, '8', 'string'],
  ['{{ data | stringify | upcase }}', 8, '8', 'string'],
  ['{{ data | plus: 1 | stringify }}', 8, '9', 'number'],
  ['{{ data | size | stringify }}', 'abc', '3', 'number'],
  [' {{ data | stringify }}', 8, ' 8', 'string'],
  ['{{ data | stringify }}{{ data }}', 8, '88', 'string'],
  ['literal', 8, 'literal', 'string'],
]
for (const [text, data, value, type] of typed)
  test(`${text} on ${JSON.stringify(data)} has the JSON type ${type} (C14)`, () => {
    assert.deepEqual(compileExpression(text, 'fingerprint').renderTyped({ data }), { value, type })
  })

test('key order and the spelling of a number make no difference to a fingerprint (C7)', () => {
  const render = (data: Json): Json =>
    compileExpression('{{ data | stringify }}', 'fingerprint').render({ data })
  assert.equal(render({ b: { d: 1, c: 2 }, a: 3 }), '{"a":3,"b":{"c":2,"d":1}}')
  assert.equal(render(exactNumber('1e400')), render(exactNumber('10E+399')))
  assert.equal(render([exactNumber('12345678901234567890')]), render([exactNumber('12345678901234567890.0')]))
  assert.notEqual(render(exactNumber('12345678901234567890')), render(exactNumber('12345678901234567891')))
})

const large = exactNumber('4111111111111110023')
for (const [chain, text] of [
  ['last4', '0023'],
  ['slice: -4, 4', '0023'],
  ['to_string | last4', '0023'],
  ['stringify | slice: 0, 4', '4111'],
  ["split: '' | last", '3'],
  ["append: ''", '4111111111111110023'],
] as const)
  test(`in a fingerprint too, ${chain} works on the digits of a number that no double holds (C14, C21)`, () => {
    const render = (data: Json): Json =>
      compileExpression(`{{ data | ${chain} }}`, 'fingerprint').render({ data })
    assert.equal(render(large), text)
    assert.equal(render(exactNumber('4111111111111110023.00')), text)
    assert.equal(render(exactNumber('41111111111111100230e-1')), text)
  })

test('outside fingerprints stringify keeps the key order that was sent (C22)', () => {
  const text = '{{ data | stringify }}'
  assert.equal(compileExpression(text, 'mask').render({ data: { b: 1, a: 2 } }), '{"b":1,"a":2}')
})

test('the expression of the type fingerprints data of any length, one of the caller is bounded (C14.5, §2.4)', () => {
  const data = new Secret<Json>('x'.repeat(5_000_000))
  const render = (more: { fingerprintExpression?: string }): unknown =>
    renderFingerprint({ data, type: token, ...more })
  assert.deepEqual(render({}), { type: 'string', canonical: JSON.stringify(data.expose('a test')) })
  assert.throws(() => render({ fingerprintExpression: '{{ data | url_encode }}' }), ExpressionError)
})
