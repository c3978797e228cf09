import assert from 'node:assert/strict'
import { test } from 'node:test'
import { probablyMeant } from '../../src/domain/text/did-you-mean.ts'

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
  test(`C6 ${sent} probably means ${meant}`, () => assert.equal(probablyMeant(sent, known), meant))

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
  test(`C6 nothing is suggested for "${sent.slice(0, 20)}"`, () =>
    assert.equal(probablyMeant(sent, known), undefined))

test('C6 the nearest name wins; on a tie, the first one', () => {
  assert.equal(probablyMeant('expiration_yeah', known), 'expiration_year')
  assert.equal(probablyMeant('maks', ['make', 'mask']), 'make')
  assert.equal(probablyMeant('mskk', ['mask', 'make']), 'mask')
})
