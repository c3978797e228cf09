import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Issue } from '../../../src/domain/errors.ts'
import { Budget, tooMuchWork } from '../../../src/domain/expressions/budget.ts'
import type { Json } from '../../../src/domain/json/json.ts'
import { Secret } from '../../../src/domain/secret.ts'
import { disclosesCard } from '../../../src/domain/tokens/card-disclosure.ts'
import { checkRenderings } from '../../../src/domain/tokens/renderings.ts'
import { card } from '../../../src/domain/tokens/types/card.ts'
import { cardNumber } from '../../../src/domain/tokens/types/card-number.ts'
import { token } from '../../../src/domain/tokens/types/token.ts'

const number = '4242424242424242'

test('if the data holds no card number to judge a mask by, the mask counts as disclosing it (C13)', () => {
  const odd: Json[] = [null, 1, [], [number], {}, { number: 4242 }, { number: null }, { pan: number }]
  for (const data of odd)
    for (const type of [card, cardNumber])
      for (const mask of ['{{ data }}', '{{ data | stringify }}', 'a card'] as Json[])
        assert.equal(disclosesCard(mask, type, data), true, `${type.name} ${JSON.stringify(data)}`)
})

test('a mask is judged by how much of the card number it renders, or not at all for types without one (C13)', () => {
  for (const { type, data, path } of [
    { type: card, data: { number }, path: 'data.number' },
    { type: cardNumber, data: number, path: 'data' },
  ]) {
    assert.equal(disclosesCard(`{{ ${path} }}`, type, data), true)
    assert.equal(disclosesCard(`{{ ${path} | reveal: 8, 4 }}`, type, data), false)
    assert.equal(disclosesCard('a card', type, data), false)
  }
  assert.equal(disclosesCard('{{ data }}', token, number), false)
})

const shown: { text: string; of: string; isTooMuch: boolean }[] = [
  { text: '424242-4242', of: number, isTooMuch: false },
  { text: '42424242 4242', of: number, isTooMuch: false },
  { text: '(411111.1111)', of: '4111111111111111', isTooMuch: false },
  { text: '4242424242', of: number, isTooMuch: true },
  { text: '4242-424242', of: number, isTooMuch: true },
  { text: '424242424-4242', of: number, isTooMuch: true },
  { text: '4242-42-4242', of: number, isTooMuch: true },
  { text: '424242 4242 4242', of: number, isTooMuch: true },
  { text: '123456789', of: '4000001234567899', isTooMuch: true },
  { text: '234567899', of: '4000001234567899', isTooMuch: true },
  { text: '34567899', of: '4000001234567899', isTooMuch: false },
  { text: '555555-5555', of: '5555555555554444', isTooMuch: true },
  { text: '555555-4444', of: '5555555555554444', isTooMuch: false },
  // The two ends of a twelve-digit number are the whole number.
  { text: '50000000-0611', of: '500000000611', isTooMuch: true },
]
for (const { text, of, isTooMuch } of shown)
  test(`${text} shows ${isTooMuch ? 'too much' : 'no more than is allowed'} of ${of} (C13)`, () => {
    assert.equal(disclosesCard(text, card, { number: of }), isTooMuch)
    assert.equal(disclosesCard({ [text]: 'a key' }, card, { number: of }), isTooMuch)
  })

test('a mask may show each of the first eight and last four digits, but none between them (C13.6)', () => {
  const isTooMuch = Array.from(number, (_, at) =>
    disclosesCard(`{{ data.number | slice: ${at}, 1 }}`, card, { number }),
  )
  const middle = (at: number): boolean => at >= 8 && at < 12
  assert.deepEqual(
    isTooMuch,
    Array.from(number, (_, at) => middle(at)),
  )
})

test('a mask may show eight digits in a row of a twelve-digit number, but not nine (C13.6)', () => {
  const shows = (count: number): boolean =>
    disclosesCard(`{{ data.number | slice: 0, ${count} }}`, card, { number: '500000000611' })
  assert.deepEqual([shows(8), shows(9)], [false, true])
})

test('a harmless mask for which no work is left is refused for the work, not for what it shows (C13.6, C20.7)', () => {
  const told = (steps: number): string[] => {
    const issues: Issue[] = []
    const content = {
      type: card,
      data: new Secret({ number }),
      mask: { from: 'caller', template: '{{ data.number | last4 }}' } as const,
    }
    checkRenderings(content, '', issues, ['mask'], new Budget(steps))
    return issues.map(({ message }) => message)
  }
  assert.deepEqual(told(100_000), [])
  assert.deepEqual(told(3_000), [tooMuchWork])
})
