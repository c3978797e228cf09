import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetFor, type Use } from '../../../src/domain/expressions/budget.ts'
import { compileExpression } from '../../../src/domain/expressions/expression.ts'
import { ExpressionError } from '../../../src/domain/expressions/expression-error.ts'
import { filters } from '../../../src/domain/expressions/filters/registry.ts'
import { sizeOf } from '../../../src/domain/expressions/size.ts'
import { exactNumber, type Json, stringify } from '../../../src/domain/json/json.ts'
import { limits } from '../../../src/domain/limits.ts'
import { anyCharacter } from '../../rig/any-character.ts'
import { fc } from '../../rig/properties.ts'

const uses = fc.constantFrom<Use>('mask', 'fingerprint', 'index', 'id')
const names = [...filters.keys()]
const operands = [
  'data',
  'data.a',
  'data.a.b',
  'data[0]',
  'data["__proto__"]',
  'data[-1].a',
  "'x'",
  '"-"',
  "'$.a'",
]
const constants = [
  '0',
  '4',
  '-1',
  '1.5',
  '999999999',
  '12345678901234567890',
  'true',
  "'true'",
  'nil',
  "''",
  "'%Y'",
]
const broken = [
  '{{',
  '}}',
  '{{-',
  '-}}',
  '|',
  ':',
  ',',
  '.',
  '[',
  ']',
  "'",
  '"',
  '\\',
  '{%',
  '😀',
  '\ud800',
  ' ',
  '\0',
]

/** Any jumble of pieces of the language. */
const mess = fc
  .array(fc.constantFrom(...broken, ...broken, ...names, ...operands, ...constants), { maxLength: 24 })
  .map(pieces => pieces.join(''))

/** Texts that the parser accepts, so that rendering is reached. */
const operand = fc.constantFrom(...operands, ...constants)
const call = fc
  .tuple(fc.constantFrom(...names), fc.array(operand, { maxLength: 4 }))
  .map(([name, args]) => (args.length === 0 ? `| ${name}` : `| ${name}: ${args.join(', ')}`))
const sentence = fc
  .tuple(fc.constantFrom('', 'a '), operand, fc.array(call, { maxLength: 6 }))
  .map(([before, source, calls]) => `${before}{{ ${source} ${calls.join(' ')} }}`)

const values: readonly Json[] = [
  null,
  0,
  -1.5,
  true,
  '',
  '4242424242424242',
  '2024-02-29T12:00:00Z',
  '\ud800😀\udc00',
  'x'.repeat(5_000),
  exactNumber('12345678901234567890'),
  ['b', 'a', null, 1],
  JSON.parse('{"__proto__":{"a":1},"a":{"b":["x"]},"expiration_month":1,"expiration_year":2030}') as Json,
]
const nested = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...values),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.record({ a: tie('value'), b: tie('value') }),
  ),
})).value

const nothingButExpressionErrors = (text: string, use: Use, data: Json): void => {
  const scope = { data }
  const budget = budgetFor('mask', scope)
  try {
    const expression = compileExpression(text, use)
    const result = expression.render(scope, below => below - 1, budget)
    // Escapes make JSON up to six times longer than what was paid for.
    assert(stringify(result).length <= 6 * (limits.expressionOutputCharacters + stringify(data).length + 6))
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    assert(error.message.length < 200)
  }
  const most = limits.expressionSteps + (sizeOf(data) + sizeOf(null)) * limits.expressionStepsPerCharacter
  assert(budget.spent <= most)
}

test('whatever the text, only ExpressionError is thrown (C20)', () => {
  fc.assert(fc.property(mess, uses, nested, nothingButExpressionErrors), { numRuns: 2_000 })
})

test('whatever the filters are given, only ExpressionError is thrown, within the budget (C20)', () => {
  fc.assert(fc.property(sentence, uses, nested, nothingButExpressionErrors), { numRuns: 4_000 })
})

test('any text at all compiles or is refused (C20)', () => {
  const text = fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(
      text.map(inner => `{{${inner}}}`),
      uses,
      nested,
      nothingButExpressionErrors,
    ),
  )
})
