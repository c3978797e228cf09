import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Liquid } from 'liquidjs'
import { ExpressionError } from '../../../src/domain/expressions/expression-error.ts'
import type { Json } from '../../../src/domain/json/json.ts'
import { fc } from '../../rig/properties.ts'
import { render } from './table.ts'

/**
 * Our standard filters against liquidjs, the reference for what Liquid users expect. First the domain that both share,
 * at random; then each intended difference with both answers, so that neither side can change unnoticed.
 */
const liquid = new Liquid({ timezoneOffset: 0, ownPropertyOnly: true })

type Question = { filter: string; input: Json; args: readonly Json[] }

const chain = ({ filter, args }: Question): string => {
  const list = args.map((_, index) => `data.args[${index}]`).join(', ')
  return `data.input | ${filter}${list === '' ? '' : `: ${list}`}`
}
const ask = (question: Question): Json => {
  const value: unknown = liquid.evalValueSync(chain(question), { data: question })
  return (value ?? null) as Json
}
const ours = (question: Question): Json => render(`{{ ${chain(question)} }}`, question as unknown as Json)

/** Turns -0 into 0, and `undefined` into null. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

// Letters whose case changes their length, white space, separators, HTML, URLs; nothing outside the BMP.
const text = fc.string({ unit: fc.constantFrom(...'aabBßéΣ09 \n\u00a0-.,&<>"\'%+$/') })
const short = fc.string({ unit: fc.constantFrom(...'ab-. '), maxLength: 3 })
const word = fc.string({ unit: fc.constantFrom(...'ab-.'), minLength: 1, maxLength: 3 })
const decimal = fc.integer({ min: -1_000_000, max: 1_000_000 }).map(value => value / 1_000)
const numeric = fc.oneof(decimal, decimal.map(String), fc.integer(), fc.constant(null))
const argument = fc.oneof(decimal, decimal.map(String))
const nonZero = fc.oneof(fc.integer({ min: 1, max: 999 }), fc.integer({ min: -999, max: -1 })).map(n => n / 4)
const scalar = fc.oneof(text, decimal, fc.boolean(), fc.constant(null))
const places = fc.integer({ min: -3, max: 5 })
const index = fc.integer({ min: -6, max: 6 })
const list = (element: fc.Arbitrary<Json>): fc.Arbitrary<Json[]> => fc.array(element, { maxLength: 8 })
const objects = list(fc.record({ a: decimal, b: fc.record({ c: text }) }, { requiredKeys: [] }))
const property = (filter: string): string => `${filter} on a list of objects`
const instant = fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
const format = fc
  .array(
    fc.constantFrom(
      ...'YymdeHIMSLpPjAaBbhskluwzCnt%'.split('').map(code => `%${code}`),
      '-',
      '%-d',
      '%_m',
      '%^a',
    ),
  )
  .map(codes => codes.join(''))

const shared: Record<string, readonly [input: fc.Arbitrary<Json>, ...args: fc.Arbitrary<Json>[]]> = {
  append: [scalar, scalar],
  prepend: [scalar, scalar],
  capitalize: [scalar],
  upcase: [scalar],
  downcase: [scalar],
  strip: [scalar],
  lstrip: [scalar],
  rstrip: [scalar],
  split: [scalar, short],
  replace: [scalar, short, text],
  replace_first: [scalar, short, text],
  remove: [scalar, short],
  remove_first: [scalar, short],
  truncate: [scalar, fc.nat(12), short],
  escape: [scalar],
  url_encode: [scalar],
  url_decode: [fc.oneof(text.map(encodeURIComponent), word, decimal)],
  default: [fc.oneof(scalar, list(decimal)), scalar],
  join: [
    fc.oneof(list(fc.oneof(text, decimal, fc.constant(null))), scalar),
    fc.oneof(short, fc.constant(null)),
  ],
  first: [fc.oneof(list(scalar), text, decimal, fc.constant(null))],
  last: [fc.oneof(list(scalar), text, decimal, fc.constant(null))],
  size: [fc.oneof(list(scalar), text, decimal, fc.boolean(), fc.constant(null))],
  slice: [fc.oneof(list(scalar), scalar), index, index],
  uniq: [fc.oneof(list(fc.oneof(word, fc.nat(3), fc.boolean(), fc.constant(null))), scalar)],
  sort: [fc.oneof(list(decimal), list(text), list(fc.oneof(decimal, fc.constant(null))))],
  reverse: [fc.oneof(list(scalar), decimal, fc.boolean(), fc.constant(null))],
  concat: [fc.oneof(list(scalar), scalar), fc.oneof(list(scalar), scalar)],
  compact: [fc.oneof(list(scalar), scalar)],
  plus: [numeric, argument],
  minus: [numeric, argument],
  times: [numeric, argument],
  divided_by: [numeric, nonZero, fc.boolean()],
  modulo: [numeric, nonZero],
  round: [numeric, places],
  ceil: [numeric],
  floor: [numeric],
  abs: [numeric],
  at_least: [numeric, argument],
  at_most: [numeric, argument],
  date: [
    fc.oneof(
      instant.map(date => date.toISOString()),
      fc.nat(4_000_000_000),
      fc.constant(null),
    ),
    format,
  ],
}

for (const [filter, [input, ...args]] of Object.entries(shared))
  test(`${filter} gives the same result as liquidjs (C21.5)`, () => {
    fc.assert(
      fc.property(input, fc.tuple(...args), (value, values) => {
        const question = { filter, input: value, args: values }
        assert.deepEqual(plain(ours(question)), plain(ask(question)))
      }),
      { numRuns: 300 },
    )
  })

for (const filter of ["map: 'a'", "map: 'b.c'", "sort: 'a'", "sort: 'b.c'"])
  test(`${property(filter)} gives the same result as liquidjs (C21.5)`, () => {
    fc.assert(
      fc.property(objects, input => {
        const question = { filter, input, args: [] }
        assert.deepEqual(plain(ours(question)), plain(ask(question)))
      }),
    )
  })

type Difference = {
  filter: string
  input: Json
  ours: Json | 'refused'
  theirs: Json | 'throws'
  because: string
}
const differences: readonly Difference[] = [
  { filter: 'size', input: '😀', ours: 1, theirs: 2, because: 'characters are code points (C8)' },
  { filter: 'first', input: '😀', ours: '😀', theirs: '\ud83d', because: 'characters are code points (C8)' },
  { filter: 'last', input: '😀', ours: '😀', theirs: '\ude00', because: 'characters are code points (C8)' },
  {
    filter: "split: ''",
    input: '😀',
    ours: ['😀'],
    theirs: ['\ud83d', '\ude00'],
    because: 'characters are code points (C8)',
  },
  {
    filter: "replace: '', '-'",
    input: '😀',
    ours: '😀',
    theirs: '\ud83d-\ude00',
    because: 'characters are code points (C8)',
  },
  { filter: 'capitalize', input: '𐐨', ours: '𐐀', theirs: '𐐨', because: 'characters are code points (C8)' },
  {
    filter: 'reverse',
    input: 'abc',
    ours: 'cba',
    theirs: ['abc'],
    because: 'reversing text would be useless otherwise',
  },
  {
    filter: 'upcase',
    input: ['1', '23'],
    ours: '["1","23"]',
    theirs: '123',
    because: 'lists must not collide (C14)',
  },
  {
    filter: 'upcase',
    input: {},
    ours: '{}',
    theirs: '[OBJECT OBJECT]',
    because: 'objects must not collide (C14)',
  },
  {
    filter: 'join',
    input: [[1, 2], {}],
    ours: '[1,2] {}',
    theirs: '1,2 [object Object]',
    because: 'lists and objects must not collide (C14)',
  },
  { filter: 'size', input: { length: 5 }, ours: 0, theirs: 5, because: 'an object is not an array' },
  { filter: 'first', input: { length: 1, 0: 5 }, ours: '', theirs: 5, because: 'an object is not an array' },
  {
    filter: 'uniq',
    input: [[1], [1]],
    ours: [[1]],
    theirs: [[1], [1]],
    because: 'JSON values have no identity',
  },
  {
    filter: 'sort',
    input: [2, '10'],
    ours: 'refused',
    theirs: [2, '10'],
    because: 'no order would be what everyone expects',
  },
  {
    filter: 'plus: 1',
    input: 'abc',
    ours: 'refused',
    theirs: 1,
    because: 'a wrong field must not become 0',
  },
  {
    filter: 'plus: 1',
    input: true,
    ours: 'refused',
    theirs: 2,
    because: 'a wrong field must not become 1',
  },
  {
    filter: 'plus: 1',
    input: '0x10',
    ours: 'refused',
    theirs: 17,
    because: 'only decimal numbers are numbers',
  },
  { filter: 'divided_by: 0', input: 1, ours: 'refused', theirs: null, because: 'JSON has no infinity' },
  { filter: 'modulo: 0', input: 1, ours: 'refused', theirs: null, because: 'JSON has no NaN' },
  { filter: 'times: 10', input: 1e308, ours: 'refused', theirs: null, because: 'JSON has no infinity' },
  {
    filter: "date: '%Y'",
    input: 'secret',
    ours: 'refused',
    theirs: 'secret',
    because: 'it would show the whole value',
  },
  {
    filter: "date: '%Y'",
    input: '2023-02-29',
    ours: 'refused',
    theirs: '2023',
    because: 'there is no such day',
  },
  { filter: "date: '%Z'", input: 0, ours: 'UTC', theirs: '+0000', because: 'dates are always in UTC' },
  { filter: "date: '%F'", input: 0, ours: '1970-01-01', theirs: '%F', because: '%F is known from strftime' },
  {
    filter: "date: '%Q'",
    input: 0,
    ours: 'refused',
    theirs: '%Q',
    because: 'a typo is caught when the expression is written',
  },
  {
    filter: "date: '%5d'",
    input: 0,
    ours: 'refused',
    theirs: '00001',
    because: 'a width can blow up the result',
  },
  {
    filter: 'date',
    input: 0,
    ours: 'refused',
    theirs: 'Thursday, January 1, 1970 at 12:00 am +0000',
    because: 'a format is required',
  },
  {
    filter: "strip: 'a'",
    input: 'aba',
    ours: 'refused',
    theirs: 'b',
    because: 'standard Liquid takes no argument here',
  },
  {
    filter: "replace: 'a'",
    input: 'ab',
    ours: 'refused',
    theirs: 'b',
    because: 'remove is the filter for that',
  },
  {
    filter: 'truncate: -1',
    input: 'ab',
    ours: 'refused',
    theirs: '...',
    because: 'a length cannot be negative',
  },
  {
    filter: 'url_encode',
    input: '\ud800',
    ours: 'refused',
    theirs: 'throws',
    because: 'ours throws an ExpressionError',
  },
  {
    filter: 'url_decode',
    input: '%',
    ours: 'refused',
    theirs: 'throws',
    because: 'ours throws an ExpressionError',
  },
  {
    filter: 'unknown',
    input: 'a',
    ours: 'refused',
    theirs: 'a',
    because: 'unknown filters are refused (C20)',
  },
]
for (const { filter, input, ours: expected, theirs, because } of differences)
  test(`${filter} on ${JSON.stringify(input)} differs from liquidjs: ${because} (C21.5)`, () => {
    const question = { filter, input, args: [] }
    if (expected === 'refused') assert.throws(() => ours(question), ExpressionError)
    else assert.deepEqual(plain(ours(question)), expected)
    if (theirs === 'throws') assert.throws(() => ask(question))
    else assert.deepEqual(plain(ask(question)), theirs)
  })

test('literal text, whitespace control and quotes render as in liquidjs (C20)', () => {
  const piece = fc.constantFrom(
    ' a ',
    '\n',
    '}}',
    '{ ',
    '{{ data }}',
    '{{- data }}',
    '{{ data -}}',
    "{{'}}'}}",
    '{{-"x"-}}',
  )
  const literal = fc.array(piece, { maxLength: 12 }).map(pieces => `.${pieces.join('')}.`)
  fc.assert(
    fc.property(literal, template => {
      assert.equal(render(template, 'D'), liquid.parseAndRenderSync(template, { data: 'D' }))
    }),
    { numRuns: 500 },
  )
})
