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
    name: 'containers, lower-cased (C19.2)',
    send: { containers: ['/Orders/EU-West_1/'] },
    body: { containers: ['/orders/eu-west_1/'] },
  },
  {
    name: 'a container, one below it and one with a common prefix (C19.3)',
    send: { containers: ['/a/', '/a/b/', '/ab/'] },
  },
  { name: 'the default container and another (C19.3)', send: { containers: ['/general/high/', '/other/'] } },
  {
    name: 'ten containers (C8.11)',
    send: { containers: Array.from({ length: 10 }, (_, at) => `/c${at}/`) },
  },
  { name: 'a container of sixteen levels (C8.11)', send: { containers: [levels(16)] } },
  { name: 'a container of 400 characters (C8.11)', send: { containers: [`/${'c'.repeat(398)}/`] } },
  { name: 'fifty metadata keys (C8.7)', send: { metadata: keysOf(50) } },
  { name: 'a metadata key of 64 characters (C8.7, C8.18)', send: { metadata: { ['😀'.repeat(64)]: 'v' } } },
  {
    name: 'a metadata value of 1,024 characters (C8.7, C8.18)',
    send: { metadata: { key: '😀'.repeat(1_024) } },
  },
  {
    name: 'metadata, character for character (§4.2.7, C7.3)',
    send: { metadata: { 'A.b c': 'Ünï\u0000\n', 'a.b c': '' } },
  },
  { name: 'ten search indexes (C8.8)', send: { search_indexes: Array(10).fill('{{ data }}') } },
  {
    name: 'a search index of 400 characters (§4.2.8, C8.9)',
    send: { search_indexes: [`{{ data }}${'x'.repeat(390)}`] },
  },
  {
    name: 'a search index that renders nothing (§4.2.8, C20.6)',
    send: { search_indexes: ['{{ data.none }}'] },
  },
  {
    name: 'a fingerprint expression of 400 characters (§4.2.9, C8.9)',
    send: { fingerprint_expression: `{{ data }}${'x'.repeat(390)}` },
  },
]

const refused: readonly Scenario[] = [
  {
    name: 'containers without slashes or with empty or invalid segments (C19.1)',
    send: { containers: ['orders', '/orders', 'orders/', '/', '//', '/a//b/', '/a b/', '/ä/', '/a.b/', ''] },
    expect: {
      status: 400,
      errors: Array.from({ length: 10 }, (_, at) => `containers[${at}]`),
    },
  },
  {
    name: 'a character that only lower-casing turns into a valid letter (C19.2)',
    send: { containers: ['/\u212aelvin/'] },
    expect: { status: 400, errors: ['containers[0]'] },
  },
  {
    name: 'an empty list of containers (C19.4)',
    send: { containers: [] },
    expect: { status: 400, errors: ['containers'] },
  },
  {
    name: 'a duplicate container (C19.4)',
    send: { containers: ['/a/', '/b/', '/a/'] },
    expect: { status: 400, errors: ['containers[2]'] },
  },
  {
    name: 'a duplicate container in another letter case (C19.4, C19.2)',
    send: { containers: ['/abc/', '/ABC/'] },
    expect: { status: 400, errors: ['containers[1]'] },
  },
  {
    name: 'eleven containers (C8.11)',
    send: { containers: Array.from({ length: 11 }, (_, at) => `/c${at}/`) },
    expect: { status: 400, errors: ['containers'] },
  },
  {
    name: 'a container of seventeen levels (C8.11)',
    send: { containers: [levels(17)] },
    expect: { status: 400, errors: ['containers[0]'] },
  },
  {
    name: 'a container of 401 characters (C8.11)',
    send: { containers: [`/${'c'.repeat(399)}/`] },
    expect: { status: 400, errors: ['containers[0]'] },
  },
  {
    name: 'fifty-one metadata keys (C8.7)',
    send: { metadata: keysOf(51) },
    expect: { status: 400, errors: ['metadata'] },
  },
  {
    name: 'an empty metadata key (C8.7)',
    send: { metadata: { '': 'value' } },
    expect: { status: 400, errors: ['metadata[key 1]'] },
  },
  {
    name: 'a metadata key of 65 characters (C8.7, C8.18, C2.6)',
    send: { metadata: { ['😀'.repeat(65)]: 'v' } },
    expect: { status: 400, errors: [`metadata.${'😀'.repeat(64)}`] },
  },
  {
    name: 'a metadata value of 1,025 characters (C8.7)',
    send: { metadata: { key: 'v'.repeat(1_025) } },
    expect: { status: 400, errors: ['metadata.key'] },
  },
  {
    name: 'metadata values that are not strings (C8.7)',
    send: { metadata: { a: 123456, b: true, c: null, d: ['listed'], e: { f: 'nested' } } },
    expect: { status: 400, errors: ['a', 'b', 'c', 'd', 'e'].map(key => `metadata.${key}`) },
  },
  {
    name: 'a metadata key that could be a card number, named by its position (C2.7)',
    send: { metadata: { fine: 'value', 'card 4242424242424242': 7 } },
    expect: { status: 400, errors: ['metadata[key 2]'], absent: ['4242424242424242'] },
  },
  {
    name: 'eleven search indexes (C8.8)',
    send: { search_indexes: Array(11).fill('{{ data }}') },
    expect: { status: 400, errors: ['search_indexes'] },
  },
  {
    name: 'search indexes that cannot be parsed, named by their position (C20.4, C2.4)',
    send: {
      search_indexes: ['{{ data }}', '{{ data | nofilter }}', '{{ other }}', '{{ metadata.a }}', '{{'],
    },
    expect: { status: 400, errors: [1, 2, 3, 4].map(at => `search_indexes[${at}]`) },
  },
  {
    name: 'a search index of 401 characters (C8.9)',
    send: { search_indexes: [`{{ data }}${'x'.repeat(391)}`] },
    expect: { status: 400, errors: ['search_indexes[0]'] },
  },
  {
    name: 'a search index that cannot be rendered for this data (C20.4)',
    send: { search_indexes: ['{{ data | plus: 1 }}'] },
    expect: { status: 400, errors: ['search_indexes[0]'] },
  },
  {
    name: 'a fingerprint expression of 401 characters (C8.9)',
    send: { fingerprint_expression: `{{ data }}${'x'.repeat(391)}` },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'a fingerprint expression that cannot be parsed (C20.4)',
    send: { fingerprint_expression: '{{ data | last4: }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'an alias in a fingerprint expression (C21.2)',
    send: { fingerprint_expression: '{{ data | alias_card }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'a fingerprint expression that renders null (C14.7)',
    send: { fingerprint_expression: '{{ data.none }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'a fingerprint expression that renders an empty string (C14.7)',
    send: { fingerprint_expression: "{{ data | remove: 'Sensitive Value' }}" },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'a fingerprint expression that renders an empty list (C14.7)',
    send: { data: { list: [] }, fingerprint_expression: '{{ data.list }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'a fingerprint expression that renders an empty object (C14.7)',
    send: { fingerprint_expression: '{{ metadata }}' },
    expect: { status: 400, errors: ['fingerprint_expression'] },
  },
  {
    name: 'an empty fingerprint expression (C14.7)',
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

  test('search indexes and fingerprint expressions cannot name the cvc of a card (C11.6)', async () => {
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
