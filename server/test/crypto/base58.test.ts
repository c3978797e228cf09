import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58 } from '../../src/crypto/base58.ts'
import { fc } from '../rig/properties.ts'
import { decodeBase58 } from './decode-base58.ts'

// From Bitcoin's own tests, and from the draft that describes the encoding.
const vectors: Record<string, string> = {
  '': '',
  '61': '2g',
  '626262': 'a3gV',
  '636363': 'aPEr',
  '73696d706c792061206c6f6e6720737472696e67': '2cFupjhnEsSn59qHXstmK2ffpLv2',
  '00eb15231dfceb60925886b67d065299925915aeb172c06647': '1NS17iag9jJgTHD1VXjvLCEnZuQ3rJDE9L',
  '516b6fcd0f': 'ABnLTmg',
  bf4f89001e670274dd: '3SEo3LWLoPntC',
  '572e4794': '3EFU7m',
  ecac89cad93923c02321: 'EJDM8drfXA6uyA',
  '10c8511e': 'Rt5zm',
  '00000000000000000000': '1111111111',
  '0000287fb4cd': '11233QC4',
  '48656c6c6f20576f726c6421': '2NEpo7TZRRrLZSi2U',
}
for (const [hex, text] of Object.entries(vectors))
  test(`base58 of ${hex === '' ? 'nothing' : hex} is ${text === '' ? 'nothing' : text} (C14.1)`, () => {
    assert.equal(base58(Buffer.from(hex, 'hex')), text)
    assert.equal(decodeBase58(text).toString('hex'), hex)
  })

test('every value has one base58 text, which decodes to it (C14.1)', () => {
  const zerosFirst = fc
    .tuple(fc.nat(5), fc.uint8Array({ maxLength: 80 }))
    .map(([zeros, rest]) => Buffer.from([...new Uint8Array(zeros), ...rest]))
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 80 }), zerosFirst), bytes => {
      const text = base58(bytes)
      assert.match(text, /^[1-9A-HJ-NP-Za-km-z]*$/)
      assert.deepEqual(decodeBase58(text), Buffer.from(bytes))
    }),
    { numRuns: 1_000 },
  )
  for (let length = 1; length <= 64; length++)
    for (const byte of [0, 1, 57, 58, 127, 128, 255])
      assert.deepEqual(decodeBase58(base58(new Uint8Array(length).fill(byte))), Buffer.alloc(length, byte))
})
