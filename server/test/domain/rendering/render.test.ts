import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Budget, type Dialect } from '../../../src/domain/expressions/budget.ts'
import { ExpressionError } from '../../../src/domain/expressions/expression-error.ts'
import { filters } from '../../../src/domain/expressions/filters/registry.ts'
import { type Json, stringify } from '../../../src/domain/json/json.ts'
import { cardDetails } from '../../../src/domain/rendering/card-details.ts'
import { formPartsWithExpressions } from '../../../src/domain/rendering/form-pairs.ts'
import {
  hasTwinKeys,
  literalsWithBraces,
  placesOf,
  withLiterals,
} from '../../../src/domain/rendering/json-literals.ts'
import { assemble, evaluate, type ShownToken } from '../../../src/domain/rendering/render.ts'
import { isExpression, readTemplate, type TemplatePart } from '../../../src/domain/rendering/template.ts'
import { tries } from '../../rig/long-run.ts'
import { fc } from '../../rig/properties.ts'

const render = (
  text: string,
  shown: Partial<ShownToken> & { data: () => Json | undefined },
  dialect: Dialect = 'detokenize',
): Json => {
  const parts: TemplatePart[] = [...readTemplate(text, dialect)]
  const token: ShownToken = { object: () => undefined, mayBeCut: true, ...shown }
  const values = { token: () => token, configuration: { key: 'secret' } }
  const template = { text, parts }
  const request = new Budget(100_000_000)
  return assemble(
    template,
    parts.filter(isExpression).map(part => evaluate(template, part, values, request)),
  )
}

/** Undefined where the expression is refused; its error must not show anything either. */
const rendered = (...given: Parameters<typeof render>): string | undefined => {
  try {
    return stringify(render(...given))
  } catch (error) {
    if (error instanceof ExpressionError) return error.message
    throw error
  }
}

const argument = fc.oneof(
  fc.integer({ min: -30, max: 30 }).map(String),
  fc.constantFrom(
    'true',
    'null',
    "'sha-256'",
    "'$'",
    "'$.number'",
    "'number'",
    "''",
    "'X'",
    "'MM/YY'",
    "'%Y'",
    '0.5',
  ),
  fc.string({ maxLength: 3 }).map(text => JSON.stringify(text)),
)
const call = fc
  .tuple(fc.constantFrom(...filters.keys()), fc.array(argument, { maxLength: 3 }))
  .map(([name, given]) => `| ${name}${given.length > 0 ? `: ${given.join(', ')}` : ''}`)
const chains = fc.array(call, { maxLength: 5 }).map(calls => calls.join(' '))
const runs = tries(2_000)

test('what is used without being read is sent whole or by a path, and nothing cuts it (U11.2)', () => {
  const number = '5105105105105100'
  const data = {
    number,
    name: { first: 'Zoë' },
    list: ['one', 'two'],
    expiration_month: 7,
    expiration_year: 2031,
  }
  const wholes = new Set<string>()
  const collect = (value: Json): void => {
    wholes.add(stringify(value)).add(stringify(stringify(value)))
    if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) collect(part)
  }
  collect(data)
  let sent = 0
  fc.assert(
    fc.property(chains, chain => {
      const text = `{{ id ${chain} }}`
      const run = (): Json | undefined => {
        try {
          return render(text, { data: () => data, mayBeCut: false }, 'proxy')
        } catch (error) {
          assert.ok(error instanceof ExpressionError)
          return undefined
        }
      }
      const result = run()
      if (result === undefined || chain.includes('default') || chain.includes('card_exp')) return
      sent++
      assert.ok(wholes.has(stringify(result)) || wholes.has(String(result)), `${text}: ${stringify(result)}`)
    }),
    { numRuns: runs },
  )
  assert.ok(sent > 0)
})

const anyText = fc.string({ unit: 'grapheme', maxLength: 30 })

test('whatever a value holds comes out literally, in JSON too (U3.5)', () => {
  const values = fc.oneof(
    anyText,
    anyText.map(text => `{{ ${text} }}`),
    fc.jsonValue({ maxDepth: 2 }).map(value => value as Json),
  )
  fc.assert(
    fc.property(values, anyText, (value, around) => {
      assert.deepEqual(render('{{ id }}', { data: () => value }), value)
      const before = around.replaceAll('{', '(')
      const text = typeof value === 'string' ? value : stringify(value)
      assert.equal(render(`${before} {{ id }}{{id}}`, { data: () => value }), `${before} ${text}${text}`)
    }),
  )
})

/** A JSON text in odd spelling, in which some strings hold expressions. */
const spelled = (value: Json, space: string): string => {
  if (typeof value === 'string')
    return stringify(value).replaceAll('{', value.length % 2 === 0 ? '\\u007B' : '{')
  if (typeof value !== 'object' || value === null) return stringify(value)
  if (Array.isArray(value)) return `[${space}${value.map(item => spelled(item, space)).join(`${space},`)}]`
  const members = Object.entries(value).map(
    ([key, item]) => `${stringify(key)}${space}:${spelled(item as Json, space)}`,
  )
  return `{${members.join(`,${space}`)}${space}}`
}

test('the strings of a JSON text that hold expressions are found, with their places, and nothing else is touched (U2.1)', () => {
  const leaf = fc.oneof(
    anyText,
    anyText.map(text => `a{{${text}`),
    fc.constant('\\{{"'),
    fc.double({ noNaN: true }),
    fc.constant(null),
  )
  const { tree } = fc.letrec<{ tree: Json }>(tie => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      leaf as fc.Arbitrary<Json>,
      fc.array(tie('tree'), { maxLength: 4 }) as fc.Arbitrary<Json>,
      fc.dictionary(fc.oneof(anyText, fc.constant('{{ key }}')), tie('tree'), {
        maxKeys: 4,
      }) as fc.Arbitrary<Json>,
    ),
  }))
  fc.assert(
    fc.property(tree, fc.constantFrom('', ' ', '\n\t '), (value, space) => {
      const text = spelled(value, space)
      const found = [...literalsWithBraces(text)].flatMap(({ decoded, ...at }) =>
        decoded === undefined ? [] : { ...at, decoded },
      )
      const expected: string[] = []
      const replaceIn = (current: Json): Json => {
        if (typeof current === 'string') {
          if (!current.includes('{{')) return current
          expected.push(current)
          return 7
        }
        if (Array.isArray(current)) return current.map(replaceIn)
        if (typeof current !== 'object' || current === null) return current
        return Object.fromEntries(
          Object.entries(current).map(([key, item]) => [key, replaceIn(item as Json)]),
        )
      }
      const replaced = replaceIn(JSON.parse(text))
      const ordered = found.map(({ decoded }) => decoded)
      assert.deepEqual(ordered.toSorted(), expected.toSorted())
      const result = withLiterals(
        text,
        found.map(({ start, end }) => ({ start, end, json: '7' })),
      )
      assert.deepEqual(JSON.parse(result), replaced)
      assert.equal(
        placesOf(
          text,
          found.map(({ start }) => start),
        ).length,
        found.length,
      )
    }),
  )
})

test('places are written as errors name them (C2.4, C2.7)', () => {
  const text =
    '{"cards":[1,"x",{"a,b":[],"number" : "{{ a }}"}],"1234567890":{"k":["{{ b }}"]}, "\\"":"{{ c }}","":"{{ d }}"}'
  const offsets = [...literalsWithBraces(text)].flatMap(({ start, decoded }) =>
    decoded === undefined ? [] : start,
  )
  assert.deepEqual(placesOf(text, offsets), ['cards[2].number', '[key 2].k[0]', '"', '[key 4]'])
  assert.deepEqual(placesOf('"{{ a }}"', [0]), ['$'])
})

test('configuration and hmac are only in the transforms of a proxy (U12.7)', () => {
  const data = (): Json => 'x'
  assert.equal(render('{{ config: key }}', { data }, 'transform'), 'secret')
  assert.equal(
    render("{{ id | hmac: 'sha-256', config: key | to_base16 }}", { data }, 'transform'),
    render("{{ id | hmac: 'sha-256', 'secret' | to_base16 }}", { data }, 'detokenize'),
  )
  assert.match(String(rendered('{{ config: none }}', { data }, 'transform')), /no such key/)
  for (const text of [
    '{{ config: key }}',
    "{{ id | hmac: 'sha-256', 'k' | to_base16 }}",
    '{{ id | append: config: key }}',
  ])
    assert.throws(() => render(text, { data }, 'proxy'), ExpressionError, text)
})

const cards = {
  '4242424242424242': ['42424242', 'visa'],
  '5105105105105100': ['51051051', 'mastercard'],
  '2223003122003222': ['22230031', 'mastercard'],
  '378282246310005': ['378282', 'american-express'],
  '30569309025904': ['305693', 'diners-club'],
  '6011111111111117': ['60111111', 'discover'],
  '3530111333300000': ['35301113', 'jcb'],
  '6240008631401148': ['62400086', 'unionpay'],
  '6759649826438453': ['67596498', 'maestro'],
  '2200000000000004': ['22000000', 'mir'],
  '9999999999999995': ['99999999', undefined],
} as const

test('brands follow from public prefixes (U6.2)', () => {
  for (const [number, [bin, brand]] of Object.entries(cards))
    assert.deepEqual(cardDetails(number), { bin, last4: number.slice(-4), ...(brand && { brand }) })
})

test('any text is read to its end, or refused at a character of it (U2.2)', () => {
  const texts = fc
    .array(
      fc.constantFrom(
        '{{',
        '}}',
        '{',
        '}',
        '|',
        "'",
        '"',
        '\\\\',
        ' ',
        'token:',
        'config:',
        'upcase',
        'id',
        '😀',
        ',',
        ':',
      ),
      { maxLength: 20 },
    )
    .map(pieces => pieces.join(''))
  fc.assert(
    fc.property(texts, fc.constantFrom<Dialect>('detokenize', 'proxy', 'transform'), (text, dialect) => {
      try {
        const parts = [...readTemplate(text, dialect)]
        assert.ok(parts.some(isExpression) === text.includes('{{'))
        const literals = parts.filter(part => !isExpression(part))
        let from = 0
        for (const literal of literals) {
          const at = text.indexOf(String(literal), from)
          assert.ok(at !== -1)
          from = at + String(literal).length
        }
      } catch (error) {
        assert.ok(error instanceof ExpressionError)
        assert.ok(error.position === undefined || error.position <= [...text].length)
      }
    }),
    { numRuns: runs },
  )
})

const million = 1_000_000
const hostile: readonly (readonly [name: string, read: () => unknown])[] = [
  ['many openings', () => rendered('{{'.repeat(million / 2), { data: () => 'x' })],
  ['one opening after many texts', () => rendered(`${'} '.repeat(million / 2)}{{`, { data: () => 'x' })],
  ['an id without end', () => rendered(`{{ ${'a'.repeat(million)}`, { data: () => 'x' })],
  ['quotes that end and begin', () => rendered(`{{ a | ${"''".repeat(million / 2)}`, { data: () => 'x' })],
  ['strings with braces', () => [...literalsWithBraces(`[${'"{{",'.repeat(million / 5)}1]`)].length],
  ['keys with braces', () => [...literalsWithBraces(`{${'"{{":1,'.repeat(million / 7)}"a":1}`)].length],
  ['escapes', () => [...literalsWithBraces(`["${'\\\\\\"'.repeat(million / 4)}{{"]`)].length],
  ['backslashes', () => [...literalsWithBraces(`["${'\\\\'.repeat(million / 2)}{{"]`)].length],
  ['pairs without values', () => [...formPartsWithExpressions('a&'.repeat(million / 2))].length],
  ['pairs with braces', () => [...formPartsWithExpressions('{{=%7B{&'.repeat(million / 8))].length],
  ['brackets', () => placesOf(`${'['.repeat(million)}"`, [million])],
  ['twins', () => hasTwinKeys(`{${'"a":1,'.repeat(million / 6)}"b":2}`, { a: 1, b: 2 })],
]

for (const [name, read] of hostile)
  test(`a million characters are read in a moment: ${name} (U2.2, C37)`, () => {
    const { user, system } = process.threadCpuUsage()
    read()
    const after = process.threadCpuUsage()
    const ms = (after.user + after.system - user - system) / 1_000
    assert.ok(ms < 1_000, `${ms} ms`)
  })
