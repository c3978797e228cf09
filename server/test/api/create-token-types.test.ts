import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onOneEngine } from '../rig/every-engine.ts'
import { sendAndExpect } from '../rig/scenario.ts'
import { devApplications } from '../rig/test-vault.ts'

/** A value that the type accepts, and how answers show it. */
type Accepted = {
  readonly name: string
  readonly type: string
  readonly data: unknown
  /** What a caller with reveal reads, if it differs from what was sent. */
  readonly read?: unknown
  /** The type's own mask, evaluated; undefined for a type that has none. */
  readonly masked?: unknown
}

const number = '4242424242424242'
const bank = { routing_number: '021000021', account_number: '00123456789' }

const accepted: readonly Accepted[] = [
  { name: 'text (§1.5, C9.1)', type: 'token', data: 'Sensitive Value' },
  { name: 'an empty text (§1.5, C9.1)', type: 'token', data: '' },
  { name: 'an integer (§1.5, C9.1)', type: 'token', data: 42 },
  { name: 'zero (§1.5, C9.1)', type: 'token', data: 0 },
  { name: 'a fraction (§1.5, C9.1)', type: 'token', data: -8.99 },
  { name: 'true (§1.5, C9.1)', type: 'token', data: true },
  { name: 'false (§1.5, C9.1)', type: 'token', data: false },
  { name: 'an array (§1.5, C9.1)', type: 'token', data: [1, 'two', [3], {}] },
  { name: 'an empty array (§1.5, C9.1)', type: 'token', data: [] },
  { name: 'an empty object (§1.5, C9.1)', type: 'token', data: {} },
  {
    name: 'an object with nulls inside, which are data (§1.5, C9.1, C5.2)',
    type: 'token',
    data: { a: null, b: [null, { c: null }] },
  },
  {
    name: 'a card (§2.2.3, §2.1.17, §2.1.18, §2.1.19, C9.2)',
    type: 'card',
    data: { number, expiration_month: 1, expiration_year: 2030, cvc: '007' },
    masked: { number: 'XXXXXXXXXXXX4242', expiration_month: 1, expiration_year: 2030 },
  },
  {
    name: 'a card with only a number, whose mask has no date (§2.2.4, §2.2.5, §2.2.6, C20.6)',
    type: 'card',
    data: { number },
    masked: { number: 'XXXXXXXXXXXX4242' },
  },
  {
    name: 'a month and year as strings, which become integers (C10.2)',
    type: 'card',
    data: { number, expiration_month: '09', expiration_year: '2031' },
    read: { number, expiration_month: 9, expiration_year: 2031 },
    masked: { number: 'XXXXXXXXXXXX4242', expiration_month: 9, expiration_year: 2031 },
  },
  {
    name: 'an expired card (C10.3)',
    type: 'card',
    data: { number, expiration_month: 12, expiration_year: 1999 },
    masked: { number: 'XXXXXXXXXXXX4242', expiration_month: 12, expiration_year: 1999 },
  },
  {
    name: 'a card number of twelve digits (C10.1)',
    type: 'card',
    data: { number: '500000000009' },
    masked: { number: 'XXXXXXXX0009' },
  },
  {
    name: 'a card number of nineteen digits (C10.1)',
    type: 'card',
    data: { number: '6000000000000000004' },
    masked: { number: 'XXXXXXXXXXXXXXX0004' },
  },
  {
    name: 'a cvc of four digits (§2.2.6)',
    type: 'card',
    data: { number: '378282246310005', cvc: '0004' },
    masked: { number: 'XXXXXXXXXXX0005' },
  },
  {
    name: 'a bank account, leading zeros kept (§2.2.1, §2.2.2, C9.3, C10.5)',
    type: 'bank',
    data: bank,
    masked: { routing_number: '021000021', account_number: 'XXXXXXX6789' },
  },
  {
    name: 'an account number of one digit, masked entirely (§2.2.2, §8.2, C10.5)',
    type: 'bank',
    data: { ...bank, account_number: '7' },
    masked: { routing_number: '021000021', account_number: 'X' },
  },
  {
    name: 'an account number of seventeen digits (§2.2.2, §8.2)',
    type: 'bank',
    data: { ...bank, account_number: '12345678901234567' },
    masked: { routing_number: '021000021', account_number: 'XXXXXXXXXXXXX4567' },
  },
  { name: 'thirteen digits (C9.4)', type: 'card_number', data: '4000000000006', masked: 'XXXXXXXXX0006' },
  { name: 'sixteen digits (C9.4)', type: 'card_number', data: number, masked: 'XXXXXXXXXXXX4242' },
  {
    name: 'nineteen digits (C9.4)',
    type: 'card_number',
    data: '6000000000000000004',
    masked: 'XXXXXXXXXXXXXXX0004',
  },
  { name: 'three digits (C9.5, C22.1)', type: 'us_bank_account_number', data: '007', masked: 'XXX' },
  {
    name: 'seventeen digits (C9.5)',
    type: 'us_bank_account_number',
    data: '00000000000000007',
    masked: 'XXXXXXXXXXXXX0007',
  },
  { name: 'nine digits (C9.6)', type: 'us_bank_routing_number', data: '021000021', masked: 'XXXXX0021' },
  {
    name: 'digits with dashes (C9.7)',
    type: 'social_security_number',
    data: '078-05-1120',
    masked: 'XXX-XX-1120',
  },
  {
    name: 'digits without dashes (C9.7)',
    type: 'social_security_number',
    data: '078051120',
    masked: 'XXXXX1120',
  },
  { name: 'digits with a dash (C9.7)', type: 'employer_id_number', data: '12-3456789', masked: 'XX-XXX6789' },
]

const defaults: Readonly<Record<string, { container: string; fingerprint: string; indexes?: string[] }>> = {
  token: { container: '/general/high/', fingerprint: '{{ data | stringify }}' },
  card: { container: '/pci/high/', fingerprint: '{{ data.number }}' },
  bank: { container: '/bank/high/', fingerprint: '{{ data | stringify }}' },
  card_number: { container: '/pci/high/', fingerprint: '{{ data | stringify }}' },
  us_bank_account_number: { container: '/bank/high/', fingerprint: '{{ data | stringify }}' },
  us_bank_routing_number: { container: '/bank/low/', fingerprint: '{{ data | stringify }}' },
  social_security_number: {
    container: '/pii/high/',
    fingerprint: "{{ data | remove: '-' }}",
    indexes: ['{{ data }}', "{{ data | remove: '-' }}", '{{ data | last4 }}'],
  },
  employer_id_number: {
    container: '/pii/high/',
    fingerprint: "{{ data | remove: '-' }}",
    indexes: ['{{ data }}', "{{ data | remove: '-' }}", '{{ data | last4 }}'],
  },
}

/** Values that the type does not accept, by the place that the answer names. */
const refused: readonly { name: string; type: string; place: string; values: readonly unknown[] }[] = [
  {
    name: 'an invalid card number (§2.2.3, C10.1)',
    type: 'card',
    place: 'data.number',
    values: [
      { number: '4242424242424241' },
      { number: '4242 4242 4242 4242' },
      { number: '4242-4242-4242-4242' },
      { number: '50000000000' },
      { number: '60000000000000000004' },
      { number: '４２４２４２４２４２４２４２４２' },
      { number: ` ${number}` },
      { number: `${number}\n` },
      { number: 4242424242424242 },
      { number: '' },
      { number: null },
      { number: [number] },
      { expiration_month: 1 },
      {},
    ],
  },
  {
    name: 'an invalid month (§2.2.4, C10.2)',
    type: 'card',
    place: 'data.expiration_month',
    values: [0, 13, -1, 1.5, '0', '00', '13', '001', 'May', '', null, true, [1]].map(expiration_month => ({
      number,
      expiration_month,
    })),
  },
  {
    name: 'an invalid year (§2.2.5, C10.2)',
    type: 'card',
    place: 'data.expiration_year',
    values: [26, 999, 10_000, '26', '02030', '203O', 2030.5, null, false, {}].map(expiration_year => ({
      number,
      expiration_year,
    })),
  },
  {
    name: 'an invalid cvc (§2.2.6, §8.4, C10.4)',
    type: 'card',
    place: 'data.cvc',
    values: [123, '12', '12345', '12a', '١٢٣', ' 123', '', null, ['123']].map(cvc => ({ number, cvc })),
  },
  {
    name: 'a misspelt cvc (C10.7)',
    type: 'card',
    place: 'data.cvv',
    values: [{ number, cvv: '73737' }],
  },
  {
    name: 'an unknown property (C10.7)',
    type: 'bank',
    place: 'data.iban',
    values: [{ ...bank, iban: 'DE8937040044' }],
  },
  {
    name: 'data that is not an object (C9.2, C9.3)',
    type: 'card',
    place: 'data',
    values: [number, 4242424242424242, [number], true, 'text', []],
  },
  {
    name: 'an invalid routing number (§2.2.1, §7.4, §8.3, C10.6)',
    type: 'bank',
    place: 'data.routing_number',
    values: ['021000022', '02100002', '0210000210', '02100002x', 21000021, null, '', '021-000-021'].map(
      routing_number => ({ ...bank, routing_number }),
    ),
  },
  {
    name: 'a bank account without a routing number (§2.2.1)',
    type: 'bank',
    place: 'data.routing_number',
    values: [{ account_number: '1234567' }],
  },
  {
    name: 'an invalid account number (§2.2.2, §8.2, C10.5)',
    type: 'bank',
    place: 'data.account_number',
    values: ['', '123456789012345678', '12 34', '12-34', '1234x', 1234567, null].map(account_number => ({
      ...bank,
      account_number,
    })),
  },
  {
    name: 'a bank account without an account number (§2.2.2)',
    type: 'bank',
    place: 'data.account_number',
    values: [{ routing_number: '021000021' }],
  },
  {
    name: 'an invalid bare card number (C9.4)',
    type: 'card_number',
    place: 'data',
    values: ['500000000009', '4242424242424241', '60000000000000000004', 4242424242424242, { number }, ''],
  },
  {
    name: 'an invalid bare account number (C9.5)',
    type: 'us_bank_account_number',
    place: 'data',
    values: ['12', '123456789012345678', '12a45', 12345, {}],
  },
  {
    name: 'an invalid bare routing number (C9.6)',
    type: 'us_bank_routing_number',
    place: 'data',
    values: ['021000022', '02100002', '0210000210', 21000021],
  },
  {
    name: 'an invalid social security number (C9.7)',
    type: 'social_security_number',
    place: 'data',
    values: ['07805112', '0780511200', '078--05-1120', '-078051120', '078051120-', '078 05 1120', 78051120],
  },
  {
    name: 'an invalid employer id (C9.7)',
    type: 'employer_id_number',
    place: 'data',
    values: ['12-345678', '12-34567890', '12.3456789', 123456789, true],
  },
]

onOneEngine('token types', 'types are checked above storage', vault => {
  for (const { name, type, data, read = data, masked } of accepted)
    test(`${name}: stored as ${type}, with the mask and container of its type (C9.8)`, async () => {
      const { keys } = await vault().tenant(devApplications)
      const { container, fingerprint, indexes } = defaults[type] ?? assert.fail()
      const created = await sendAndExpect(
        vault(),
        { key: keys.general, counter: keys.private },
        { method: 'POST', path: '/tokens', body: { type, data } },
        {
          status: 201,
          stored: 1,
          body: {
            type,
            containers: [container],
            fingerprint_expression: fingerprint,
            ...(masked !== undefined && { data: masked, mask: masked }),
            ...(indexes && { search_indexes: indexes }),
          },
          lacks: [...(masked === undefined ? ['data', 'mask'] : []), ...(indexes ? [] : ['search_indexes'])],
        },
      )
      const { body } = await vault().get(`/tokens/${created.body.id}`, keys.private)
      assert.deepEqual(body.data, read)
      assert.deepEqual(body.mask, masked)
    })

  for (const { name, type, place, values } of refused)
    test(`${name}: refused at its place, with nothing stored or repeated (C2.3)`, async () => {
      const { keys } = await vault().tenant(devApplications)
      for (const data of values)
        await sendAndExpect(
          vault(),
          { key: keys.general, counter: keys.private },
          { method: 'POST', path: '/tokens', body: { type, data } },
          { status: 400, body: { title: 'One or more validation errors occurred.' }, errors: [place] },
        )
    })

  test('the refusal of a misspelt property suggests the right name (C10.7, C6.2)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const reply = await vault().post('/tokens', keys.general, { type: 'card', data: { number, cvv: '123' } })
    assert.match(reply.body.errors['data.cvv'][0], /did you mean cvc\?/)
  })
})
