import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signatureOf } from '../../src/store/rows.ts'
import { Seeded } from '../rig/seeded.ts'

const random = new Seeded(1)
const someTerm = (): Buffer => Buffer.from(Array.from({ length: 12 }, () => random.below(256)))
const someTerms = (count: number): Buffer[] => Array.from({ length: count }, someTerm)

test('a signature holds the bits of each of its terms, and is a positive 31-bit integer (C24.7)', () => {
  for (let round = 0; round < 200; round++) {
    const terms = someTerms(1 + (round % 40))
    const signature = signatureOf(terms)
    assert.ok(signature > 0 && signature < 2 ** 31)
    for (const term of terms) assert.equal(signature & signatureOf([term]), signatureOf([term]))
  }
})

test('the signature of six terms denies most other terms (C24.10)', () => {
  const asked = 2_000
  const denied = someTerms(asked).filter(term => {
    const mask = signatureOf([term])
    return (signatureOf(someTerms(6)) & mask) !== mask
  })
  assert.ok(denied.length > 0.8 * asked, `${denied.length} of ${asked}`)
})
