import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Issue } from '../../../src/domain/errors.ts'
import type { JsonObject } from '../../../src/domain/json/json.ts'
import { checkMetadataNumbers, containsNumber } from '../../../src/domain/tokens/own-number.ts'

const inIds: readonly (readonly [id: string, number: string, isFound: boolean])[] = [
  ['of-123', '123', true],
  ['of-1-23', '123', false],
  ['of-1234-567', '1234567', false],
  ['of-1234-5678', '12345678', true],
  ['1.2 3_4:5~6,7-8', '12345678', true],
  ['1234a5678', '12345678', false],
  ['12345679', '12345678', false],
]
for (const [id, number, isFound] of inIds)
  test(`${id} ${isFound ? 'contains' : 'does not contain'} the number ${number} (C16.6)`, () =>
    assert.equal(containsNumber(id, ['000', number]), isFound))

const inMetadata: readonly (readonly [metadata: JsonObject, number: string, paths: readonly string[]])[] = [
  [{ a: '4242424242424242' }, '4242424242424242', ['metadata.a']],
  [{ a: 'x', b: 'card 4242 4242-4242.4242!' }, '4242424242424242', ['metadata.b']],
  [{ a: '4242\u00a04242\u20114242\t4242' }, '4242424242424242', ['metadata.a']],
  [{ a: '4242/4242_4242:4242' }, '4242424242424242', ['metadata.a']],
  [{ a: '4242424242424241', b: '424242424242' }, '4242424242424242', []],
  [{ a: '4242 4242 4242 x 4242' }, '4242424242424242', []],
  [{ a: '07-805.11 20' }, '078051120', ['metadata.a']],
  [{ a: '12-34', b: '1 2.3-4', c: '12/34' }, '1234', ['metadata.a', 'metadata.b']],
  [{ a: 'no digits' }, '1', []],
  [{ 'of 4242 4242': 'x', y: 'z' }, '42424242', ['metadata[key 1]']],
  [{ 'of 4242 4242': null, a1234: 'x' }, '42424242', []],
  [{ a1234: 'x' }, '1234', []],
]
for (const [metadata, number, paths] of inMetadata)
  test(`metadata ${JSON.stringify(metadata)} ${paths.length > 0 ? 'contains' : 'does not contain'} the number ${number} (C16.8)`, () => {
    const issues: Issue[] = []
    checkMetadataNumbers(metadata, ['999999999', number], 'metadata', issues)
    assert.deepEqual(
      issues,
      paths.map(path => ({ path, message: 'must not contain the number itself' })),
    )
  })
