import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsPerInputCharacter } from '../../../src/domain/expressions/budget.ts'
import { compileExpression } from '../../../src/domain/expressions/expression.ts'
import { ExpressionError } from '../../../src/domain/expressions/expression-error.ts'
import { budgetFor } from '../../../src/domain/expressions/run.ts'
import { pay } from '../../../src/domain/expressions/values.ts'
import { exactNumber, type Json, stringify } from '../../../src/domain/json/json.ts'
import { limits } from '../../../src/domain/limits.ts'
import { Memo } from '../../../src/domain/memo.ts'

const large = 'a'.repeat(1_000_000)
const manyNumbers: Json = Array.from({ length: 250_000 }, (_, index) => index % 10)
const tinyNumbers: Json = Array(200_000).fill(1e-7)
const manyObjects: Json = Array.from({ length: 100_000 }, (_, index) => ({ a: index % 10 }))
const repeat = (filter: string, times: number): string => `{{ data ${filter.repeat(times)} }}`

/** Renders and returns the cost. No bound may be exceeded by a single step. */
const costOf = (text: string, data: Json): { value: Json | undefined; steps: number; allowed: number } => {
  const budget = budgetFor('mask', { data })
  const allowed = limits.expressionSteps + (stringify(data).length + 4) * stepsPerInputCharacter
  let value: Json | undefined
  try {
    value = compileExpression(text, 'index').render({ data }, undefined, budget)
  } catch (error) {
    assert(error instanceof ExpressionError, String(error))
    assert.match(error.message, /takes too much work to evaluate/)
  }
  assert(budget.stepsSpent <= allowed)
  return { value, steps: budget.stepsSpent, allowed }
}

const bombs: readonly (readonly [text: string, data: Json])[] = [
  ['{{ data | pad_left: 1000000000 }}', 'x'],
  ["{{ data | pad_right: 9007199254740991, '😀' }}", 'x'],
  ["{{ data | replace: '', data }}", large],
  ["{{ data | replace: 'a', data }}", large],
  ["{{ data | split: '' | join: data }}", large],
  ["{{ data | replace: 'a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }}", large],
  [repeat("|replace:'a','aaaaaaaaaaaaaaaaaaaa'", 9), 'a'],
  [repeat("|replace:'','aaaaaaaaaaaaaaaaaaaaaa'", 9), 'ab'],
  [repeat('|append:data', 30), large],
  [repeat('|prepend:data', 25), large],
  [repeat('|concat:data', 30), manyNumbers],
  [`${repeat('|concat:data', 30).slice(0, -3)}| stringify }}`, { text: large }],
  [repeat('|concat:data', 30), { text: large }],
  [`${repeat('|concat:data', 30).slice(0, -3)}| sort | size }}`, large],
  [`${repeat('|concat:data', 30).slice(0, -3)}| uniq }}`, [large]],
  ['{{ data }}'.repeat(40), large],
  ['{{data|size}}'.repeat(30), large],
  ['{{data|floor}}'.repeat(28), '1'.padStart(1_000_000, '0')],
  ["{{data|join:''|size}}".repeat(2), tinyNumbers],
  ["{{data|join:''|size}}".repeat(4), manyNumbers],
  ["{{data|map:'a'|size}}".repeat(18), manyObjects],
  ['{{data|sort|size}}'.repeat(3), manyNumbers],
  [repeat('|upcase', 50), large],
  [repeat('|escape', 50), '&'.repeat(100_000)],
  [repeat('|url_encode', 30), '%'.repeat(100_000)],
  ["{{ data | split: '' | sort }}", large],
  ['{{ data.text | date: data.format }}', { text: '2024-01-01', format: '%A%A%A%A'.repeat(125_000) }],
  [`{{ data | split: '' | map: '${'a.'.repeat(150)}a' | size }}`, large],
]
const paidFor: readonly Json[] = [
  null,
  true,
  -1.5,
  '',
  'text',
  exactNumber('12345678901234567890'),
  [],
  [1],
  ['a', [], [[null]]],
  {},
  { '': 1 },
  { a: { b: {} }, c: [{ d: 'e' }, { d: 'f' }] },
]
for (const value of paidFor)
  test(`C20.7 ${stringify(value)} costs one step for each character`, () => {
    let steps = 0
    pay(value, units => {
      assert(units > 0)
      steps += units
    })
    assert.equal(steps, stringify(value).length)
  })

for (const [text, data] of bombs)
  test(`C20 ${text.slice(0, 60)} is refused as too much work`, () => {
    const { value } = costOf(text, data)
    assert.equal(value, undefined)
  })

const hostileSearch = { text: 'a'.repeat(400_000), pattern: `b${'a'.repeat(200_000)}` }
const affordable: readonly (readonly [text: string, data: Json])[] = [
  ['{{ data }}', large],
  ['{{ data }}', manyNumbers],
  ['{{ data }}!', manyNumbers],
  ['{{ data | stringify }}', manyNumbers],
  ['{{ data | stringify }}', { a: large, b: [[], [[1]], {}] }],
  ['{{ data | last4 }}', large],
  ['{{ data | reveal_last: 4 }}', large],
  ["{{ data | reveal: 2, 2, 'X', '-' }}", large],
  ['{{ data | card_bin }}', large],
  ['{{ data | card_mask: true, true }}', '4'.repeat(1_000_000)],
  ["{{ data | remove: '-' | upcase | strip | last4 }}", large],
  ["{{ data | split: '' | size }}", large],
  ['{{ data | reverse }}', manyNumbers],
  ['{{ data | sort }}', manyNumbers],
  ["{{ data | join: '' | size }}", tinyNumbers],
  ["{{ data | join: '' }}", manyNumbers],
  ["{{ data | map: 'a' | sort | reverse | sort | join: '' }}", manyObjects],
  ["{{ data | sort | reverse | sort | uniq | join: '' }}", Array.from({ length: 5_000 }, (_, at) => at % 10)],
  ["{{ data | compact | sort | join: ', ' }}", Array.from({ length: 5_000 }, (_, at) => 1e-9 * (at % 9))],
  // Searched with `indexOf`, these would compare up to 8 × 10¹⁰ characters.
  ['{{ data.text | replace: data.pattern, "" | size }}', hostileSearch],
  ['{{ data.text | split: data.pattern | size }}', hostileSearch],
]
for (const [text, data] of affordable)
  test(`C20 a value of the largest size still renders: ${text}`, () => {
    const { value } = costOf(text, data)
    assert.notEqual(value, undefined)
  })

const growing: readonly (readonly [text: string, data: Json])[] = [
  ['{{ data | append: data }}', 'a'.repeat(1_000)],
  ['{{ data | prepend: data }}', 'a'.repeat(1_000)],
  ["{{ data | replace: 'a', 'bcd' }}", 'a'.repeat(1_000)],
  ["{{ data | replace_first: 'a', data }}", 'a'.repeat(1_000)],
  ["{{ data | replace: '', '--' }}", 'a'.repeat(1_000)],
  ['{{ data | pad_left: 5000 }}', 'a'],
  ['{{ data | escape }}', '&'.repeat(1_000)],
  ['{{ data | url_encode }}', '€'.repeat(1_000)],
  ['{{ data | url_decode }}', 'a'.repeat(1_000)],
  ["{{ data | reveal_last: 4, '😀' }}", 'a'.repeat(1_000)],
  ["{{ data | join: '--' }}", ['a'.repeat(1_000), 'a']],
  ['{{ data | truncate: 900, data }}', 'a'.repeat(1_000)],
  ['{{ 0 | date: data }}', '%A'.repeat(200)],
]
for (const [text, data] of growing)
  test(`C20 the cost covers what is read and what is produced: ${text}`, () => {
    const { value, steps } = costOf(text, data)
    assert(typeof value === 'string')
    assert(steps >= stringify(data).length - 8 + value.length)
  })

test('C20 values of equal length cost the same, and the cost stays near their length', () => {
  const text = "{{ data | append: 'x' | upcase }}"
  assert.equal(costOf(text, 'abc').steps, costOf(text, 'xyz').steps)
  assert(costOf(text, 'a'.repeat(1_000)).steps < 10_000)
})

test('C20 expressions that share a budget cannot render a large value over and over', () => {
  const scope = { data: large }
  const budget = budgetFor('mask', scope)
  const leaf = compileExpression('{{ data }}', 'mask')
  assert.equal(leaf.render(scope, undefined, budget), large)
  assert.throws(() => leaf.render(scope, undefined, budget), /takes too much work to evaluate/)
})

test('C20 nesting deeper than any legal body is refused, not recursed into', () => {
  let deep: Json = 1
  for (let level = 0; level < 5_000; level++) deep = [deep]
  assert.throws(() => compileExpression('{{ data | stringify }}', 'mask').render({ data: deep }), /too deep/)
})

test('C20 the cache of compiled expressions is bounded and keeps the newer half', () => {
  const cache = new Memo<number>(4)
  const made: string[] = []
  const use = (key: string): number => cache.getOrMake(key, () => made.push(key))
  for (const key of ['a', 'b', 'c', 'd', 'd', 'e', 'c', 'a']) use(key)
  assert.deepEqual(made, ['a', 'b', 'c', 'd', 'e', 'a'])
  assert.equal(cache.size, 4)
})
