import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VaultError } from '../../../src/domain/errors.ts'
import { canonicalDecimal } from '../../../src/domain/json/canonical-text.ts'
import { isExactNumber, type JsonObject, stringify } from '../../../src/domain/json/json.ts'
import { parseJson } from '../../../src/domain/json/parse-json.ts'
import { processorMs } from '../../rig/processor-time.ts'
import { fc } from '../../rig/properties.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const parse = (text: string) => parseJson(bytes(text))

const refusalOf = (body: Uint8Array): string => {
  try {
    parseJson(body)
  } catch (error) {
    assert.ok(error instanceof VaultError)
    assert.equal(error.code, 'invalidRequest')
    assert.equal(error.issues.length, 1)
    assert.equal(error.issues[0]!.path, '$')
    assert.equal(error.cause, undefined, 'the message of V8 quotes the body')
    return error.issues[0]!.message
  }
  assert.fail('the body was taken')
}

const ends = 'the body is not valid JSON'
const notJson = (line: number, column: number): string =>
  `the body is not valid JSON (line ${line} column ${column})`
const notUtf8 = 'the body is not valid UTF-8'
const tooDeep = 'the body is nested deeper than 32 levels'

const nested = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels)

const refused: { name: string; body: string | number[]; message: string }[] = [
  { name: 'an empty body', body: '', message: 'the body is empty' },
  { name: 'only white space', body: ' \n', message: ends },
  { name: 'plain text', body: 'secret4242', message: notJson(1, 1) },
  { name: 'an unclosed string', body: '"secret4242', message: notJson(1, 12) },
  { name: 'a string that ends in a backslash', body: '"secret4242\\', message: ends },
  { name: 'a trailing comma', body: '{"secret4242":1,}', message: notJson(1, 17) },
  { name: 'a trailing comma in a list', body: '[1,\n "secret4242",\r\n ]', message: notJson(3, 2) },
  { name: 'a value without quotes', body: '{"a":\r1,\r"b": secret4242}', message: notJson(3, 6) },
  { name: 'a misspelt keyword', body: '[true, nulL, "secret4242"]', message: notJson(1, 11) },
  { name: 'an unfinished keyword', body: 'nul', message: ends },
  { name: 'a wrong token beside an exact number', body: '[1e400,\n secret4242]', message: notJson(2, 2) },
  { name: 'a wrong token in a long text', body: `["${'x'.repeat(9_000)}", secret4242]`, message: ends },
  { name: 'another fault in a long text', body: `["${'x'.repeat(9_000)}" 1]`, message: notJson(1, 9_005) },
  { name: 'a body that fakes a position', body: `secret4242 (line 7 column 7)`, message: notJson(1, 1) },
  { name: 'two values', body: '1 2', message: notJson(1, 3) },
  { name: 'a raw control character in a string', body: '"a\u0001"', message: notJson(1, 3) },
  { name: 'a leading zero', body: '01', message: notJson(1, 2) },
  {
    name: 'a leading zero in a number of many digits',
    body: '012345678901234567890',
    message: notJson(1, 2),
  },
  { name: 'a bare exponent', body: '1e', message: notJson(1, 3) },
  { name: 'a byte order mark', body: '\ufeff1', message: notJson(1, 1) },
  { name: 'unmatched closing brackets', body: ']]]]', message: notJson(1, 1) },
  { name: 'a truncated UTF-8 sequence', body: [0x22, 0xc3, 0x22], message: notUtf8 },
  { name: 'an overlong UTF-8 sequence', body: [0x22, 0xc0, 0xaf, 0x22], message: notUtf8 },
  { name: 'a surrogate in UTF-8', body: [0x22, 0xed, 0xa0, 0x80, 0x22], message: notUtf8 },
  { name: '33 levels of arrays', body: nested(33), message: tooDeep },
  { name: '33 levels of objects', body: `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, message: tooDeep },
  { name: '33 levels after shallow ones', body: `[[],[[]],${nested(32)}]`, message: tooDeep },
  {
    name: '33 levels after a string of closing brackets',
    body: `["]]]\\"]",${nested(32)}]`,
    message: tooDeep,
  },
  { name: '33 levels that never close', body: '['.repeat(33), message: tooDeep },
  {
    name: 'an exact number inside 33 levels',
    body: `${'['.repeat(33)}1e400${']'.repeat(33)}`,
    message: tooDeep,
  },
]

for (const { name, body, message } of refused)
  test(`the parser refuses ${name} with a fixed message and, where known, the position (C2, C8)`, () => {
    const found = refusalOf(typeof body === 'string' ? bytes(body) : Uint8Array.from(body))
    assert.equal(found, message)
    assert.ok(!found.includes('secret4242'))
  })

for (const levels of [10_000, 500_000])
  test(`${levels} levels are refused quickly, without recursion (C8)`, () => {
    const tookMs = processorMs(() => {
      assert.equal(refusalOf(bytes(nested(levels))), tooDeep)
      assert.equal(refusalOf(bytes('{"a":'.repeat(levels))), tooDeep)
    })
    assert.ok(tookMs < 1_000, `${tookMs} ms`)
  })

test('32 levels are accepted, whatever brackets the strings contain (C8)', () => {
  assert.equal(stringify(parse(nested(32))), nested(32))
  const quoted = '["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[","\\"[","\\\\",[]]'
  assert.deepEqual(parse(quoted), JSON.parse(quoted))
  const exact = `${'['.repeat(32)}1e400${']'.repeat(32)}`
  assert.equal(stringify(parse(exact)), exact)
})

/** `exact` numbers come back as they were sent; the others are doubles. */
const numbers: { text: string; exact: boolean }[] = [
  { text: '0', exact: false },
  { text: '-0', exact: false },
  { text: '1.0', exact: false },
  { text: '0.1', exact: false },
  { text: '-12.5e3', exact: false },
  { text: '1E2', exact: false },
  { text: '5e-324', exact: false },
  { text: '0e400', exact: false },
  { text: '123456789012345', exact: false },
  { text: '9007199254740992', exact: false },
  { text: '9007199254740993', exact: true },
  { text: '0.1000000000000000000', exact: false },
  { text: '0.1000000000000000055511151231257827', exact: true },
  { text: '12345678901234567890', exact: true },
  { text: '-12345678901234567890', exact: true },
  { text: '123456789012345.6789', exact: true },
  { text: '1e400', exact: true },
  { text: '-1e400', exact: true },
  { text: '1E-400', exact: true },
  { text: '4e-324', exact: true },
  { text: '1e999999999999999999999', exact: true },
]

for (const { text, exact } of numbers)
  test(`the number ${text} ${exact ? 'comes back as it was sent' : 'is read as a double'} (C7)`, () => {
    for (const [body, pick] of [
      [text, (value: unknown) => value],
      [` ${text}\n`, (value: unknown) => value],
      [`[true,\t\n ${text} ]`, (value: unknown) => (value as unknown[])[1]],
      [`[${text},true]`, (value: unknown) => (value as unknown[])[0]],
      [`[true,${text}]`, (value: unknown) => (value as unknown[])[1]],
      [`{"a":{"b":${text}}}`, (value: unknown) => ((value as JsonObject).a as JsonObject).b],
    ] as const) {
      const value = pick(parse(body))
      if (exact) {
        assert.ok(isExactNumber(value))
        assert.equal(value.rawJSON, text)
      } else assert.ok(Object.is(value, Number(text)))
    }
  })

test('an exact number keeps its text when it is written back, and its neighbours are untouched (C7)', () => {
  const text = '{"a":[1e400,1,"1e400",true,null],"b":12345678901234567890}'
  assert.equal(stringify(parse(text)), text)
})

for (const number of ['1', '1e400'])
  test(`__proto__ is a plain own key beside ${number} (C7)`, () => {
    const value = parse(`{"__proto__":{"x":${number}},"constructor":1}`) as JsonObject
    assert.deepEqual(Object.keys(value), ['__proto__', 'constructor'])
    assert.equal(Object.getPrototypeOf(value), Object.prototype)
    assert.equal(stringify(value), `{"__proto__":{"x":${number}},"constructor":1}`)
  })

for (const number of ['1', '1e400'])
  test(`of two equal keys the last one wins, beside ${number} (C7)`, () => {
    assert.equal(stringify(parse(`{"a":${number},"a":{"b":2}}`)), '{"a":{"b":2}}')
    assert.equal(stringify(parse(`{"a":{"b":2},"a":[${number}]}`)), `{"a":[${number}]}`)
  })

test('strings are kept code unit for code unit (C7.3)', () => {
  assert.equal(parse('"\\ud800"'), '\ud800')
  assert.equal(parse('"\\udc00x\\ud800"'), '\udc00x\ud800')
  assert.equal(parse('"e\u0301 \u{1f600} \\u0000"'), 'e\u0301 \u{1f600} \u0000')
})

test('a view into a larger buffer is read within its bounds (C7)', () => {
  const around = bytes('xx{"a":1}yy')
  assert.deepEqual(parseJson(around.subarray(2, 9)), { a: 1 })
  assert.deepEqual(parseJson(Buffer.from('xx{"a":1}yy').subarray(2, 9)), { a: 1 })
})

test('any JSON value comes back as it was sent, with no exact numbers where doubles are enough (C7.5, C7.3)', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), value => {
      const text = JSON.stringify(value)
      assert.deepEqual(parse(text), JSON.parse(text))
    }),
  )
})

test('any number comes back as the number that was sent (C7)', () => {
  const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`))
  const whole = fc.oneof(fc.constant('0'), fc.stringMatching(/^[1-9][0-9]{0,30}$/))
  const exponent = fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), digits(4)).map(parts => parts.join(''))
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      whole,
      fc.option(
        digits(30).map(fraction => `.${fraction}`),
        { nil: '' },
      ),
      fc.option(exponent, { nil: '' }),
    )
    .map(parts => parts.join(''))
  fc.assert(
    fc.property(number, text => {
      assert.equal(canonicalDecimal(stringify(parse(text))), canonicalDecimal(text))
    }),
    { numRuns: 1_000 },
  )
})

for (const digits of [20, 2_000])
  test(`numbers with exponents of ${digits} digits stay distinct, and equal ones stay equal (C7, C14.1)`, () => {
    const power = '9'.repeat(digits)
    const texts = ['1', '10', '1.5', '15', '0.15', '150', '-15'].map(mantissa =>
      canonicalDecimal(`${mantissa}e${power}`),
    )
    assert.equal(new Set(texts).size, texts.length)
    assert.equal(canonicalDecimal(`15e${power}`), canonicalDecimal(`15e+0${power}`))
    assert.equal(canonicalDecimal(`1.5e${power}`), canonicalDecimal(`01.50e${power}`.slice(1)))
  })

test('whatever the bytes are, only a VaultError is thrown (C2)', () => {
  const jsonLike = fc.string({
    unit: fc.constantFrom(...'{}[]":,\\0123456789.eE+-truefalsn \u00e9'),
    maxLength: 60,
  })
  const bodies = fc.oneof(fc.uint8Array({ maxLength: 60 }), jsonLike.map(bytes))
  fc.assert(
    fc.property(bodies, body => {
      try {
        parseJson(body)
      } catch (error) {
        assert.ok(error instanceof VaultError)
      }
    }),
    { numRuns: 3_000 },
  )
})

test('a body is refused when it has more numbers than allowed that no double holds; others do not count (C8.20)', () => {
  const body = (count: number): string =>
    `[${[...Array(count).fill('12345678901234567891'), ...Array(9_000).fill('1e21')].join()}]`
  assert.equal((parse(body(5_000)) as unknown[]).length, 14_000)
  assert.equal(refusalOf(bytes(body(5_001))), 'the body has more than 5000 numbers that doubles cannot hold')
})
