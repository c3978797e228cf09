import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  exactNumber,
  isJsonObject,
  type Json,
  type JsonObject,
  stringify,
} from '../../../src/domain/json/json.ts'
import { mergePatch } from '../../../src/domain/json/merge-patch.ts'
import { fc } from '../../rig/properties.ts'

// RFC 7386, appendix A, in its order.
const appendix: [target: Json, patch: Json, result: Json][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

for (const [target, patch, result] of appendix)
  test(`RFC 7386 appendix A: ${stringify(target)} patched with ${stringify(patch)} (C18)`, () => {
    assert.deepEqual(mergePatch(target, patch), result)
  })

test('a patch without a target builds its value from scratch (C18)', () => {
  assert.deepEqual(mergePatch(undefined, { a: { b: null, c: [null] } }), { a: { c: [null] } })
  assert.deepEqual(mergePatch(undefined, 1), 1)
})

test('exact numbers are leaves: they replace and are replaced (C7)', () => {
  const big = exactNumber('1e400')
  assert.equal(stringify(mergePatch({ a: { b: 1 } }, { a: big })), '{"a":1e400}')
  assert.equal(stringify(mergePatch({ a: big, c: big }, { a: { b: 1 } })), '{"a":{"b":1},"c":1e400}')
  assert.equal(stringify(mergePatch(big, { a: 1 })), '{"a":1}')
})

test('__proto__ is set, merged and removed like any key (C7)', () => {
  const patch = JSON.parse('{"__proto__":{"polluted":1}}') as Json
  const merged = mergePatch({ a: 1 }, patch) as JsonObject
  assert.equal(stringify(merged), '{"a":1,"__proto__":{"polluted":1}}')
  assert.equal(Object.getPrototypeOf(merged), Object.prototype)
  assert.equal(({} as JsonObject).polluted, undefined)
  const again = mergePatch(merged, JSON.parse('{"__proto__":{"more":2}}') as Json)
  assert.equal(stringify(again), '{"a":1,"__proto__":{"polluted":1,"more":2}}')
  assert.equal(stringify(mergePatch(again, JSON.parse('{"__proto__":null}') as Json)), '{"a":1}')
})

test('an inherited property is not a merge target (C7)', () => {
  assert.equal(stringify(mergePatch({}, { constructor: { name: 'x' } })), '{"constructor":{"name":"x"}}')
  assert.equal(stringify(mergePatch({ a: 1 }, { toString: null })), '{"a":1}')
})

const keys = fc.constantFrom('a', 'b', 'c', '__proto__')
const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constantFrom<Json>(null, 1, 'x', true, exactNumber('1e400')),
    fc.array(tie('value'), { maxLength: 2 }),
    fc
      .array(fc.tuple(keys, tie('value')), { maxLength: 4 })
      .map(entries => Object.fromEntries(entries) as JsonObject),
  ),
})).value

const freeze = (value: Json): Json => {
  if (Array.isArray(value)) value.forEach(freeze)
  else if (isJsonObject(value)) Object.values(value).forEach(freeze)
  return Object.freeze(value) as Json
}

test('neither the target nor the patch is changed (C18)', () => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = stringify([target, patch])
      mergePatch(freeze(target), freeze(patch))
      assert.equal(stringify([target, patch]), before)
    }),
  )
})

test('applying a patch twice gives the same result as applying it once (C18)', () => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const once = mergePatch(target, patch)
      assert.equal(stringify(mergePatch(once, patch)), stringify(once))
    }),
  )
})

test('an empty patch leaves an object as it is (C18)', () => {
  fc.assert(
    fc.property(json, target => {
      assert.equal(stringify(mergePatch(target, {})), isJsonObject(target) ? stringify(target) : '{}')
    }),
  )
})

test('after a patch each key has the value that the patch gives it, or else keeps its own (C18)', () => {
  fc.assert(
    fc.property(json.filter(isJsonObject), json.filter(isJsonObject), (target, patch) => {
      const merged = mergePatch(target, patch) as JsonObject
      for (const key of new Set([...Object.keys(target), ...Object.keys(patch)])) {
        const change = Object.hasOwn(patch, key) ? patch[key] : undefined
        const was = Object.hasOwn(target, key) ? target[key] : undefined
        if (change === null) assert.ok(!Object.hasOwn(merged, key))
        else if (change === undefined) assert.equal(merged[key], was)
        else assert.equal(stringify(merged[key]!), stringify(mergePatch(was, change)))
      }
    }),
  )
})
