import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RandomBelow } from '../../../src/domain/expressions/budget.ts'
import { compileExpression } from '../../../src/domain/expressions/expression.ts'
import { holdsLookAlike } from '../../../src/domain/expressions/filters/card-look-alike.ts'
import type { Json } from '../../../src/domain/json/json.ts'
import { passesLuhn } from '../../../src/domain/text/digits.ts'
import { fc } from '../../rig/properties.ts'
import { render } from './table.ts'

const fromSeed = (draws: readonly number[]): RandomBelow => {
  let drawn = 0
  return below => (draws[drawn++ % draws.length] ?? 0) % below
}
const alias = (filter: string, data: Json, random: RandomBelow): Json =>
  render(`{{ data | ${filter} }}`, data, 'id', random)

const draws = fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 40 })
const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...'0123456789'), { minLength, maxLength }).map(list => list.join(''))

test('alias_card keeps the length and what it is told to keep, and its aliases never pass Luhn (C21)', () => {
  fc.assert(
    fc.property(digits(12, 19), fc.boolean(), draws, (number, last4, seed) => {
      const made = alias(`alias_card: false, ${last4}`, number, fromSeed(seed))
      assert(typeof made === 'string')
      assert.match(made, /^[0-9]+$/)
      assert.equal(made.length, number.length)
      assert(!passesLuhn(made))
      if (last4) assert.equal(made.slice(-4), number.slice(-4))
    }),
  )
})

test('alias_preserve_format keeps character classes and separators, and its aliases never look like a card number (C21)', () => {
  const text = fc.string({
    unit: fc.constantFrom(...'01234567890123456789-_. aZé😀\ud800'),
    minLength: 12,
    maxLength: 40,
  })
  fc.assert(
    fc.property(text, fc.constantFrom(0, 1), draws, (value, last, seed) => {
      let made: Json
      try {
        made = alias(`alias_preserve_format: 1, ${last}`, value, fromSeed(seed))
      } catch (error) {
        assert.match(String(error), /must stay random/)
        return
      }
      assert(typeof made === 'string')
      const [before, after] = [[...value], [...made]]
      assert.equal(after.length, before.length)
      after.slice(1, after.length - last).forEach((character, index) => {
        const original = before[index + 1] ?? ''
        if (/[0-9]/.test(original)) assert.match(character, /[0-9]/)
        else if (/[A-Z]/.test(original)) assert.match(character, /[A-Z]/)
        else if (/[-_. ]/.test(original)) assert.equal(character, original)
        else assert.match(character, /[a-z]/)
      })
      // Before a kept digit, the last drawn one may have to settle more runs than there are digits.
      if (last > 0) return
      for (const run of made.split(/[a-zA-Z]/)) {
        const groups = run.split(/[^0-9]+/).filter(group => group !== '')
        for (let from = 0; from < groups.length; from++)
          for (let to = from + 1; to <= groups.length; to++) {
            const bare = groups.slice(from, to).join('')
            assert(bare.length < 12 || bare.length > 19 || !passesLuhn(bare))
          }
      }
    }),
  )
})

test('a card number with dashes gets an alias that fails Luhn, whatever is drawn (C21)', () => {
  for (let draw = 0; draw < 10; draw++) {
    const made = alias('alias_preserve_format: 0, 4', '4242-4242-4242-4242', below => draw % below)
    assert.match(String(made), /^\d{4}-\d{4}-\d{4}-4242$/)
    assert(!passesLuhn(String(made).replaceAll('-', '')))
  }
})

for (const separator of ['-', ' ', '.', '_', ', '])
  test(`a card number whose digits are grouped by "${separator}" gets an alias that fails Luhn (C21)`, () => {
    const value = ['4242', '4242', '4242', '4242', '12345'].join(separator)
    for (let draw = 0; draw < 10; draw++) {
      const made = String(alias('alias_preserve_format: 0, 5', value, below => draw % below))
      assert(!passesLuhn(made.replace(/\D/g, '').slice(0, 16)))
    }
  })

for (const group of ['1', '10', '123'])
  test(`a long text of digits in groups of ${group.length} gets an alias without a look-alike, whatever is drawn (C21.4)`, () => {
    const value = Array(40).fill(group).join(' ')
    for (let draw = 0; draw < 10; draw++) {
      const made = String(alias('alias_preserve_format', value, below => draw % below))
      assert.equal(made.replace(/[0-9]/g, '9'), value.replace(/[0-9]/g, '9'))
      assert.equal(holdsLookAlike(made), false, made)
    }
  })

// Zeros alone pass Luhn, whatever their number.
for (const [text, isLookAlike] of [
  ['0'.repeat(11), false],
  ['0'.repeat(12), true],
  ['0'.repeat(19), true],
  ['0'.repeat(20), false],
  [`${'0'.repeat(19)}1`, false],
  ['000000-000000', true],
  ['000000 - 000000', true],
  ['000000a000000', false],
  [`${'0'.repeat(11)}-1-${'0'.repeat(20)}`, false],
  ['1-000000-000000', true],
] as const)
  test(`${text} ${isLookAlike ? 'looks' : 'does not look'} like a card number (C21.4)`, () =>
    assert.equal(holdsLookAlike(text), isLookAlike))

for (const after of [
  'slice: 0, 3',
  "remove: '4'",
  "split: '4'",
  'truncate: 5',
  'size',
  "replace: '4', ''",
  'last4',
])
  test(`an alias keeps its randomness: ${after} must not follow it (C21)`, () => {
    assert.throws(
      () => compileExpression(`{{ data | alias_card | ${after} }}`, 'id'),
      /must not follow an alias/,
    )
  })

test('filters that keep all of an alias may follow it (C21)', () => {
  const text =
    "{{ data | alias_preserve_format: 2 | prepend: 'a' | append: 'b' | upcase | downcase | capitalize }}"
  assert.match(String(render(text, '1234567890', 'id', () => 7)), /^A1277777777b$/)
})

test('alias_preserve_length keeps only the length and the ends (C21)', () => {
  const made = alias('alias_preserve_length: 2, 1', 'ab-cd-éf-gh', fromSeed([1, 2, 3, 61]))
  assert.match(String(made), /^ab[0-9A-Za-z]{8}h$/)
})

const refused: readonly (readonly [filter: string, data: Json, message: RegExp])[] = [
  ['alias_card: true, true', '4242424242424242', /at least 6 characters must stay random/],
  ['alias_card: true, true', '378282246310005', /at least 6 characters must stay random/],
  ['alias_card: false, false', '42424242424', /12 to 19 digits/],
  ['alias_card: false, false', '4242 4242 4242 4242', /12 to 19 digits/],
  ['alias_card: false, false', null, /12 to 19 digits/],
  ['alias_card: false, false', {}, /text or a number/],
  ['alias_preserve_format: 0, 0', '12-34-5', /at least 6 characters/],
  ['alias_preserve_format: 3, 3', '12345678901', /at least 6 characters/],
  ['alias_preserve_format: 0, 0', null, /at least 6 characters/],
  ['alias_preserve_length: 999, 0', '12345678', /at least 6 characters/],
  ['alias_preserve_length: 0, 0', [], /text or a number/],
  ['alias_preserve_length: 16, 0', '4242424242424242,abcdefgh', /must not hold a card number/],
]
for (const [filter, data, message] of refused)
  test(`${filter} on ${JSON.stringify(data)} is refused (C21)`, () => {
    // A high draw makes letters, so that nothing random joins the digits that are kept.
    assert.throws(() => alias(filter, data, below => below - 1), message)
  })

test('a card number that is kept is refused even if the digits drawn next to it make a longer number of it (C21.4)', () => {
  const draw = () => alias('alias_preserve_length: 16', '4242424242424242abcdefgh', () => 0)
  assert.throws(draw, /must not hold a card number/)
})

for (const [short, full, data] of [
  ['alias_card', 'alias_card: false, false', '4242424242424242'],
  ['alias_preserve_format', 'alias_preserve_format: 0, 0', '123-45-6789'],
  ['alias_preserve_format: 3', 'alias_preserve_format: 3, 0', 'ABC12345DEF'],
  ['alias_preserve_length', 'alias_preserve_length: 0, 0', 'some@where'],
] as const)
  test(`${short} keeps no more than it is told to (C21)`, () => {
    assert.equal(alias(short, data, fromSeed([7, 1, 4])), alias(full, data, fromSeed([7, 1, 4])))
  })

test('an alias that keeps nothing tells nothing about the value (C21)', () => {
  const zero = () => 0
  const [one, other] = ['5555555555554444', '4242424242424242'].map(card => alias('alias_card', card, zero))
  assert.equal(one, other)
  assert.equal(
    alias('alias_preserve_format', 'AZAZazaz09', () => 1),
    'BBBBbbbb11',
  )
})

test('a 19-digit number leaves room to keep both the BIN and the last four digits (C21)', () => {
  const made = alias('alias_card: "true", "true"', '4242424242424242424', () => 7)
  assert.match(String(made), /^42424242\d{7}2424$/)
})

test('without a source of randomness an alias fails instead of repeating itself (C16)', () => {
  const expression = compileExpression('{{ data | alias_preserve_length: 0, 0 }}', 'id')
  assert.throws(() => expression.render({ data: 'abcdefgh' }), /a source of randomness is needed/)
})
