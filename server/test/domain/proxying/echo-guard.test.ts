import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exactNumber } from '../../../src/domain/json/json.ts'
import { EchoGuard, guardedValues } from '../../../src/domain/proxying/echo-guard.ts'
import { processorMs } from '../../rig/processor-time.ts'

const masked = (values: readonly string[], answer: string): string => {
  const bytes = Buffer.from(answer)
  const { length } = bytes
  const guard = new EchoGuard(values)
  for (const _ of guard.mask(bytes));
  assert.equal(bytes.length, length)
  return bytes.toString()
}

describe('the echo guard', () => {
  const card = '4242424242424242'
  const odd = 'a"b\\c/é😀\n&=+ %'
  const cases: readonly { name: string; values: string[]; answer: string; shows: string }[] = [
    { name: 'as it is', values: [card], answer: `{"n":"${card}"}`, shows: `{"n":"${'*'.repeat(16)}"}` },
    { name: 'in a longer run of digits', values: [card], answer: `1${card}1`, shows: `1${'*'.repeat(16)}1` },
    {
      name: 'twice',
      values: ['4012888888881881'],
      answer: '4012888888881881 4012888888881881',
      shows: `${'*'.repeat(16)} ${'*'.repeat(16)}`,
    },
    { name: 'overlapping', values: ['aaaaaa'], answer: 'aaaaaaaa', shows: '*'.repeat(8) },
    { name: 'in groups', values: [card], answer: 'n=4242 4242-4242 4242.', shows: `n=${'*'.repeat(19)}.` },
    { name: 'in groups of two', values: [card], answer: '42-42-42-42-42-42-42-42', shows: '*'.repeat(23) },
    { name: 'in wide groups', values: [card], answer: '4242 - 4242 - 4242 - 4242', shows: '*'.repeat(25) },
    {
      name: 'without the groups of the data',
      values: ['4242 4242 4242 4242'],
      answer: card,
      shows: '*'.repeat(16),
    },
    {
      name: 'in a query',
      values: [card],
      answer: 'n=4242+4242%204242%2d4242&',
      shows: `n=${'*'.repeat(23)}&`,
    },
    {
      name: 'escaped digit by digit',
      values: [card],
      answer: `"${[...card].map(digit => `\\u003${digit}`).join('')}"`,
      shows: `"${'*'.repeat(96)}"`,
    },
    {
      name: 'percent-escaped digit by digit',
      values: [card],
      answer: [...card].map(digit => `%3${digit}`).join(''),
      shows: '*'.repeat(48),
    },
    { name: 'as JSON', values: [odd], answer: JSON.stringify([odd]), shows: `["${'*'.repeat(21)}"]` },
    {
      name: 'as JSON in ASCII',
      values: ['é😀é😀é😀'],
      answer: '"\\u00e9\\uD83D\\uDE00\\u00E9\\ud83d\\ude00é😀"',
      shows: `"${'*'.repeat(42)}"`,
    },
    {
      name: 'as JSON with escaped slashes',
      values: ['a/b/c/d'],
      answer: '"a\\/b\\/c\\/d"',
      shows: `"${'*'.repeat(10)}"`,
    },
    {
      name: 'in a URL',
      values: [odd],
      answer: encodeURIComponent(odd),
      shows: '*'.repeat(encodeURIComponent(odd).length),
    },
    {
      name: 'in a form',
      values: [odd],
      answer: new URLSearchParams({ '': odd }).toString(),
      shows: `=${'*'.repeat(new URLSearchParams({ '': odd }).toString().length - 1)}`,
    },
    {
      name: 'one of many',
      values: ['secret-1', 'secret-22'],
      answer: 'secret-22 secret-3',
      shows: '********2 secret-3'.replace('2 ', '* '),
    },
    { name: 'cut at the end', values: [card], answer: card.slice(0, 15), shows: card.slice(0, 15) },
    { name: 'nearly', values: [card], answer: '4242424242424241', shows: '4242424242424241' },
    {
      name: 'digits across a line',
      values: [card],
      answer: '42424242\n42424242',
      shows: '42424242\n42424242',
    },
    { name: 'a broken escape', values: [card], answer: '\\u12 % %4 \\', shows: '\\u12 % %4 \\' },
    { name: 'what is too short', values: ['12345', 'ééééé'], answer: '12345 ééééé', shows: '12345 ééééé' },
    { name: 'six characters', values: ['123456'], answer: '123456', shows: '******' },
  ]
  for (const { name, values, answer, shows } of cases)
    test(`an echo ${name} comes back as it should, at equal length (U14.1)`, () => {
      assert.equal(masked(values, answer), shows)
    })

  test('values of headers are masked each in its place, and none across two of them (U14.1)', () => {
    const guard = new EchoGuard([card, 'secret'])
    const values = [
      '',
      `n=${card}`,
      '42424242',
      '42424242',
      'a 4242-4242 42424242',
      'secret',
      '\xe9 %73ecret',
    ]
    assert.deepEqual(guard.maskHeaders(values), [
      '',
      `n=${'*'.repeat(16)}`,
      '42424242',
      '42424242',
      `a ${'*'.repeat(18)}`,
      '******',
      `\xe9 ${'*'.repeat(8)}`,
    ])
    const clean = ['text/html', '']
    assert.equal(guard.maskHeaders(clean), clean)
    assert.deepEqual(new EchoGuard([]).maskHeaders(values), values)
  })

  test('every text and number of a token counts, however deep, and what is short does not (U14.1)', () => {
    const data = {
      number: card,
      cvc: '123',
      year: 2030,
      list: [1234567, true, null, { deep: 'sesame', exact: exactNumber('12345678901234567890123') }],
    }
    assert.deepEqual(guardedValues(data), [card, '1234567', 'sesame', '12345678901234567890123'])
  })

  test('a megabyte that holds a thousand of ten thousand values is searched in pieces (U14.1)', () => {
    const values = Array.from({ length: 10_000 }, (_, each) => `value-${each}-${each * 7}`)
    const answer = Buffer.from(
      `{"x":"\\n%41"}${values
        .slice(0, 1_000)
        .join(' ')
        .padEnd(1 << 20, 'value-x')}`,
    )
    const guard = new EchoGuard(values)
    let pieces = 0
    for (const _ of guard.mask(answer)) pieces++
    assert.ok(pieces > 40)
    for (const value of values.slice(0, 100)) assert.ok(!answer.includes(value))
  })

  test('values that begin alike are sorted, and places where each might be are looked at, in pieces (U14.1, C37.2)', () => {
    const start = '1234 5678 '
    const guard = new EchoGuard(Array.from({ length: 10_000 }, (_, each) => `${start}${each}`))
    const piecesOf = (answer: string): number => {
      let pieces = 0
      for (const _ of guard.mask(Buffer.from(answer))) pieces++
      return pieces
    }
    const sorting = piecesOf(start.repeat(10))
    assert.ok(sorting > 40)
    const places = 5_000
    assert.ok(piecesOf(start.repeat(places)) > places / 200)
  })

  test('values that repeat themselves do not make it slow, and half of a long one is masked too (U14.1)', () => {
    const values = [`${'a'.repeat(200_000)}b`, 'a'.repeat(9), `${'ab'.repeat(50_000)}c`]
    const answer = Buffer.from('a'.repeat(1 << 19) + 'ab'.repeat(1 << 18))
    const guard = new EchoGuard(values)
    const tookMs = processorMs(() => {
      for (const _ of guard.mask(answer));
    })
    assert.ok(tookMs < 5_000, `${tookMs} ms`)
    assert.equal(answer.toString('latin1').replaceAll('*', ''), '')
    assert.equal(masked([`${'x'.repeat(100)}y`], `${'x'.repeat(80)} z`), `${'*'.repeat(80)} z`)
    assert.equal(masked([`${'x'.repeat(100)}y`], `${'x'.repeat(60)} z`), `${'x'.repeat(60)} z`)
  })
})
