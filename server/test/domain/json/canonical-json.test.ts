import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalText } from '../../../src/domain/json/canonical-text.ts'
import { exactNumber, type Json, type JsonObject } from '../../../src/domain/json/json.ts'
import { parseJson } from '../../../src/domain/json/parse-json.ts'
import { fc } from '../../rig/properties.ts'

const canonical = (text: string): string => canonicalText(parseJson(new TextEncoder().encode(text)))

const texts: { name: string; sent: string; text: string }[] = [
  {
    name: 'primitives are written without white space',
    sent: '[ null, true, false, "a" ]',
    text: '[null,true,false,"a"]',
  },
  {
    name: 'empty arrays and objects are written without white space',
    sent: '{ "b" : [ ], "a" : { } }',
    text: '{"a":{},"b":[]}',
  },
  {
    name: 'keys are sorted at each level',
    sent: '{"b":{"d":1,"c":2},"a":3}',
    text: '{"a":3,"b":{"c":2,"d":1}}',
  },
  { name: 'arrays keep their order', sent: '[3,1,2]', text: '[3,1,2]' },
  { name: 'numeric keys are sorted as text', sent: '{"2":0,"10":0,"1":0}', text: '{"1":0,"10":0,"2":0}' },
  {
    name: 'strings are written as in RFC 8785 §3.2.2',
    sent: '"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"',
    text: '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"',
  },
  {
    name: 'keys are sorted as in RFC 8785 §3.2.3: by UTF-16 code units, not by code points',
    sent: '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}',
    text: '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
  },
  {
    name: '__proto__ is a key like any other',
    sent: '{"b":1,"__proto__":{"x":1}}',
    text: '{"__proto__":{"x":1},"b":1}',
  },
]

// 333333333.33333329 is not the shortest text of its double, so C7 keeps it exact; the RFC rounds.
for (const { name, sent, text } of texts) test(`${name} (C14)`, () => assert.equal(canonical(sent), text))

test('doubles are written as in RFC 8785 §3.2.2 and appendix B (C14)', () => {
  const doubles = [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0, 1e21, 1e-7, 5e-324, -1.7976931348623157e308]
  assert.equal(
    canonicalText(doubles),
    '[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,1e-7,5e-324,-1.7976931348623157e+308]',
  )
})

test('one number has one text, however it was spelt (C14)', () => {
  for (const spellings of [
    ['1e400', '10e399', '1E+400', '0.1e401', '1.0e400', `1${'0'.repeat(400)}`],
    ['12345678901234567890', '1234567890123456789e1', '12345678901234567890.00'],
    ['1', '1.0', '1e0', '10e-1', '1.00000000000000000000'],
    ['0', '-0', '0.0', '0e400'],
  ]) {
    const texts = new Set(spellings.map(canonical))
    assert.equal(texts.size, 1, [...texts].join(' '))
  }
})

test('neighbours of a double differ from it and from one another (C14)', () => {
  const numbers = [
    '9007199254740992',
    '9007199254740993',
    '9007199254740994',
    '1e400',
    '1e401',
    '-1e400',
    '1e-400',
    '0',
  ]
  assert.equal(new Set(numbers.map(canonical)).size, numbers.length)
})

test('an exact number is distinguished from the string that looks like it (C14)', () => {
  assert.notEqual(canonicalText(exactNumber('1e400')), canonicalText('1e400'))
})

test('each lone surrogate has a text of its own (C14)', () => {
  const texts = ['\ud800', '\udc00', '\\ud800', '\ufffd', '\ud800\udc00'].map(text =>
    canonicalText({ [text]: text }),
  )
  assert.equal(new Set(texts).size, texts.length)
})

const shuffled = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value as JsonObject).reverse()
  return Object.fromEntries(entries.map(([key, item]) => [key, shuffled(item)]))
}

test('the text is JSON for the same value, and key order does not change it (C14)', () => {
  fc.assert(
    fc.property(fc.jsonValue(), sent => {
      const value = JSON.parse(JSON.stringify(sent)) as Json
      const text = canonicalText(value)
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
      assert.equal(canonicalText(shuffled(value)), text)
    }),
  )
})
