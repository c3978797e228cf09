import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import type { Issue } from '../../../src/domain/errors.ts'
import { exactNumber, type Json, stringify } from '../../../src/domain/json/json.ts'
import { limits } from '../../../src/domain/limits.ts'
import { passesAba, passesLuhn } from '../../../src/domain/text/digits.ts'
import { tokenType, tokenTypes } from '../../../src/domain/tokens/types/registry.ts'
import type { TokenType } from '../../../src/domain/tokens/types/token-type.ts'
import { fc } from '../../rig/properties.ts'

const known = (name: string): TokenType => {
  const type = tokenType(name)
  assert.ok(type !== undefined)
  return type
}

const ajv = new Ajv({ strict: false })
const schemas = new Map([...tokenTypes].map(([name, { schema }]) => [name, ajv.compile(schema)]))

/** C36: the documentation refuses nothing that is accepted; each value of these tests is checked against it. */
const parse = (type: string, data: Json): { data: Json | undefined; issues: Issue[] } => {
  const issues: Issue[] = []
  const parsed = known(type).parse(data, 'data', issues)
  if (issues.length === 0) assert.ok(schemas.get(type)?.(data), `${type}: ${ajv.errorsText()}`)
  return { data: parsed, issues }
}

const number = '4242424242424242'
const routing = '021000021'

const whole = '{{ data | stringify }}'
const last4 = '{{ data | reveal_last: 4 }}'
const nineDigits = {
  container: '/pii/high/',
  fingerprint: "{{ data | remove: '-' }}",
  mask: "{{ data | reveal: 0, 4, 'X', '-' }}",
  searchIndexes: ['{{ data }}', "{{ data | remove: '-' }}", '{{ data | last4 }}'],
}
const table: Record<string, Partial<TokenType>> = {
  token: { container: '/general/high/', fingerprint: whole },
  card: {
    container: '/pci/high/',
    fingerprint: '{{ data.number }}',
    mask: {
      number: '{{ data.number | reveal_last: 4 }}',
      expiration_month: '{{ data.expiration_month }}',
      expiration_year: '{{ data.expiration_year }}',
    },
  },
  bank: {
    container: '/bank/high/',
    fingerprint: whole,
    mask: {
      routing_number: '{{ data.routing_number }}',
      account_number: '{{ data.account_number | reveal_last: 4 }}',
    },
  },
  card_number: { container: '/pci/high/', fingerprint: whole, mask: last4 },
  us_bank_account_number: { container: '/bank/high/', fingerprint: whole, mask: last4 },
  us_bank_routing_number: { container: '/bank/low/', fingerprint: whole, mask: last4 },
  social_security_number: nineDigits,
  employer_id_number: nineDigits,
}

test('the registry holds the types of the table, with their defaults (C9)', () => {
  assert.deepEqual([...tokenTypes.keys()], Object.keys(table))
  for (const [name, expected] of Object.entries(table)) {
    const { container, fingerprint, mask, searchIndexes } = known(name)
    assert.deepEqual(
      { container, fingerprint, mask, searchIndexes },
      { mask: undefined, searchIndexes: undefined, ...expected },
      name,
    )
  }
})

test('the documented examples are accepted, and the documented schemas refuse malformed data, checksums aside (C36.3, C9)', () => {
  for (const [name, { example }] of tokenTypes) assert.deepEqual(parse(name, example).issues, [], name)
  const refused: [type: string, data: Json][] = [
    ['card', {}],
    ['card', { number: '4242 4242 4242 4242' }],
    ['card', { number, cvv: '123' }],
    ['card', { number, cvc: 123 }],
    ['card', { number, expiration_month: 13 }],
    ['card', { number, expiration_year: '26' }],
    ['bank', { routing_number: routing }],
    ['bank', { routing_number: routing, account_number: '1'.repeat(18) }],
    ['card_number', 4242424242424242],
    ['us_bank_account_number', '12'],
    ['us_bank_routing_number', '02100002'],
    ['social_security_number', '123--45-6789'],
    ['employer_id_number', '12-34567890'],
  ]
  for (const [type, data] of refused) {
    assert.notDeepEqual(parse(type, data).issues, [], type)
    assert.equal(schemas.get(type)?.(data), false, `${type} ${JSON.stringify(data)}`)
  }
})

test('there is no other type (C9)', () => {
  for (const name of ['', 'Card', 'card ', 'constructor', '__proto__'])
    assert.equal(tokenType(name), undefined)
})

test('the cvc of a card is the only transient field (C11)', () => {
  for (const [name, type] of tokenTypes)
    assert.deepEqual(type.transient, name === 'card' ? { cvc: { lifetimeMs: limits.cvcLifetimeMs } } : {})
})

const accepted: { rule: string; type: string; data: Json; stored?: Json }[] = [
  ...[0, '', false, 'x', [], {}, [null], { a: null }, exactNumber('1e400')].map(data => ({
    rule: 'any JSON but null (§1)',
    type: 'token',
    data: data as Json,
  })),
  { rule: 'a number alone (§2.2)', type: 'card', data: { number } },
  {
    rule: 'every field (§2.2)',
    type: 'card',
    data: { number, expiration_month: 1, expiration_year: 2030, cvc: '012' },
  },
  {
    rule: 'month and year as digit strings become integers (C10)',
    type: 'card',
    data: { number, expiration_month: '09', expiration_year: '2030' },
    stored: { number, expiration_month: 9, expiration_year: 2030 },
  },
  {
    rule: 'a month of one digit, a year in the past (C10)',
    type: 'card',
    data: { number, expiration_month: '9', expiration_year: 1999 },
    stored: { number, expiration_month: 9, expiration_year: 1999 },
  },
  {
    rule: 'values at the bounds (C10)',
    type: 'card',
    data: { number, expiration_month: 12, expiration_year: 1000 },
  },
  { rule: 'values at the bounds (C10)', type: 'card', data: { number, expiration_year: 9999, cvc: '0000' } },
  { rule: '12 digits (C10)', type: 'card', data: { number: '424242424242' } },
  { rule: '15 digits (C10)', type: 'card', data: { number: '378282246310005' } },
  { rule: '19 digits (C10)', type: 'card', data: { number: '6304000000000000000' } },
  { rule: 'both fields (§2.2)', type: 'bank', data: { routing_number: routing, account_number: '00012345' } },
  { rule: 'one digit (C10)', type: 'bank', data: { routing_number: routing, account_number: '0' } },
  {
    rule: '17 digits (§8)',
    type: 'bank',
    data: { routing_number: routing, account_number: '12345678901234567' },
  },
  { rule: '13 digits (C9)', type: 'card_number', data: '4222222222222' },
  { rule: '19 digits (C9)', type: 'card_number', data: '6304000000000000000' },
  { rule: '3 digits (C9)', type: 'us_bank_account_number', data: '001' },
  { rule: '17 digits (C9)', type: 'us_bank_account_number', data: '12345678901234567' },
  { rule: 'nine digits (C9)', type: 'us_bank_routing_number', data: routing },
  { rule: 'dashes are kept (C9)', type: 'social_security_number', data: '123-45-6789' },
  { rule: 'without dashes (C9)', type: 'social_security_number', data: '123456789' },
  { rule: 'a dash is kept (C9)', type: 'employer_id_number', data: '12-3456789' },
  { rule: 'without dashes (C9)', type: 'employer_id_number', data: '123456789' },
]

for (const { rule, type, data, stored } of accepted)
  test(`${rule}: ${type} ${stringify(data)}`, () => {
    assert.deepEqual(parse(type, data), { data: stored ?? data, issues: [] })
  })

const digits = (min: number, max: number) => `must be a string of ${min} to ${max} digits`
const separators = 'digits without separators'
const checkDigit = 'has a wrong check digit'
const checksum = 'has a wrong ABA checksum'
const nine = 'must be a string of nine digits'
const nineWithDashes = 'must be a string of nine digits, with or without dashes'
const cvcRule = 'must be a string of three or four digits'
const month = 'must be a month from 1 to 12'
const year = 'must be a year of four digits'
const cardObject = 'must be an object with number, expiration_month, expiration_year, cvc'
const stranger = 'is not a property of this type'

/** `issues` as "place: message"; each row lists everything that is wrong with its data. */
const refused: { rule: string; type: string; data: Json[]; issues: string[] }[] = [
  { rule: 'C5', type: 'token', data: [null], issues: ['data: must not be null'] },
  {
    rule: '§2.2',
    type: 'card',
    data: [null, number, 4242, true, [number], exactNumber('1e400')],
    issues: [`data: ${cardObject}`],
  },
  { rule: '§2.2', type: 'card', data: [{}, { cvc: '123' }], issues: ['data.number: is required'] },
  {
    rule: 'the number is a string of digits (C10)',
    type: 'card',
    data: [
      ...[null, 4242424242424242, exactNumber('42424242424242424242'), true, '', [number]],
      ...[
        '4242 4242 4242 4242',
        '4242-4242-4242-4242',
        ` ${number}`,
        `${number}\n`,
        '４２４２４２４２４２４２４２４２',
      ],
      ...['42424242426', '42424242424242424242', '4'.repeat(100_000)],
    ].map(sent => ({ number: sent })),
    issues: [`data.number: must be a string of 12 to 19 ${separators}`],
  },
  {
    rule: 'Luhn (C10)',
    type: 'card',
    data: [{ number: '4242424242424241' }, { number: '378282246310006' }],
    issues: [`data.number: ${checkDigit}`],
  },
  {
    rule: 'the month (C10)',
    type: 'card',
    data: [
      0,
      13,
      -1,
      1.5,
      '0',
      '00',
      '13',
      '012',
      '',
      ' 1',
      '1.0',
      '1e0',
      null,
      true,
      exactNumber('1e400'),
    ].map(sent => ({
      number,
      expiration_month: sent,
    })),
    issues: [`data.expiration_month: ${month}`],
  },
  {
    rule: 'the year (C10)',
    type: 'card',
    data: [999, 10_000, 30, '30', '0999', '02030', '20x0', 2030.5, null, [2030], ''].map(sent => ({
      number,
      expiration_year: sent,
    })),
    issues: [`data.expiration_year: ${year}`],
  },
  {
    rule: 'the cvc is a string (C10)',
    type: 'card',
    data: [123, '12', '12345', '', '12a', ' 123', '１２３', null, ['123']].map(sent => ({
      number,
      cvc: sent,
    })),
    issues: [`data.cvc: ${cvcRule}`],
  },
  {
    rule: 'a misspelt field is not kept (C10)',
    type: 'card',
    data: [{ number, cvv: '987' }],
    issues: [`data.cvv: ${stranger} (did you mean cvc?)`],
  },
  {
    rule: 'unknown fields are named, by position (C2) if they look like a number (C10)',
    type: 'card',
    data: [
      JSON.parse(
        `{"number":"${number}","holder":"Ann","n${number}":1,"":2,"__proto__":3,"constructor":4}`,
      ) as Json,
    ],
    issues: [
      `data.holder: ${stranger}`,
      `data[key 3]: ${stranger}`,
      `data[key 4]: ${stranger}`,
      `data.__proto__: ${stranger}`,
      `data.constructor: ${stranger}`,
    ],
  },
  {
    rule: 'all errors are reported at once (C2)',
    type: 'card',
    data: [{ Number: number, expiration_month: 99, cvc: 98765 }],
    issues: [
      `data.Number: ${stranger} (did you mean number?)`,
      'data.number: is required',
      `data.expiration_month: ${month}`,
      `data.cvc: ${cvcRule}`,
    ],
  },
  {
    rule: 'both are required (§2.2)',
    type: 'bank',
    data: [{}],
    issues: ['data.routing_number: is required', 'data.account_number: is required'],
  },
  {
    rule: '§2.2',
    type: 'bank',
    data: [null, routing, []],
    issues: ['data: must be an object with routing_number, account_number'],
  },
  {
    rule: 'the routing number has nine digits (§7)',
    type: 'bank',
    data: ['02100002', '0210000210', 21000021, null, '02100002x', '021-000-021', '０２１０００021'].map(
      sent => ({
        routing_number: sent,
        account_number: '1',
      }),
    ),
    issues: [`data.routing_number: ${nine}`],
  },
  {
    rule: 'the routing number has a checksum (§7)',
    type: 'bank',
    data: ['021000022', '120000021', '021000012'].map(sent => ({
      routing_number: sent,
      account_number: '1',
    })),
    issues: [`data.routing_number: ${checksum}`],
  },
  {
    rule: 'the account number (§8)',
    type: 'bank',
    data: ['', '123456789012345678', '12 34', 'x', 12345, null, exactNumber('12345678901234567')].map(
      sent => ({
        routing_number: routing,
        account_number: sent,
      }),
    ),
    issues: [`data.account_number: ${digits(1, 17)}`],
  },
  {
    rule: 'unknown fields (C10)',
    type: 'bank',
    data: [{ routing_number: routing, account_number: '1', acount_number: '555666777' }],
    issues: [`data.acount_number: ${stranger} (did you mean account_number?)`],
  },
  {
    rule: 'C9',
    type: 'card_number',
    data: ['424242424242', '42424242424242424242', 4242424242424242, '4242 4242 4242 4242', null, { number }],
    issues: [`data: must be a string of 13 to 19 ${separators}`],
  },
  { rule: 'Luhn (C9)', type: 'card_number', data: ['4242424242424243'], issues: [`data: ${checkDigit}`] },
  {
    rule: 'C9',
    type: 'us_bank_account_number',
    data: ['12', '123456789012345678', 12345, '12-345', null],
    issues: [`data: ${digits(3, 17)}`],
  },
  {
    rule: 'C9',
    type: 'us_bank_routing_number',
    data: ['02100002', 21000021, null],
    issues: [`data: ${nine}`],
  },
  { rule: 'ABA (C9)', type: 'us_bank_routing_number', data: ['021000020'], issues: [`data: ${checksum}`] },
  ...['social_security_number', 'employer_id_number'].map(type => ({
    rule: 'nine digits (C9)',
    type,
    data: [
      '12345678',
      '1234567890',
      '-123456789',
      '123456789-',
      '123--456789',
      '123 45 6789',
      123456789,
      null,
      '123-45-678é',
    ],
    issues: [`data: ${nineWithDashes}`],
  })),
]

/** Every string and number inside a value, except keys. Short ones occur in the rules by chance. */
const leaves = (value: Json): string[] => {
  if (typeof value === 'string' || typeof value === 'number')
    return [String(value)].filter(text => text.length > 2)
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : []
}

for (const { rule, type, data, issues } of refused)
  for (const sent of data)
    test(`${rule}: ${type} refuses ${stringify(sent).slice(0, 90)} and repeats none of it`, () => {
      const found = parse(type, sent)
      assert.deepEqual(
        found.issues.map(({ path, message }) => `${path}: ${message}`),
        issues,
      )
      assert.equal(found.data, undefined)
      for (const leaf of leaves(sent)) assert.ok(!found.issues.some(issue => issue.message.includes(leaf)))
    })

test('thousands of unknown fields are refused without naming each (C2)', () => {
  const data = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`numbe${index}`, index]))
  const found = parse('card', { number, ...data })
  assert.equal(found.data, undefined)
  assert.equal(found.issues.length, limits.errorsPerAnswer)
})

test('an error in a card inside an array names the place in the array (C2)', () => {
  const issues: Issue[] = []
  known('card').parse({ number: '1' }, '[2].data', issues)
  assert.deepEqual(
    issues.map(issue => issue.path),
    ['[2].data.number'],
  )
})

test('every type but token gives its number as bare digits (C16)', () => {
  const numbers = (type: string, data: Json) => known(type).numbers(data)
  assert.deepEqual(numbers('card', { number, cvc: '123', expiration_month: 1 }), [number])
  assert.deepEqual(numbers('card_number', number), [number])
  assert.deepEqual(numbers('bank', { routing_number: routing, account_number: '0099' }), ['0099'])
  assert.deepEqual(numbers('us_bank_account_number', '0099'), ['0099'])
  assert.deepEqual(numbers('us_bank_routing_number', routing), [routing])
  assert.deepEqual(numbers('social_security_number', '123-45-6789'), ['123456789'])
  assert.deepEqual(numbers('employer_id_number', '123-456789'), ['123456789'])
  assert.deepEqual(numbers('token', number), [])
})

test('no type gives an empty number, which every id would contain (C16)', () => {
  for (const type of tokenTypes.values())
    for (const data of [null, {}, 1, [], { number: 1 }, { account_number: null }] as Json[])
      assert.deepEqual(type.numbers(data), [])
})

test('only card types have a card number, which can be read and replaced (C13)', () => {
  const having = [...tokenTypes.values()].filter(type => type.cardNumber !== undefined).map(type => type.name)
  assert.deepEqual(having, ['card', 'card_number'])
  for (const [name, data] of [
    ['card', { number, expiration_month: 1 }],
    ['card_number', number],
  ] as const) {
    const card = known(name).cardNumber!
    const other = '5555555555554444'
    assert.equal(card.read(data), number)
    assert.equal(card.read(card.replace(data, other)), other)
    assert.equal(card.read(data), number, 'the data itself stays')
    assert.equal(stringify(card.replace(data, other)), stringify(data).replace(number, other))
    assert.deepEqual(parse(name, card.example(other)), { data: card.example(other), issues: [] })
    assert.equal(card.read(card.example(other)), other)
  }
})

const digitString = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{${length}}$`))

for (const { name, length, passes } of [
  { name: 'Luhn (C10.1)', length: 16, passes: passesLuhn },
  { name: 'ABA (C10.6)', length: 9, passes: passesAba },
])
  test(`${name}: one wrong digit is detected, and exactly one last digit in ten is right`, () => {
    const shift = fc.integer({ min: 1, max: 9 })
    fc.assert(
      fc.property(digitString(length - 1), fc.nat(length - 1), shift, (prefix, at, shift) => {
        const right = [...'0123456789'].filter(last => passes(prefix + last))
        assert.equal(right.length, 1)
        const valid = prefix + right[0]
        const wrong = valid.slice(0, at) + ((Number(valid[at]) + shift) % 10) + valid.slice(at + 1)
        assert.equal(passes(wrong), false)
      }),
    )
  })

test('well-known card and routing numbers pass their checksums (C10)', () => {
  for (const card of [
    '4111111111111111',
    '5555555555554444',
    '378282246310005',
    '6011111111111117',
    '30569309025904',
  ])
    assert.equal(passesLuhn(card), true)
  // One of them has no 0, so that every weight counts.
  for (const bank of ['021000021', '011401533', '091000019', '122105155', '322271627', '314074269'])
    assert.equal(passesAba(bank), true)
})
