import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Issue } from '../../../src/domain/errors.ts'
import type { Json, JsonObject } from '../../../src/domain/json/json.ts'
import { withLiterals } from '../../../src/domain/rendering/json-literals.ts'
import { editToPut, readLocation } from '../../../src/domain/rendering/json-location.ts'
import { readRequestTransforms, readResponseTransforms } from '../../../src/domain/rendering/transforms.ts'
import { fc } from '../../rig/properties.ts'

const faults = (side: 'request' | 'response', ...transforms: JsonObject[]): Record<string, string> => {
  const issues: Issue[] = []
  const read = side === 'request' ? readRequestTransforms : readResponseTransforms
  const kept = read(transforms, 't', issues)
  assert.equal(kept.length, issues.length === 0 ? transforms.length : kept.length)
  return Object.fromEntries(issues.map(({ path, message }) => [path, message]))
}

const value = '{{ config: key | append: config: other }}'

test('transforms that a proxy may have (U19.2, U19.3, U19.4)', () => {
  assert.deepEqual(
    faults(
      'request',
      { type: 'append_header', name: 'X-Key', value },
      { type: 'append_header', name: 'X-Sign', value: "{{ id | hmac: 'sha-256', config: key | to_base64 }}" },
      { type: 'append_json', value: { a: [value, 1] }, location: "$.a['b c'][0][-1]" },
    ),
    {},
  )
  assert.deepEqual(
    faults(
      'response',
      { type: 'tokenize', token: { type: 'card' }, location: '$.card' },
      { type: 'mask', matcher: 'pan' },
    ),
    {},
  )
})

const refused: readonly ['request' | 'response', JsonObject, path: string, message: RegExp][] = [
  ['request', { type: 'code', code: 'x' }, 't[0].type', /runs no code/],
  ['response', { type: 'append_header', name: 'a', value: 'b' }, 't[0].type', /one of tokenize, mask/],
  ['request', {}, 't[0].type', /required/],
  ['request', { type: 'append_header', value }, 't[0].name', /required/],
  ['request', { type: 'append_header', name: 'Content-Length', value }, 't[0].name', /does not set itself/],
  ['request', { type: 'append_header', name: 'a b', value }, 't[0].name', /does not set itself/],
  ['request', { type: 'append_header', name: 'a', value: 1 }, 't[0].value', /string/],
  [
    'request',
    { type: 'append_header', name: 'a', value: '{{ id | last5 }}' },
    't[0].value',
    /unknown filter/,
  ],
  ['request', { type: 'append_header', name: 'a', value, valeu: 1 }, 't[0].valeu', /did you mean value/],
  ['request', { type: 'append_json', value: { a: '{{ id' }, location: '$.a' }, 't[0].value', /no closing/],
  ['request', { type: 'append_json', value: 1, location: '$' }, 't[0].location', /JSONPath/],
  ['request', { type: 'append_json', value: 1, location: '$..a' }, 't[0].location', /JSONPath/],
  ['request', { type: 'append_json', value: 1, location: '$.a[*]' }, 't[0].location', /JSONPath/],
  ['response', { type: 'tokenize', token: 'card', location: '$.a' }, 't[0].token', /object/],
  ['response', { type: 'tokenize', token: { data: 1 }, location: '$.a' }, 't[0].token.data', /left out/],
  ['response', { type: 'mask', matcher: '\\d+' }, 't[0].matcher', /no regular expressions/],
  ['response', { type: 'mask', matcher: 'pan', expression: '4.*' }, 't[0].expression', /not a field/],
]

test('transforms that it may not have, each with its place (U19.5)', () => {
  for (const [side, transform, path, message] of refused)
    assert.match(faults(side, transform)[path] ?? '', message, path)
  assert.match(
    faults('response', ...Array<JsonObject>(21).fill({ type: 'mask', matcher: 'pan' })).t ?? '',
    /at most 20/,
  )
})

test('a value is put where its location says, and the rest of the text stays (U19.2)', () => {
  const puts = (text: string, path: string): string | undefined => {
    const edit = editToPut(text, readLocation(path) ?? [], 'NEW')
    return edit && withLiterals(text, [edit])
  }
  for (const [text, path, get] of [
    ['{}', '$.a', '{"a":NEW}'],
    ['{ "a" : 1 , "b":{"c":"}"} }', '$.b.c', '{ "a" : 1 , "b":{"c":NEW} }'],
    ['{ "a" : 1 }', '$.b', '{ "a" : 1 ,"b":NEW}'],
    ['{"a":1,"a":[2 ,3]}', '$.a[1]', '{"a":1,"a":[2 ,NEW]}'],
    ['[1,"x]", [ ]]', '$[2][0]', '[1,"x]", [ NEW]]'],
    ['[1]', '$[1]', '[1,NEW]'],
    ['[1]', '$[-1]', '[NEW]'],
    ['{"a\\"b":true}', "$['a\"b']", '{"a\\"b":NEW}'],
    ['[1]', '$[3]', undefined],
    ['[1]', '$.a', undefined],
    ['1', '$.a', undefined],
    ['{"a":"x"}', '$.a.b', undefined],
  ] as const)
    assert.equal(puts(text, path), get, `${path} in ${text}`)
})

test('in any JSON, any place is found (U19.2)', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 4 }),
      fc.nat(),
      fc.constantFrom(undefined, 1, '\t'),
      (json, pick, space) => {
        const paths: (string | number)[][] = []
        const collect = (current: unknown, path: (string | number)[]): void => {
          if (path.length > 0) paths.push(path)
          if (Array.isArray(current))
            for (const [index, item] of current.entries()) collect(item, [...path, index])
          else if (typeof current === 'object' && current !== null)
            for (const [key, item] of Object.entries(current)) collect(item, [...path, key])
        }
        collect(json, [])
        const path = paths[pick % Math.max(1, paths.length)]
        if (path === undefined) return
        const text = JSON.stringify(json, null, space)
        const edit = editToPut(text, path, '"NEW"')
        assert.ok(edit)
        const expected = structuredClone(json) as Json
        let holder = expected as unknown as Record<string | number, unknown>
        for (const segment of path.slice(0, -1)) holder = holder[segment] as Record<string | number, unknown>
        holder[path.at(-1) ?? ''] = 'NEW'
        assert.deepEqual(JSON.parse(withLiterals(text, [edit])), expected)
      },
    ),
  )
})
