import assert from 'node:assert/strict'
import { test } from 'node:test'
import { didYouMean } from '../../src/domain/text/did-you-mean.ts'

const known = [
  'number',
  'expiration_month',
  'expiration_year',
  'cvc',
  'fingerprint_expression',
  'metadata',
  'data',
  'expires_at',
]

const hint = (meant: string): string => ` (did you mean ${meant}?)`

const near: [sent: string, meant: string][] = [
  ['cvv', 'cvc'],
  ['cvv2', 'cvc'],
  ['CVC', 'cvc'],
  ['ccv', 'cvc'],
  ['nubmer', 'number'],
  ['Number', 'number'],
  ['numbr', 'number'],
  ['expirationMonth', 'expiration_month'],
  ['expiration-year', 'expiration_year'],
  ['fingerprint_expresion', 'fingerprint_expression'],
  ['meta_data', 'metadata'],
  ['date', 'data'],
  ['meta', 'metadata'],
  ['Meta', 'metadata'],
  ['num', 'number'],
  ['fingerprint', 'fingerprint_expression'],
  ['expires', 'expires_at'],
]
for (const [sent, meant] of near)
  test(`${sent} probably means ${meant} (C6)`, () => assert.equal(didYouMean(sent, known), hint(meant)))

for (const sent of [
  '',
  'x',
  'me',
  'abc',
  'pan',
  'exp',
  'expiration',
  'exp_month',
  'holder',
  '__proto__',
  'number'.repeat(100_000),
])
  test(`nothing is suggested for "${sent.slice(0, 20)}" (C6)`, () =>
    assert.equal(didYouMean(sent, known), ''))

test('the nearest name wins; on a tie, the first one (C6)', () => {
  assert.equal(didYouMean('expiration_yeah', known), hint('expiration_year'))
  assert.equal(didYouMean('maks', ['make', 'mask']), hint('make'))
  assert.equal(didYouMean('mskk', ['mask', 'make']), hint('mask'))
})
