import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Issue } from '../../../src/domain/errors.ts'
import { exactNumber, type JsonObject } from '../../../src/domain/json/json.ts'
import { checkMetadata } from '../../../src/domain/tokens/field-checks.ts'
import { foldText } from '../../../src/domain/tokens/index-terms.ts'

const check = (metadata: JsonObject): Issue[] => {
  const issues: Issue[] = []
  checkMetadata(metadata, 'metadata', issues)
  return issues
}

const face = '\u{1f600}'
const keyRule = 'must have a key of 1 to 64 characters'

const scenarios: { name: string; metadata: JsonObject; issues: Issue[] }[] = [
  { name: 'an empty object is accepted', metadata: {}, issues: [] },
  { name: 'empty values are accepted', metadata: { a: '' }, issues: [] },
  { name: 'keys of 64 code points are accepted', metadata: { [face.repeat(64)]: 'x' }, issues: [] },
  { name: 'values of 1,024 code points are accepted', metadata: { a: face.repeat(1_024) }, issues: [] },
  {
    name: 'a value that is too long is refused',
    metadata: { a: 'x', b: 'secret'.repeat(171) },
    issues: [{ path: 'metadata.b', message: 'must have at most 1024 characters' }],
  },
  {
    name: 'values that are not strings are refused, except null, which removes a key',
    metadata: { a: 1, b: null, c: true, d: ['x'], e: {}, f: exactNumber('1e400'), g: 'x' },
    issues: ['a', 'c', 'd', 'e', 'f'].map(key => ({
      path: `metadata.${key}`,
      message: 'must be a string',
    })),
  },
  {
    name: 'an empty key is refused and named by its position',
    metadata: { a: 'x', '': 'y' },
    issues: [{ path: 'metadata[key 2]', message: keyRule }],
  },
  {
    name: 'a key that is too long is refused and cut in the message',
    metadata: { ['k'.repeat(65)]: 'y' },
    issues: [{ path: `metadata.${'k'.repeat(64)}`, message: keyRule }],
  },
  {
    name: 'a key that holds a card number is named by its position',
    metadata: { a: 'x', n4242424242424242: 1 },
    issues: [{ path: 'metadata[key 2]', message: 'must be a string' }],
  },
  {
    name: '__proto__ is a key like any other',
    metadata: JSON.parse('{"__proto__":1}') as JsonObject,
    issues: [{ path: 'metadata.__proto__', message: 'must be a string' }],
  },
]

for (const { name, metadata, issues } of scenarios)
  test(`metadata: ${name} (C8)`, () => {
    assert.deepEqual(check(metadata), issues)
    assert.ok(!JSON.stringify(check(metadata)).includes('secret'))
  })

test('more than 50 keys are refused with a single issue (C8)', () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'x']))
  assert.deepEqual(check(many(50)), [])
  assert.deepEqual(check({ ...many(50), gone: null, 'gone, too': null }), [], 'null removes a key')
  assert.deepEqual(check(many(51)), [{ path: 'metadata', message: 'must have at most 50 keys' }])
})

test('values match regardless of letter case and Unicode composition (§4.3, C24)', () => {
  const same: [string, string][] = [
    ['Straße', 'STRAßE'],
    ['Caf\u00e9', 'cafe\u0301'],
    ['\u00c5', '\u212b'],
    ['ABC', 'abc'],
    ['\u01f0', 'J\u030c'],
  ]
  for (const [a, b] of same) assert.equal(foldText(a), foldText(b))
  assert.notEqual(foldText('a'), foldText('a '))
  assert.notEqual(foldText('e'), foldText('é'))
  assert.equal(foldText('\ud800A'), '\ud800a')
})
