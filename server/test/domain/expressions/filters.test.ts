import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget } from '../../../src/domain/expressions/budget.ts'
import { compileExpression } from '../../../src/domain/expressions/expression.ts'
import { filters } from '../../../src/domain/expressions/filters/registry.ts'
import { exactNumber, type Json } from '../../../src/domain/json/json.ts'
import { fails, render, table } from './table.ts'

const exact = exactNumber('12345678901234567890')
const proto = JSON.parse('[{"__proto__":{"x":1}},{"x":2}]') as Json

test('the language has these filters and no others (C21.1, C21.2, C21.5, U2.6)', () => {
  const listed =
    'stringify json last4 reveal_last reveal card_mask card_bin card_exp pad_left pad_right to_string to_number ' +
    'to_boolean alias_card alias_preserve_format alias_preserve_length append prepend capitalize upcase downcase ' +
    'strip lstrip rstrip split join first last size slice replace replace_first remove remove_first truncate ' +
    'default map uniq sort reverse concat compact plus minus times divided_by modulo round ceil floor abs at_least ' +
    'at_most date url_encode url_decode escape hmac to_base64 to_base16'
  assert.deepEqual([...filters.keys()].sort(), listed.split(' ').sort())
})

table('text filters (C21.5)', 'index', [
  ["append: '!'", 'a', 'a!'],
  ["append: '!'", null, '!'],
  ["append: '!'", exact, '12345678901234567890!'],
  ["append: '!'", exactNumber('12345678901234567890.0'), '12345678901234567890!'],
  ["append: '!'", exactNumber('-0.12345678901234567890'), '-0.1234567890123456789!'],
  ["append: '!'", exactNumber('12345678901234567890e-22'), '0.001234567890123456789!'],
  ["append: '!'", exactNumber('1e309'), `1${'0'.repeat(309)}!`],
  ["append: '!'", exactNumber('1e-400'), `0.${'0'.repeat(399)}1!`],
  ["append: '!'", exactNumber('10e99998'), '1e99999!'],
  ["append: '!'", 1e21, `1${'0'.repeat(21)}!`],
  ["append: '!'", -1.5e-7, '-0.00000015!'],
  ["append: '!'", [1e21], '[1e+21]!'],
  ["append: '\\ude00'", '\ud83d', '😀'],
  ["prepend: '!'", 5, '!5'],
  ['capitalize', 'aBC dE', 'Abc de'],
  ['capitalize', '', ''],
  ['capitalize', '😀A', '😀a'],
  ['upcase', 'straße', 'STRASSE'],
  ['upcase', null, ''],
  ['upcase', '\udc00a', '\udc00A'],
  ['downcase', 'ÄB', 'äb'],
  ['strip', ' \u00a0a b\n', 'a b'],
  ['lstrip', ' a ', 'a '],
  ['rstrip', ' a ', ' a'],
  ['strip', ' '.repeat(9), ''],
  ["pad_left: 3, '0'", 7, '007'],
  ["pad_left: 3, '😀'", 'a', '😀😀a'],
  ['pad_left: 3', '😀', '  😀'],
  ['pad_left: 1', 'abc', 'abc'],
  ['pad_left: 3', null, null],
  ['pad_left: 3', '', '   '],
  ['pad_left: 3', {}, fails('text or a number is needed')],
  ["pad_right: 3, '.'", 'a', 'a..'],
  ['pad_right: 3', null, null],
  ["split: ','", 'a,b,,', ['a', 'b']],
  ["split: ','", ',a', ['', 'a']],
  ["split: ''", 'a😀\ud800', ['a', '😀', '\ud800']],
  ["split: ','", null, []],
  ["split: 'aa'", 'xaaaay', ['x', '', 'y']],
  ["replace: 'a', 'b'", 'banana', 'bbnbnb'],
  ["replace: 'aa', 'b'", 'aaaaa', 'bba'],
  ["replace: '', '-'", 'a😀b', 'a-😀-b'],
  ["replace: '', '-'", '', ''],
  ["replace: '.', '$&'", 'a.b', 'a$&b'],
  ["replace: 'abab', 'x'", 'ababab', 'xab'],
  ["replace: 'aab', 'x'", 'aaab', 'ax'],
  ["replace_first: 'a', 'b'", 'banana', 'bbnana'],
  ["replace_first: '', '-'", 'ab', '-ab'],
  ["replace_first: 'z', '-'", 'ab', 'ab'],
  ["remove: '-'", '12-34-5', '12345'],
  ["remove: ''", 'a😀', 'a😀'],
  ["remove_first: '-'", '12-34-5', '1234-5'],
  ['truncate: 5', 'abcdefgh', 'ab...'],
  ['truncate: 3', '😀😀😀', '😀😀😀'],
  ["truncate: 2, '…'", '😀😀😀', '😀…'],
  ['truncate: 0', 'abc', '...'],
  ['truncate', 'a'.repeat(51), `${'a'.repeat(47)}...`],
  ['truncate: 5', 7, 7],
  ['truncate: 5', null, null],
  ['url_encode', "a b&é😀'()", "a+b%26%C3%A9%F0%9F%98%80'()"],
  ['url_encode', '\ud800', fails('url_encode: well-formed text is needed')],
  ['url_decode', 'a+b%26%C3%A9', 'a b&é'],
  ['url_decode', '%', fails('url_decode: percent-encoded text is needed')],
  ['url_decode', '%C3', fails('percent-encoded text is needed')],
  ['url_decode', '\ud800', '\ud800'],
  ['escape', '<a href="x">&\'\ud800', '&lt;a href=&#34;x&#34;&gt;&amp;&#39;\ud800'],
  ['escape', null, ''],
])

table('conversion filters (C21.1)', 'index', [
  ['stringify', null, null],
  ['stringify', false, 'false'],
  ['stringify', exact, '12345678901234567890'],
  ['stringify', '\ud800', '\ud800'],
  ['stringify', ['\ud800'], '["\\ud800"]'],
  ['stringify', 1e21, `1${'0'.repeat(21)}`],
  ['to_string', 5, '5'],
  ['to_string', null, null],
  ['to_string', { a: 1 }, '{"a":1}'],
  ['to_number', ' 0012.50 ', 12.5],
  ['to_number', '-1e3', -1000],
  ['to_number', '1e-2', 0.01],
  ['to_number', '1E+2', 100],
  ['to_number', 8, 8],
  ['to_number', '0012345678901234567890', exact],
  ['to_number', '+5', 5],
  ['to_number', '12345678901234567890', exact],
  ['to_number', '1e400', exactNumber('1e400')],
  ['to_number', exact, exact],
  ['to_number', true, 1],
  ['to_number', null, null],
  ['to_number', '', fails('text that holds a number is needed')],
  ['to_number', '0x10', fails('text that holds a number is needed')],
  ['to_number', '1.', fails('text that holds a number is needed')],
  ['to_number', '1e', fails('text that holds a number is needed')],
  ['to_number', 'NaN', fails('text that holds a number is needed')],
  ['to_number', [1], fails('text that holds a number is needed')],
  ['to_boolean', ' TRUE ', true],
  ['to_boolean', 'false', false],
  ['to_boolean', true, true],
  ['to_boolean', false, false],
  ['to_boolean', 1, true],
  ['to_boolean', 0, false],
  ['to_boolean', null, null],
  ['to_boolean', 'yes', fails('true or false is needed')],
  ['to_boolean', exact, fails('true or false is needed')],
  ["default: 'x'", null, 'x'],
  ["default: 'x'", false, 'x'],
  ["default: 'x'", '', 'x'],
  ['default: 5', [], 5],
  ["default: 'x'", 0, 0],
  ["default: 'x'", {}, {}],
  ["default: 'x'", exact, exact],
  ["json: '$'", { a: 1 }, { a: 1 }],
  ["json: '$.a.b[0]'", { a: { b: [5] } }, 5],
  ["json: '$[-1]'", [1, 2], 2],
  ['json: "$[\'odd key\']"', { 'odd key': 1 }, 1],
  ["json: '$.missing.x'", { a: 1 }, null],
  ["json: '$.constructor'", { a: 1 }, null],
  ["json: '$.a'", '{"a":1}', null],
  ["json: '$'", null, null],
  ["json: '$..a'", {}, fails('a JSONPath to one value')],
  ["json: '$.a[*]'", {}, fails('a JSONPath to one value')],
  ["json: '$[0:2]'", {}, fails('a JSONPath to one value')],
  ["json: '$[?(@.a)]'", {}, fails('a JSONPath to one value')],
  ["json: '$.a b'", {}, fails('a JSONPath to one value')],
  ["json: '$[\\'a]'", {}, fails('a JSONPath to one value')],
  ["json: 'a'", {}, fails('a JSONPath to one value')],
  ["json: ''", {}, fails('a JSONPath to one value')],
])

table('number filters (C21.5, C21.6)', 'index', [
  ['plus: 1', 1, 2],
  ['plus: "1.5"', '2', 3.5],
  ['plus: 1', null, 1],
  ['plus: 1', exact, fails('plus: the number has too many digits to calculate with, at character 11')],
  ['plus: 1', '12345678901234567890', fails('too many digits')],
  ['{{ data.a | plus: data.b }}', { a: 1, b: exact }, fails('too many digits')],
  ['plus: 1', 'abc', fails('plus: a number is needed')],
  ['plus: 1', '', fails('a number is needed')],
  ['plus: 1', true, fails('a number is needed')],
  ['plus: 1', [1], fails('a number is needed')],
  ['minus: 1', 0.5, -0.5],
  ['times: 3', '2', 6],
  ['times: 10', 1e308, fails('the result is too large')],
  ['times: -1', 0, 0],
  ['divided_by: 4', 10, 2.5],
  ['divided_by: 4, true', -10, -3],
  ['divided_by: 0', 1, fails('divided_by: division by zero')],
  ['modulo: 3', -7, 2],
  ['modulo: -3', 7, -2],
  ['modulo: 0', 1, fails('modulo: division by zero')],
  ['round', 2.5, 3],
  ['round', -2.5, -3],
  ['round: 2', 1.005, 1.01],
  ['round: -2', 1250, 1300],
  ['round: 400', 1.5, 1.5],
  ['round: -400', 1.5, 0],
  ['round', 1e300, 1e300],
  ['round', exact, fails('too many digits')],
  ['ceil', 1.1, 2],
  ['floor', '-1.1', -2],
  ['abs', -5, 5],
  ['at_least: 5', 3, 5],
  ['at_most: 5', 9, 5],
])

table('array filters (C21.5)', 'index', [
  ["join: '-'", ['a', null, 1, [2], true], 'a--1-[2]-true'],
  ['join', ['a', 'b'], 'a b'],
  ["join: ''", [exact], '12345678901234567890'],
  ['join', 'ab', 'ab'],
  ['join', null, ''],
  ['first', [1, 2], 1],
  ['first', [], null],
  ['first', '😀b', '😀'],
  ['first', '', ''],
  ['first', null, ''],
  ['first', { length: 1, 0: 'x' }, ''],
  ['last', [1, 2], 2],
  ['last', 'b😀', '😀'],
  ['last', 5, ''],
  ['size', '😀b\ud800', 3],
  ['size', [1, 2], 2],
  ['size', null, 0],
  ['size', 12345, 0],
  ['size', { length: 5 }, 0],
  ['slice: 1, 2', 'a😀bc', '😀b'],
  ['slice: -2, 2', '1234', '34'],
  ['slice: 1', 'abc', 'b'],
  ['slice: 9', 'abc', ''],
  ['slice: -9, 2', 'abc', ''],
  ['slice: 0, -1', 'abc', ''],
  ['slice: 1, 5', [1, 2, 3], [2, 3]],
  ['slice: 0, 3', 12345, '123'],
  ['slice: 0', null, []],
  ["map: 'a.b'", [{ a: { b: 1 } }, { a: 2 }, null, 'x'], [1, null, null, null]],
  ["map: 'a'", { a: 1 }, [1]],
  ["map: 'x'", proto, [null, 2]],
  ["map: '__proto__'", proto, [{ x: 1 }, null]],
  ["map: ''", [], fails('a property name is needed')],
  ['uniq', [1, '1', 1, { a: 1 }, { a: 1 }, null, null], [1, '1', { a: 1 }, null]],
  ['uniq', ['{"a":1}', { a: 1 }, 'null', null, '1', 1], ['{"a":1}', { a: 1 }, 'null', null, '1', 1]],
  ['uniq', [exact, exactNumber('12345678901234567890.0')], [exact]],
  ['sort', [3, 1, null, 2], [1, 2, 3, null]],
  ['sort', ['b', 'a', 'B'], ['B', 'a', 'b']],
  ["sort: 'n'", [{ n: 2 }, {}, { n: 1 }], [{ n: 1 }, { n: 2 }, {}]],
  ['sort', [1, 'a'], fails('sort: a list of only numbers or only text is needed')],
  ['sort', [exact, 1], fails('a number has too many digits to be sorted by')],
  ['reverse', [1, 2], [2, 1]],
  ['reverse', 'a😀\ud800', '\ud800😀a'],
  ['reverse', null, []],
  ['{{ data.a | concat: data.b }}', { a: [1], b: [2] }, [1, 2]],
  ['{{ data.a | concat: data.missing }}', { a: [1] }, [1]],
  ['concat: 5', null, [5]],
  ['compact', [1, null, false, ''], [1, false, '']],
  ['compact', null, []],
])

table('the date filter, always in UTC (C21.5)', 'index', [
  ["date: '%Y-%m-%d %H:%M:%S.%L'", '2024-02-29T23:05:09.0789Z', '2024-02-29 23:05:09.078'],
  ["date: '%F %T'", '2024-01-01T00:30:00+02:00', '2023-12-31 22:30:00'],
  ["date: '%F %R'", '2024-01-01 00:30-0130', '2024-01-01 02:00'],
  ["date: '%D'", '2024-01-31', '01/31/24'],
  ["date: '%A %a %B %b %h'", '2024-12-31', 'Tuesday Tue December Dec Dec'],
  ["date: '%e|%-d|%_m|%0e|%^a|%-e'", '2024-02-03', ' 3|3| 2|03|SAT|3'],
  ["date: '%I:%M %p %l %k %P'", '2024-02-03T00:07', '12:07 AM 12  0 am'],
  ["date: '%I %p'", '2024-02-03T13:07', '01 PM'],
  ["date: '%I %p'", '2024-02-03T12:30', '12 PM'],
  ["date: '%F %T'", '2024-02-03T23:00:00+23:59', '2024-02-02 23:01:00'],
  ["date: '%F'", '2024-02-03T12:00+01:60', fails('a date')],
  ["date: '%F'", '2024-02-03T12:60', fails('a date')],
  ["date: '%F'", '2024-02-03T1205', fails('a date')],
  ["date: '%j'", '2024-12-31T12:00', '366'],
  ["date: '%s'", '2024-01-01', '1704067200'],
  ["date: '%Z %z'", '2024-01-01T00:00+05:00', 'UTC +0000'],
  ["date: '%y %C %u %w'", '2024-09-01', '24 20 7 0'],
  ["date: '100%% %n%t.'", 0, '100% \n\t.'],
  ["date: '%F'", 1704067200, '2024-01-01'],
  ["date: '%F'", '1704067200', '2024-01-01'],
  ["date: '%F'", -1, '1969-12-31'],
  ["date: '%Y'", -99999999999, '-1199'],
  ["date: '%Y|%-Y|%_Y'", -62311939200, '-005|-5|  -5'],
  ["date: '%Y'", null, null],
  ["date: ''", 0, ''],
  ["date: '%Y'", '2023-02-29', fails('date: a date is needed')],
  ["date: '%Y'", '2023-13-01', fails('a date is needed')],
  ["date: '%Y'", '2023-01-01T24:00', fails('a date is needed')],
  ["date: '%Y'", '2023-01-01x', fails('a date is needed')],
  ["date: '%Y'", '2023-01-01T10', fails('a date is needed')],
  ["date: '%Y'", '2023-01-01T17:05.5', fails('a date is needed')],
  ["date: '%Y'", '0050-01-01', fails('a date is needed')],
  ["date: '%Y'", 'now', fails('a date is needed')],
  ["date: '%Y'", 'today', fails('a date is needed')],
  ["date: '%Y'", '', fails('a date is needed')],
  ["date: '%Y'", 1e20, fails('a date is needed')],
  ["date: '%Y'", exact, fails('a date is needed')],
  ["date: '%Y'", true, fails('a date is needed')],
  ["date: '%'", 0, fails('a format of %Y %C')],
  ["date: '%10d'", 0, fails('a format of %Y %C')],
])

test('no filter crashes on any kind of value (C21)', () => {
  const values: readonly Json[] = [
    null,
    true,
    0,
    -0,
    1.5,
    exact,
    '',
    'a',
    '\ud800',
    '😀',
    [],
    [null],
    {},
    proto,
  ]
  for (const [name, { parameters }] of filters)
    for (const argument of ["'$'", "'%Y'", '1', "'1'", 'true', 'data', 'nil'])
      for (const data of values) {
        const list = parameters.map(() => argument).join(', ')
        try {
          render(`{{ data | ${name}${list === '' ? '' : `: ${list}`} }}`, data, 'id', below => below - 1)
        } catch (error) {
          assert.equal((error as Error).name, 'ExpressionError', `${name}: ${String(error)}`)
        }
      }
})

/** V8's hash of a whole number, which anyone can compute. */
const knownHash = (number: number): number => {
  let hash = ~number + (number << 15)
  hash ^= hash >>> 12
  hash += hash << 2
  hash ^= hash >>> 4
  hash = Math.imul(hash, 2_057)
  return (hash ^ (hash >>> 16)) & 0x3fffffff
}

test('numbers chosen to share one place in a hash table are made unique as quickly as any others (C20.7)', () => {
  const chosen: number[] = []
  for (let number = 1e9; chosen.length < 16_000; number++)
    if ((knownHash(number) & 0x3fff) === 0) chosen.push(number)
  const { user: before } = process.cpuUsage()
  const unlimited = new Budget(Number.POSITIVE_INFINITY)
  const uniq = compileExpression('{{ data | uniq | size }}', 'mask')
  assert.equal(uniq.render({ data: chosen }, undefined, unlimited), chosen.length)
  const milliseconds = (process.cpuUsage().user - before) / 1_000
  assert.ok(milliseconds < 200, `${milliseconds} ms`)
})
