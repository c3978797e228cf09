import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onOneEngine } from '../rig/every-engine.ts'
import { type Scenario, sendAndExpect } from '../rig/scenario.ts'
import { devApplications } from '../rig/test-vault.ts'

const token = { type: 'token', data: 'Sensitive Value' }
const keysOf = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 'value']))
const levels = (count: number): string => `/${'a/'.repeat(count)}`

/** Each is created and returned as it was sent, unless `body` says otherwise. */
const kept: readonly { name: string; send: Record<string, unknown>; body?: Record<string, unknown> }[] = [
  {
    name: 'C19.2 containers, lower-cased',
    send: { containers: ['/Orders/EU-West_1/'] },
    body: { containers: ['/orders/eu-west_1/'] },
  },
  {
    name: 'C19.3 a container, one below it and one with a common prefix',
    send: { containers: ['/a/', '/a/b/', '/ab/'] },
  },
  { name: 'C19.3 the default container and another', send: { containers: ['/general/high/', '/other/'] } },
  {
    name: 'C8.11 ten containers',
    send: { containers: Array.from({ length: 10 }, (_, at) => `/c${at}/`) },
  },
  { name: 'C8.11 a container of sixteen levels', send: { containers: [levels(16)] } },
  { name: 'C8.11 a container of 400 characters', send: { containers: [`/${'c'.repeat(398)}/`] } },
  { name: 'C8.7 fifty metadata keys', send: { metadata: keysOf(50) } },
  { name: 'C8.7 C8.18 a metadata key of 64 characters', send: { metadata: { ['😀'.repeat(64)]: 'v' } } },
  {
    name: 'C8.7 C8.18 a metadata value of 1,024 characters',
    send: { metadata: { key: '😀'.repeat(1_024) } },
  },
  {
    name: '§4.2.7 C7.3 metadata, character for character',
    send: { metadata: { 'A.b c': 'Ünï\u0000\n', 'a.b c': '' } },
  },
  { name: 'C8.8 ten search indexes', send: { search_indexes: Array(10).fill('{{ data }}') } },
  {
    name: '§4.2.8 C8.9 a search index of 400 characters',
    send: { search_indexes: [`{{ data }}${'x'.repeat(390)}`] },
  },
  { name: '§4.2.8 C20.6 a search index that renders nothing', send: { search_indexes: ['{{ data.none }}'] } },
  {
    name: '§4.2.9 C8.9 a fingerprint expression of 400 characters',
    send: { fingerprint_expression: `{{ data }}${'x'.repeat(390)}` },
  },
]

const refused: readonly Scenario[] = [
  {
    name: 'C19.1 containers without slashes or with empty or invalid segments',
    send: { containers: ['orders', '/orders', 'orders/', '/', '//', '/a//b/', '/a b/', '/ä/', '/a.b/', ''] },
    expect: {
      status: 400,
      errors: Array.from({ length: 10 }, (_, at) => `containers[${at}]`),
    },
  },
  {
    name: 'C19.2 a character that only lower-casing turns into a valid letter',
    send: { containers: ['/\u212aelvin/'] },
    expect: { status: 400, errors: ['containers[0]'] },
  },
  {
    name: 'C19.4 an empty list of containers',
    send: { containers: [] },
    expect: { status: 400, errors: ['containers'] },
  },
  {
    name: 'C19.4 a duplicate container',
    send: { containers: ['/a/', '/b/', '/a/'] },
    expect: { status: 400, errors: ['containers[2]'] },
  },
  {
    name: 'C19.4 C19.2 a duplicate container in another letter case',
    send: { containers: ['/abc/', '/ABC/'] },
    expect: { status: 400, errors: ['containers[1]'] },
  },
  {
    name: 'C8.11 eleven containers',
    send: { containers: Array.from({ length: 11 }, (_, at) => `/c${at}/`) },
    expect: { status: 400, errors: ['containers'] },
  },
  {
    name: 'C8.11 a container of seventeen levels',
    send: { containers: [levels(17)] },
    expect: { status: 400, errors: ['containers[0]'] },
  },
  {
    name: 'C8.11 a container of 401 characters',
    send: { containers: [`/${'c'.repeat(399)}/`] },
    expect: { status: 400, errors: ['containers[0]'] },
  },
  {
    name: 'C8.7 fifty-one metadata keys',
    send: { metadata: keysOf(51) },
    expect: { status: 400, errors: ['metadata'] },
  },
  {
    name: 'C8.7 an empty metadata key',
    send: { metadata: { '': 'value' } },
    expect: { status: 400, errors: ['metadata[key 1]'] },
  },
  {
    name: 'C8.7 C8.18 C2.6 a metadata key of 65 characters',
    send: { metadata: { ['😀'.repeat(65)]: 'v' } },
    expect: { status: 400, errors: [`metadata.${'😀'.repeat(64)}`] },
  },
  {
    name: 'C8.7 a metadata value of 1,025 characters',
    send: { metadata: { key: 'v'.repeat(1_025) } },
    expect: { status: 400, errors: ['metadata.key'] },
  },
  {
    name: 'C8.7 metadata values that are not strings',
    send: { metadata: { a: 123456, b: true, c: null, d: ['listed'], e: { f: 'nested' } } },
    expect: { status: 400, errors: ['a', 'b', 'c', 'd', 'e'].map(key => `metadata.${key}`) },
  },
  {
    name: 'C2.7 a metadata key that could be a card number, named by its position',
    send: { metadata: { fine: 'value', 'card 4242424242424242': 7 } },
    expect: { status: 400, errors: ['metadata[key 2]'], absent: ['4242424242424242'] },
  },
  {
    name: 'C8.8 eleven search indexes',
    send: { search_indexes: Array(11).fill('{{ data }}') },
    expect: { status: 400, errors: ['search_indexes'] },
  },
  {
    name: 'C20.4 C2.4 search indexes that cannot be parsed, named by their position',
    send: {
      search_indexes: ['{{ data }}', '{{ data | nofilter }}', '{{ other }}', '{{ metadata.a }}', '{{'],
    },
    expect: { status: 400, errors: [1, 2, 3, 4].map(at => `search_indexes[${at}]`) },
  },
  {
    name: 'C8.9 a search index of 401 characters',
    send: { search_indexes: [`{{ data }}${'x'.repeat(391)}`] },
    expect: { status: 400, errors: ['search_indexes[0]'] },
  },
  {
    name: 'C20.4 a search index that cannot be rendered for this data',
    send: { search_indexes: ['{{ data | plus: 1 }}'] },
    expect: { status: 400, errors: ['search_indexes[0]'] },
  },
  {
    name: 'C8.9 a fingerprint expression of 401 characters',
    send: { fingerprint_expression: `{{ data }}${'x'.repeat(391)}` },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'C20.4 a fingerprint expression that cannot be parsed',
    send: { fingerprint_expression: '{{ data | last4: }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'C21.2 an alias in a fingerprint expression',
    send: { fingerprint_expression: '{{ data | alias_card }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'C14.7 a fingerprint expression that renders null',
    send: { fingerprint_expression: '{{ data.none }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'C14.7 a fingerprint expression that renders an empty string',
    send: { fingerprint_expression: "{{ data | remove: 'Sensitive Value' }}" },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'C14.7 a fingerprint expression that renders an empty list',
    send: { data: { list: [] }, fingerprint_expression: '{{ data.list }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'C14.7 a fingerprint expression that renders an empty object',
    send: { fingerprint_expression: '{{ metadata }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'C14.7 an empty fingerprint expression',
    send: { fingerprint_expression: '' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
]

onOneEngine('the fields of a create', 'fields are checked above storage', vault => {
  for (const { name, send, body = send } of kept)
    test(`${name}: kept`, async () => {
      const { keys } = await vault().tenant(devApplications)
      const created = await sendAndExpect(
        vault(),
        { key: keys.general, counter: keys.private },
        { method: 'POST', path: '/tokens', body: { ...token, ...send } },
        { status: 201, stored: 1, body },
      )
      const read = await vault().get(`/tokens/${created.body.id}`, keys.private)
      for (const [field, value] of Object.entries(body)) assert.deepEqual(read.body[field], value)
    })

  for (const { name, send, expect } of refused)
    test(`${name}: refused`, async () => {
      const { keys } = await vault().tenant(devApplications)
      await sendAndExpect(
        vault(),
        { key: keys.general, counter: keys.private },
        { method: 'POST', path: '/tokens', body: { ...token, ...(send as object) } },
        expect,
      )
    })

  test('C11.6 search indexes and fingerprint expressions cannot name the cvc of a card', async () => {
    const { keys } = await vault().tenant(devApplications)
    const body = {
      type: 'card',
      data: { number: '4242424242424242', cvc: '123' },
      search_indexes: ['{{ data.cvc }}'],
      fingerprint_expression: '{{ data["cvc"] }}',
    }
    await sendAndExpect(
      vault(),
      { key: keys.general, counter: keys.private },
      { method: 'POST', path: '/tokens', body },
      { status: 400, errors: ['search_indexes[0]', 'fingerprint_expression'] },
    )
  })
})
