import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Use } from '../../../src/domain/expressions/budget.ts'
import { compileExpression } from '../../../src/domain/expressions/expression.ts'
import { ExpressionError } from '../../../src/domain/expressions/expression-error.ts'
import { exactNumber, type Json } from '../../../src/domain/json/json.ts'
import { limits } from '../../../src/domain/limits.ts'
import { fails, render, table } from './table.ts'

const exact = exactNumber('12345678901234567890')
const proto = JSON.parse('{"__proto__":{"x":1},"a":{"b":[10,20,{"c":"deep"}]},"odd key":1,"size":7}') as Json

table('a single output keeps its JSON type (C20)', 'mask', [
  ['{{ data }}', 'x', 'x'],
  ['{{ data }}', 8.5, 8.5],
  ['{{ data }}', true, true],
  ['{{ data }}', { a: [1, null] }, { a: [1, null] }],
  ['{{ data }}', exact, exact],
  ['{{data}}', 5, 5],
  ['{{\n data\t}}', 5, 5],
  ['{{ data }}', '\ud800', '\ud800'],
  ['{{ 5 }}', null, 5],
  ['{{ "a" }}', null, 'a'],
  ['{{ nil }}', 1, null],
])

table('several outputs, or outputs mixed with text, give a string (C20)', 'mask', [
  ['plain {{ "text" }}', 1, 'plain text'],
  [' {{ data }}', 5, ' 5'],
  ['{{ data }}{{ data }}', 5, '55'],
  ['a{{ data }}b', null, 'ab'],
  ['a{{ data }}b', true, 'atrueb'],
  ['a{{ data }}b', { x: [1, 'é'] }, 'a{"x":[1,"é"]}b'],
  ['a{{ data }}b', exact, 'a12345678901234567890b'],
  ['a{{ data }}b', ['1', '23'], 'a["1","23"]b'],
  ['}} { {{ data }} }}', 1, '}} { 1 }}'],
  ['{{ data }}}', 1, '1}'],
  ["{{ '}}' }}{{ '{{' }}", 1, '}}{{'],
  ['a {{ data }} b', '\udc00', 'a \udc00 b'],
])

table('paths read only own properties; a missing one is null (C20)', 'mask', [
  ['{{ data.a.b[0] }}', proto, 10],
  ['{{ data.a.b[-1].c }}', proto, 'deep'],
  ['{{ data.a.b.1 }}', proto, 20],
  ["{{ data['a']['b'][ 2 ]['c'] }}", proto, 'deep'],
  ['{{ data["odd key"] }}', proto, 1],
  ['{{ data.__proto__.x }}', proto, 1],
  ['{{ data.__proto__ }}', { a: 1 }, null],
  ['{{ data.constructor }}', { a: 1 }, null],
  ['{{ data["toString"] }}', { a: 1 }, null],
  ['{{ data.size }}', proto, 7],
  ['{{ data.size }}', [1, 2], null],
  ['{{ data.length }}', [1, 2], null],
  ['{{ data.first }}', [1, 2], null],
  ['{{ data.length }}', 'text', null],
  ['{{ data[0] }}', 'text', null],
  ['{{ data[9] }}', [1], null],
  ['{{ data[-9] }}', [1], null],
  ['{{ data["-1"] }}', ['a', 'b'], null],
  ['{{ data["NaN"] }}', ['a', 'b'], null],
  ['{{ data[0] }}', { 0: 'zero' }, 'zero'],
  ['{{ data.a.b.c.d }}', { a: 1 }, null],
  ['{{ data.rawJSON }}', exact, null],
  ['{{ data.größe }}', { größe: 3 }, 3],
  ['{{ data.last-name }}', { 'last-name': 'x' }, 'x'],
  ["{{ data['\\u00e4\\'\\\\'] }}", { "ä'\\": 1 }, 1],
])

table('whitespace control trims as Liquid does (C20)', 'mask', [
  ['a \n{{- data -}} \t b', 1, 'a1b'],
  ['a {{- data }} b', 1, 'a1 b'],
  ['a {{ data -}} b', 1, 'a 1b'],
  ['  {{- data -}}  ', 5, 5],
  ['{{ data }} {{- data }}', 5, '55'],
  ['{{-5}}', 0, 5],
  ['{{ data.a-}} b', { a: 1 }, '1b'],
])

table('arguments are text, numbers, constants and paths (C20)', 'mask', [
  ["append: '}}'", 'a', 'a}}'],
  ["append: '|:,'", 'a', 'a|:,'],
  ["append: 'it\\'s'", '', "it's"],
  ['append: "\\u20ac\\n"', '', '€\n'],
  ['append: "\\u00ff\\u00FA"', '', 'ÿú'],
  ['append: 5', 'a', 'a5'],
  ['append: -1.50', 'a', 'a-1.5'],
  ['append: true', 'a', 'atrue'],
  ['slice:1,3', 'abcdef', 'bcd'],
  ['slice : 1 , 3', 'abcdef', 'bcd'],
  ['append: nil', 'a', 'a'],
  ['{{ data.a | append: data.b }}', { a: 'x', b: 'y' }, 'xy'],
  ['{{ data.a | append: data.c }}', { a: 'x' }, 'x'],
  ["{{ data.a | pad_left: data.n, data['c'] }}", { a: 'x', n: '3', c: '*' }, '**x'],
  ['{{ data.a | pad_left: data.n }}', { a: 'x', n: 'many' }, fails('a number is needed')],
  ['{{ data.a | pad_left: data.missing }}', { a: 'x' }, fails('a number is needed')],
  ['{{ data.a | pad_left: 3, data.c }}', { a: 'x', c: 'ab' }, fails('a single character is needed')],
  ['{{ data.a | pad_left: 3, data.c }}', { a: 'x' }, '  x'],
])

// The position is where the message points, counted from 1.
const broken: readonly (readonly [text: string, message: string, use?: Use])[] = [
  ['{{ }}', 'nothing between the braces, at character 1'],
  ['ab{{-}}', 'nothing between the braces, at character 3'],
  ['\u{1f600}{{-}}', 'nothing between the braces, at character 2'],
  ['{{ data', '{{ has no closing }}, at character 1'],
  ['x {{ data | upcase', '{{ has no closing }}, at character 3'],
  ['{{', '{{ has no closing }}, at character 1'],
  ['{{ data }', 'unexpected character, at character 9'],
  ['{{ data {{ data }}', 'unexpected character, at character 9'],
  ['{{{ data }}}', 'unexpected character, at character 3'],
  ['{{ data | }}', 'unexpected character, at character 11'],
  ['{{ data | | upcase }}', 'unexpected character, at character 11'],
  ['{{ data upcase }}', 'unexpected character, at character 9'],
  ['{{ data. }}', 'unexpected character, at character 9'],
  ['{{ data..a }}', 'unexpected character, at character 9'],
  ['{{ data[] }}', 'unexpected character, at character 9'],
  ['{{ data[0 }}', 'unexpected character, at character 11'],
  ['{{ data[data.x] }}', 'unexpected character, at character 9'],
  ['{{ data[1.5] }}', 'an index is a whole number, at character 9'],
  ['{{ data .a }}', 'unexpected character, at character 9'],
  ['{{ true.a }}', 'unexpected character, at character 8'],
  ['{{ data | append: }}', 'unexpected character, at character 19'],
  ["{{ data | append: 'a', }}", 'unexpected character, at character 24'],
  ["{{ data | append 'a' }}", 'unexpected character, at character 18'],
  ["{{ data | default: 'a', allow_false: true }}", 'unexpected character, at character 36'],
  ["{{ data | append: 'a }}", 'text is not closed, at character 19'],
  ["{{ data | append: '\\q' }}", 'bad escape, at character 20'],
  ["{{ data | append: '\\u12' }}", 'bad escape, at character 20'],
  ['{{ data | append: 1x }}', 'bad number, at character 19'],
  ['{{ data | append: - }}', 'bad number, at character 19'],
  ['{{ data | append: 1. }}', 'unexpected character, at character 20'],
  ['{{ data == 1 }}', 'unexpected character, at character 9'],
  ['{% if data %}', '{% %} tags are not supported, at character 1'],
  ["{{ data | append: '{%' }}", '{% %} tags are not supported, at character 20'],
  ['{{ dat }}', 'unknown variable, at character 4'],
  ['{{ empty }}', 'unknown variable, at character 4'],
  ['{{ constructor }}', 'unknown variable, at character 4'],
  ['{{ metadata.a }}', 'unknown variable, at character 4', 'mask'],
  ['{{ metadata.a }}', 'unknown variable, at character 4', 'index'],
  ['{{ metadata.a }}', 'unknown variable, at character 4', 'id'],
  ['{{ data | append: x.y }}', 'unknown variable, at character 19'],
  ['{{ data | reveal_lst: 4 }}', 'unknown filter "reveal_lst" (did you mean reveal_last?), at character 11'],
  ['{{ data | constructor }}', 'unknown filter "constructor", at character 11'],
  ['{{ data | __proto__ }}', 'unknown filter "__proto__", at character 11'],
  ['{{ data | n4242424242424242 }}', 'unknown filter, at character 11'],
  ['{{ c4242424242424242 }}', 'unknown variable, at character 4'],
  ['{{ data | reveal_last }}', 'reveal_last takes 1 or 2 arguments, at character 11'],
  ['{{ data | upcase: 1 }}', 'upcase takes no arguments, at character 11'],
  ["{{ data | reveal: 1, 2, 'X', '-', 5 }}", 'reveal takes at most 4 arguments, at character 11'],
  ["{{ data | reveal_last: 'four' }}", 'reveal_last: a number is needed, at character 24'],
  ['{{ data | reveal_last: -1 }}', 'reveal_last: a whole number from 0 is needed, at character 24'],
  ['{{ data | reveal_last: 1.5 }}', 'reveal_last: a whole number is needed, at character 24'],
  ['{{ data | reveal_last: nil }}', 'reveal_last: a number is needed, at character 24'],
  ["{{ data | reveal_last: 4, '' }}", 'reveal_last: a single character is needed, at character 27'],
  ["{{ data | reveal_last: 4, 'XX' }}", 'reveal_last: a single character is needed, at character 27'],
  ["{{ data | card_mask: 'yes', true }}", 'card_mask: true or false is needed, at character 22'],
  ['{{ data | json: data.path }}', 'json: quoted text is needed, at character 17'],
  ["{{ data | json: '$.*' }}", 'json: a JSONPath to one value is needed, at character 17'],
  ['{{ data | map: data.p }}', 'map: quoted text is needed, at character 16'],
  [
    "{{ data | date: '%Q' }}",
    'date: a format of %Y %C %y %m %B %b %h %d %e %j %A %a %u %w %H %k %I %l %M %S %L %p %P %s %Z %z %n %t %% %F %T %R %D is needed, at character 17',
  ],
  ["{{ data | card_exp: 'MM/DD' }}", 'card_exp: a format of M, MM, YY and YYYY is needed, at character 21'],
  [
    '{{ data | plus: 12345678901234567890 }}',
    'plus: the number has too many digits to calculate with, at character 17',
  ],
  ['{{ data | alias_card: true, true }}', 'alias_card is only for ids, at character 11', 'mask'],
  [
    '{{ data | alias_preserve_length: 0, 0 }}',
    'alias_preserve_length is only for ids, at character 11',
    'index',
  ],
]
for (const [text, message, use = 'mask'] of broken)
  test(`${text} (${use}) is refused when it is compiled, with the position of the error (C20)`, () => {
    assert.throws(
      () => compileExpression(text, use),
      error => {
        assert(error instanceof ExpressionError)
        assert.equal(error.message, message)
        const position = message.match(/\d+$/)
        assert.equal(error.position, Number(position) - 1)
        return true
      },
    )
  })

test('text without an output renders as itself (C20)', () => {
  for (const text of ['', ' ', 'a }} b', '{ { data } }']) assert.equal(render(text, 1), text)
})

test('an expression has at most 400 code points (C8)', () => {
  const most = '😀'.repeat(limits.expressionCharactersMax)
  assert.equal(render(most, 1), most)
  assert.throws(
    () => compileExpression(`${most}x`, 'mask'),
    /^ExpressionError: must have at most 400 characters$/,
  )
})

test('no message contains data, whatever goes wrong while rendering (C2)', () => {
  const secret = '4242424242424242x'
  for (const filter of [
    'plus: 1',
    "date: '%Y'",
    'to_number',
    'to_boolean',
    'sort',
    'url_decode',
    'card_exp: "M"',
  ])
    for (const data of [secret, [secret, 1], { expiration_month: secret, expiration_year: 1 }, `%${secret}`])
      try {
        render(`{{ data | ${filter} }}`, data)
      } catch (error) {
        assert(error instanceof ExpressionError)
        assert.doesNotMatch(error.message, /4242/)
      }
})

test('fingerprint expressions can read metadata, but only its own properties (C20)', () => {
  const expression = compileExpression(
    '{{ data }}/{{ metadata.a }}/{{ metadata.constructor }}',
    'fingerprint',
  )
  assert.equal(expression.render({ data: 1, metadata: { a: 'x' } }), '1/x/')
  assert.equal(expression.render({ data: 1 }), '1//')
  const whole = compileExpression('{{ metadata }}', 'fingerprint')
  assert.deepEqual(whole.render({ data: 1, metadata: { a: 'x' } }), { a: 'x' })
})

const named: readonly (readonly [text: string, paths: readonly (readonly string[])[]])[] = [
  ['plain', []],
  ['{{ 5 }}', []],
  ['{{ data }}', [['data']]],
  ['{{ data.number }}', [['data', 'number']]],
  ['{{ data["cvc"] }}', [['data', 'cvc']]],
  ['{{ data.items[-1]["a.b"] }}', [['data', 'items', '-1', 'a.b']]],
  [
    '{{ data.a }}-{{ data.b | append: data.c }}',
    [
      ['data', 'a'],
      ['data', 'b'],
      ['data', 'c'],
    ],
  ],
  ["{{ data | json: '$.cvc' }}", [['data'], ['data', 'cvc']]],
  ['{{ data | json: \'$["cvc"][0]\' }}', [['data'], ['data', 'cvc', '0']]],
  ["{{ data | json: '$' }}", [['data']]],
  ["{{ data | map: 'cvc' }}", [['data'], ['data', 'cvc']]],
  [
    "{{ data.a | map: 'b.c' | json: '$.d' }}",
    [
      ['data', 'a'],
      ['data', 'a', 'b', 'c'],
      ['data', 'a', 'd'],
    ],
  ],
  ["{{ data | sort: 'x' | map: 'cvc' }}", [['data'], ['data', 'x'], ['data', 'cvc']]],
  ["{{ nil | default: data | json: '$.cvc' }}", [['data'], ['data', 'cvc']]],
  ["{{ data.a | concat: data | map: 'b' }}", [['data', 'a'], ['data'], ['data', 'a', 'b'], ['data', 'b']]],
]
for (const [text, paths] of named)
  test(`the paths that ${text} names are known without rendering (C11)`, () => {
    assert.deepEqual(compileExpression(text, 'mask').paths, paths)
  })

test('an expression says whether it is literal and whether it makes aliases (C16)', () => {
  const facts = (text: string): unknown => {
    const { isLiteral, hasAlias } = compileExpression(text, 'id')
    return { isLiteral, hasAlias }
  }
  assert.deepEqual(facts('my-id }}'), { isLiteral: true, hasAlias: false })
  assert.deepEqual(facts('{{ "my-id" }}'), { isLiteral: false, hasAlias: false })
  assert.deepEqual(facts('x{{ data | upcase }}'), { isLiteral: false, hasAlias: false })
  assert.deepEqual(facts('x{{ data | alias_preserve_length: 0, 0 }}'), { isLiteral: false, hasAlias: true })
})

test('an expression is compiled once for each use (C20)', () => {
  const text = '{{ data | last4 }}'
  assert.equal(compileExpression(text, 'mask'), compileExpression(text, 'mask'))
  assert.notEqual(compileExpression(text, 'mask'), compileExpression(text, 'index'))
})
