import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryEngine } from '../rig/every-engine.ts'
import { exchange } from '../rig/scenario.ts'
import { owner } from '../rig/test-vault.ts'

type Body = Readonly<Record<string, unknown>>

const number = '4242424242424242'
const card = { type: 'card', data: { number, expiration_month: 1, expiration_year: 2030, cvc: '123' } }
const bank = { type: 'bank', data: { routing_number: '021000021', account_number: '123456789' } }
const ssn = { type: 'social_security_number', data: '078-05-1120' }
const token = (data: unknown, more: Body = {}): Body => ({ type: 'token', data, ...more })

/** A token and a patch that is refused as a whole. */
const refusals: readonly {
  name: string
  given: Body
  patch: unknown
  errors: readonly string[]
  absent?: readonly string[]
}[] = [
  { name: 'C18.3 data: null', given: token('abc'), patch: { data: null }, errors: ['data'] },
  { name: 'C16.7 the id', given: token('abc'), patch: { id: 'another-id' }, errors: ['id'] },
  { name: 'C16.7 the type', given: token('abc'), patch: { type: 'card_number' }, errors: ['type'] },
  {
    name: 'C16.7 the tenant',
    given: token('abc'),
    patch: { tenant_id: '6b9a7f0e-7f3c-4a55-9d0c-0f5f6a0c1d2e' },
    errors: ['tenant_id'],
  },
  {
    name: 'C16.7 all three, though they are null',
    given: token('abc'),
    patch: { id: null, type: null, tenant_id: null },
    errors: ['id', 'type', 'tenant_id'],
  },
  {
    name: 'C6.1 fields that only answers have',
    given: token('abc'),
    patch: { fingerprint: 'abcdefgh', created_at: '2026', modified_by: 'someone' },
    errors: ['fingerprint', 'created_at', 'modified_by'],
  },
  {
    name: 'C6.1 an unknown field beside a good one',
    given: token('abc'),
    patch: { data: 'changed', meta: {} },
    errors: ['meta'],
  },
  {
    name: 'C18.5 §7.3 a card that would be none',
    given: card,
    patch: { data: { number: '4242424242424241' } },
    errors: ['data.number'],
  },
  {
    name: 'C18.5 a card without a number',
    given: card,
    patch: { data: { number: null } },
    errors: ['data.number'],
  },
  { name: 'C18.5 a card that is no object', given: card, patch: { data: 'a text' }, errors: ['data'] },
  {
    name: 'C18.5 C10.7 a card with a strange property',
    given: card,
    patch: { data: { cvv: '73737' } },
    errors: ['data.cvv'],
  },
  {
    name: 'C18.5 §7.4 a bank with a wrong checksum',
    given: bank,
    patch: { data: { routing_number: '021000022' } },
    errors: ['data.routing_number'],
  },
  { name: 'C18.5 C9.7 another type of number', given: ssn, patch: { data: '078-05-112' }, errors: ['data'] },
  {
    name: 'C18.5 data that the mask cannot render',
    given: token('abcdef', { mask: '{{ data | reveal_last: 4 }}' }),
    patch: { data: { an: 'object' } },
    errors: ['mask'],
  },
  {
    name: 'C18.5 data that an index cannot render',
    given: token(8, { search_indexes: ['{{ data | plus: 1 }}'] }),
    patch: { data: 'eight' },
    errors: ['search_indexes[0]'],
  },
  {
    name: 'C18.5 C20.4 a mask that cannot be read',
    given: token({ a: 1 }, { mask: { a: '{{ data.a }}' } }),
    patch: { mask: { b: '{{ dat }}' } },
    errors: ['mask.b'],
  },
  {
    name: 'C13.6 C18.5 a mask that would show a card',
    given: card,
    patch: { mask: { number: '{{ data.number }}' } },
    errors: ['mask'],
  },
  {
    name: 'C11.6 a mask that names the cvc',
    given: card,
    patch: { mask: { cvc: '{{ data.cvc }}' } },
    errors: ['mask.cvc'],
  },
  {
    name: 'C18.5 C8.10 a mask that grew too large',
    given: token('abc', {
      mask: Array(40)
        .fill('m'.repeat(398))
        .reduce((mask, text, at) => Object.assign(mask, { [`k${at}`]: text }), {}),
    }),
    patch: { mask: { more: 'm'.repeat(398) } },
    errors: ['mask'],
  },
  {
    name: 'C18.5 C8.7 metadata that grew too many keys',
    given: token('abc', {
      metadata: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, 'v'])),
    }),
    patch: { metadata: { one: 'more' } },
    errors: ['metadata'],
  },
  {
    name: 'C8.7 metadata that is no map of texts',
    given: token('abc'),
    patch: { metadata: { a: 123456, b: ['listed'] } },
    errors: ['metadata.a', 'metadata.b'],
  },
  {
    name: 'C8.7 a metadata value of 1,025 characters',
    given: token('abc'),
    patch: { metadata: { a: 'v'.repeat(1_025) } },
    errors: ['metadata.a'],
  },
  { name: 'C19.4 no containers', given: token('abc'), patch: { containers: [] }, errors: ['containers'] },
  {
    name: 'C19.1 C19.4 bad containers',
    given: token('abc'),
    patch: { containers: ['/a/', '/A/', 'nowhere'] },
    errors: ['containers[1]', 'containers[2]'],
  },
  {
    name: 'C8.8 eleven indexes',
    given: token('abc'),
    patch: { search_indexes: Array(11).fill('{{ data }}') },
    errors: ['search_indexes'],
  },
  {
    name: 'C20.4 an index that cannot be read',
    given: token('abc'),
    patch: { search_indexes: ['{{ data }}', '{{'] },
    errors: ['search_indexes[1]'],
  },
  {
    name: 'C14.7 an expression that renders nothing',
    given: token('abc'),
    patch: { fingerprint_expression: '{{ data.none }}' },
    errors: ['fingerprint_expression'],
  },
  {
    name: 'C17.2 an expiry in the past',
    given: token('abc'),
    patch: { expires_at: '2020-01-01' },
    errors: ['expires_at'],
  },
  {
    name: 'C18.6 one bad field among good ones',
    given: token('abc'),
    patch: { data: 'changed', metadata: { a: 'b' }, containers: ['/moved/'], expires_at: 'never' },
    errors: ['expires_at'],
  },
  { name: 'C2.10 a body that is no object', given: token('abc'), patch: ['abcdef'], errors: ['$'] },
  { name: 'C2.10 a body that is null', given: token('abc'), patch: null, errors: ['$'] },
]

onEveryEngine('updates that are refused', vault => {
  for (const { name, given, patch, errors, absent = [] } of refusals)
    test(`${name}: refused, and the token is as it was`, async () => {
      const { keys } = await vault().tenant({ owner })
      const { id } = await vault().create(keys.owner, given)
      const before = (await vault().get(`/tokens/${id}`, keys.owner)).text
      vault().now += 1_000
      await exchange(
        vault(),
        { key: keys.owner, counter: keys.owner },
        { method: 'PATCH', path: `/tokens/${id}`, body: patch },
        { status: 400, errors, absent },
      )
      assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).text, before)
    })
})
