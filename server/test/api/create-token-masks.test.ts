import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onOneEngine } from '../rig/every-engine.ts'
import { sendAndExpect } from '../rig/scenario.ts'
import { devApplications } from '../rig/test-vault.ts'

const number = '4242424242424242'

/** What a mask makes of data; `shown` is undefined if nothing is left to show. */
const masks: readonly { name: string; type?: string; data: unknown; mask: unknown; shown: unknown }[] = [
  {
    name: 'all but the last four characters are hidden (§2.1.22, §2.1.23, §2.1.24, C22.3)',
    data: 'Sensitive Value',
    mask: '{{ data | reveal_last: 4 }}',
    shown: 'XXXXXXXXXXXalue',
  },
  {
    name: 'a short value is masked entirely (C22.1, C22.5)',
    data: '1234',
    mask: '{{ data | last4 }}',
    shown: 'XXXX',
  },
  { name: 'text without output stands for itself (C20.1)', data: 'secret', mask: 'hidden', shown: 'hidden' },
  {
    name: 'text around an output makes the result text (C20.1, C20.5)',
    data: { n: 5 },
    mask: 'n is {{ data.n }}.',
    shown: 'n is 5.',
  },
  { name: 'a single output keeps a number (C20.5)', data: { n: 5 }, mask: '{{ data.n }}', shown: 5 },
  { name: 'a single output keeps a boolean (C20.5)', data: { b: false }, mask: '{{ data.b }}', shown: false },
  {
    name: 'a single output keeps an array (C20.5)',
    data: { l: [1, [2]] },
    mask: '{{ data.l }}',
    shown: [1, [2]],
  },
  {
    name: 'a mask may show the data as a whole (C20.2, §2.1.25)',
    data: { a: [1] },
    mask: '{{ data }}',
    shown: { a: [1] },
  },
  {
    name: 'a path may use an index and a key with a space (C20.2)',
    data: { 'a b': ['x', 'y'] },
    mask: '{{ data["a b"][1] }}',
    shown: 'y',
  },
  {
    name: 'a mask may be any JSON, and its strings are expressions (§4.2.5, C12.5)',
    data: { name: 'Ada Lovelace', born: 1815, tags: ['countess', 'engine'] },
    mask: {
      who: { name: '{{ data.name | reveal_last: 3 }}' },
      list: ['{{ data.tags[0] | upcase }}', 7, true],
      fixed: 1815.5,
      born: '{{ data.born }}',
    },
    shown: {
      who: { name: 'XXXXXXXXXace' },
      list: ['COUNTESS', 7, true],
      fixed: 1815.5,
      born: 1815,
    },
  },
  {
    name: 'null leaves are dropped, wherever they are (C20.6)',
    data: { a: 1, nothing: null },
    mask: {
      a: '{{ data.a }}',
      missing: '{{ data.b.c }}',
      nothing: '{{ data.nothing }}',
      written: null,
      deep: { missing: '{{ data.b }}' },
      list: ['{{ data.b }}', '{{ data.a }}', null],
    },
    shown: { a: 1, deep: {}, list: [1] },
  },
  {
    name: 'a mask that renders null shows nothing (C20.6, C5.1)',
    data: { a: 1 },
    mask: '{{ data.b }}',
    shown: undefined,
  },
  { name: 'a number is a mask too (C12.5)', data: 'secret', mask: 0, shown: 0 },
  { name: 'false is a mask too (C12.5)', data: 'secret', mask: false, shown: false },
  {
    name: 'the mask of a token replaces that of its type (C12.5)',
    type: 'card',
    data: { number, expiration_month: 3, expiration_year: 2031 },
    mask: { bin: '{{ data.number | card_bin }}', expires: "{{ data | card_exp: 'MM/YY' }}" },
    shown: { bin: '42424242', expires: '03/31' },
  },
  {
    name: 'only a card has short-lived fields: elsewhere a cvc is data like any other (C11.1)',
    type: 'token',
    data: { number: 'n', cvc: '123' },
    mask: '{{ data }}',
    shown: { number: 'n', cvc: '123' },
  },
  {
    name: 'a mask may show the first eight and the last four digits of a number that repeats itself (C13.6, C22.8)',
    type: 'card',
    data: { number },
    mask: { number: '{{ data.number | card_mask: "true","true" }}' },
    shown: { number: '42424242XXXX4242' },
  },
  {
    name: 'a mask may show both ends of a twelve-digit number (C13.6)',
    type: 'card',
    data: { number: '501234567896' },
    mask: { first: '{{ data.number | slice: 0, 4 }}', last: '{{ data.number | last4 }}' },
    shown: { first: '5012', last: '7896' },
  },
  {
    name: 'a mask may show the permitted digits with any fill characters or none (C13.6)',
    type: 'card_number',
    data: number,
    mask: [
      '{{ data | card_mask: "true","true","-" }}',
      "{{ data | reveal: 8, 4, '*' }}",
      '{{ data | slice: 0, 6 }}-{{ data | last4 }}',
      '{{ data | slice: 0, 8 }}',
    ],
    shown: ['42424242----4242', '42424242****4242', '424242-4242', '42424242'],
  },
]

/** Masks that are refused, with the place and what the message must say. */
const refused: readonly {
  name: string
  type?: string
  data?: unknown
  mask: unknown
  place: string
  says: RegExp
}[] = [
  {
    name: 'an unknown filter (C20.4)',
    mask: '{{ data | reveal_lats: 4 }}',
    place: 'mask',
    says: /^unknown filter "reveal_lats" \(did you mean reveal_last\?\), at character 11$/,
  },
  {
    name: 'an unknown variable (C20.4)',
    mask: '{{ dat }}',
    place: 'mask',
    says: /variable, at character 4$/,
  },
  {
    name: 'too few arguments (C20.4)',
    mask: '{{ data | reveal_last }}',
    place: 'mask',
    says: /^reveal_last takes 1 or 2 arguments, at character 11$/,
  },
  {
    name: 'too many arguments (C20.4)',
    mask: '{{ data | last4: 1 }}',
    place: 'mask',
    says: /at character 11/,
  },
  { name: 'an unclosed output (C20.4)', mask: 'abc {{ data', place: 'mask', says: /at character 5/ },
  { name: 'an empty output (C20.4)', mask: '{{ }}', place: 'mask', says: /at character \d/ },
  { name: 'a tag (C20.3)', mask: '{% if data %}a{% endif %}', place: 'mask', says: /at character 1/ },
  {
    name: 'metadata, which only fingerprints may use (C20.2)',
    mask: '{{ metadata.a }}',
    place: 'mask',
    says: /at character 4/,
  },
  {
    name: 'an alias, which only ids may use (C21.2)',
    mask: '{{ data | alias_preserve_length: 0, 4 }}',
    place: 'mask',
    says: /only for ids/,
  },
  {
    name: 'a fault deep inside (C20.4)',
    mask: { a: [1, '{{ x }}'] },
    place: 'mask.a[1]',
    says: /at character/,
  },
  {
    name: 'a filter that cannot handle this data (C20.4)',
    data: { an: 'object' },
    mask: '{{ data | reveal_last: 4 }}',
    place: 'mask',
    says: /reveal_last/,
  },
  ...[
    '{{ data.cvc }}',
    "{{ data | concat: data | json: '$[0].cvc' }}",
    "{{ data | compact | map: 'cvc' }}",
  ].map(mask => ({
    name: `a short-lived field, as ${mask} (C11.6)`,
    type: 'card',
    data: { number, cvc: '123' },
    mask,
    place: 'mask',
    says: /short-lived/,
  })),
  {
    name: 'the number of a card (C13.6)',
    type: 'card',
    data: { number },
    mask: { n: '{{ data.number }}' },
    place: 'mask',
    says: /^must not show more of a card number than its first 8 and last 4 digits, nor more than 8 of its digits in a row$/,
  },
  {
    name: 'nine digits of a bare card number (C13.6)',
    type: 'card_number',
    data: number,
    mask: 'no {{ data | slice: 0, 9 }}',
    place: 'mask',
    says: /^must not show more of a card number than its first 8 and last 4 digits, nor more than 8 of its digits in a row$/,
  },
  ...[
    { name: 'nine digits in a row', text: '{{ data.number | slice: 0, 9 }}' },
    { name: 'a digit between the first eight and the last four', text: '{{ data.number | slice: 9, 1 }}' },
    {
      name: 'a value that depends on such a digit',
      text: '{{ data.number | slice: 8, 4 | to_number | modulo: 2 }}',
    },
    {
      name: 'the number in groups',
      text: '{{ data.number | slice: 0, 4 }} {{ data.number | slice: 4, 12 }}',
    },
    {
      name: 'the first six and last four digits side by side, where together they are a run of the number',
      text: '{{ data.number | slice: 0, 6 }}{{ data.number | last4 }}',
    },
    { name: 'the number, written out', text: '4242-4242-4242-4242' },
    {
      name: 'the number, partly written out',
      text: '{{ data.number | slice: 0, 8 }}4242{{ data.number | last4 }}',
    },
  ].map(({ name, text }) => ({
    name: `${name} (C13.6)`,
    type: 'card',
    data: { number },
    mask: { text },
    place: 'mask',
    says: /^must not show more of a card number than its first 8 and last 4 digits, nor more than 8 of its digits in a row$/,
  })),
  ...[
    '{{ data.number | slice: 0, 6 }}-{{ data.number | slice: 6, 6 }}',
    '{{ data.number | slice: 0, 6 }}x{{ data.number | slice: 6, 6 }}',
    "{{ data.number | split: '' }}",
    { first: '{{ data.number | slice: 0, 8 }}', last: '{{ data.number | last4 }}' },
  ].map(mask => ({
    name: `a whole twelve-digit number, as ${JSON.stringify(mask)} (C13.6)`,
    type: 'card',
    data: { number: '501234567896' },
    mask,
    place: 'mask',
    says: /^must not show more of a card number than its first 8 and last 4 digits, nor more than 8 of its digits in a row$/,
  })),
  {
    name: 'the number as a key (C13.6)',
    type: 'card',
    data: { number },
    mask: { [number]: 'x' },
    place: 'mask',
    says: /^must not show more of a card number than its first 8 and last 4 digits, nor more than 8 of its digits in a row$/,
  },
  {
    name: 'a leaf that cannot be rendered (C20.4)',
    data: 'abc',
    mask: { a: '{{ data }}', b: ['{{ data }}', '{{ data | plus: 1 }}'] },
    place: 'mask.b[1]',
    says: /at character 11/,
  },
  {
    name: 'an expression of 401 characters (C8.9)',
    mask: ['{{ data }}'.padEnd(401)],
    place: 'mask[0]',
    says: /^must have at most 400 characters$/,
  },
  { name: 'more than 16 KiB (C8.10)', mask: maskOfBytes(16_385), place: 'mask', says: /16384/ },
  {
    name: 'more than 16 KiB in fewer characters (C8.10)',
    mask: Array(14).fill('é'.repeat(390).padEnd(395)).concat(maskOfBytes(16_384).slice(0, 14)),
    place: 'mask',
    says: /16384/,
  },
]

function maskOfBytes(bytes: number): string[] {
  const lines = Array<string>(41).fill('x'.repeat(390))
  const rest = bytes - JSON.stringify([...lines, '']).length
  return [...lines, 'x'.repeat(rest)]
}

onOneEngine('masks', 'expressions are rendered above storage', vault => {
  for (const { name, type = 'token', data, mask, shown } of masks)
    test(`${name}: ${JSON.stringify(mask).slice(0, 60)}`, async () => {
      const { keys } = await vault().tenant({
        ...devApplications,
        masked: { permissions: ['token:read'] },
      })
      const created = await sendAndExpect(
        vault(),
        { key: keys.general, counter: keys.private },
        { method: 'POST', path: '/tokens', body: { type, data, mask } },
        {
          status: 201,
          stored: 1,
          body: { mask, ...(shown !== undefined && { data: shown }) },
          lacks: shown === undefined ? ['data'] : [],
        },
      )
      const read = await vault().get(`/tokens/${created.body.id}`, keys.masked)
      assert.deepEqual(read.body.data, shown)
      assert.deepEqual(read.body.mask, mask)
    })

  for (const { name, type = 'token', data = 'Sensitive Value', mask, place, says } of refused)
    test(`${name}: refused in a mask`, async () => {
      const { keys } = await vault().tenant(devApplications)
      const reply = await sendAndExpect(
        vault(),
        { key: keys.general, counter: keys.private },
        { method: 'POST', path: '/tokens', body: { type, data, mask } },
        { status: 400, errors: [place] },
      )
      assert.match(reply.body.errors[place].join(), says)
    })

  test('an expression of 400 characters and a mask of 16 KiB are still accepted (C8.9, C8.10)', async () => {
    const { keys } = await vault().tenant(devApplications)
    for (const mask of [['{{ data }}'.padEnd(400)], ['{{data}}'.padEnd(400, '😀')], maskOfBytes(16_384)]) {
      const reply = await vault().post('/tokens', keys.general, { type: 'token', data: 1, mask })
      assert.equal(reply.status, 201, reply.text)
    }
  })

  test('a mask of the whole data of a card is refused, and no mask sees the cvc (C11.7, §2.1.17)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const data = { number, cvc: '9876' }
    const whole = await vault().post('/tokens', keys.general, { type: 'card', data, mask: '{{ data }}' })
    assert.equal(whole.status, 400)
    const size = await vault().create(keys.general, { type: 'card', data, mask: '{{ data | size }}' })
    const without = await vault().create(keys.general, {
      type: 'card',
      data: { number },
      mask: '{{ data | size }}',
    })
    assert.deepEqual(size.data, without.data)
  })
})
