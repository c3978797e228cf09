import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Issue } from '../../src/domain/errors.ts'
import type { JsonObject } from '../../src/domain/json/json.ts'
import {
  applyResponseTransforms,
  ResponseTransformFault,
} from '../../src/operations/use/apply-response-transforms.ts'
import { checkTokenDefinitions } from '../../src/operations/use/check-token-definitions.ts'
import { callerOf } from '../rig/caller-of.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

const number = '4242424242424242'
const cardData = { number, expiration_month: 7, expiration_year: 2031, cvc: '123' }
const json = 'application/json; charset=utf-8'
const pan: JsonObject = { type: 'mask', matcher: 'pan' }
const tokenized = (location: string, token: JsonObject): JsonObject => ({ type: 'tokenize', token, location })
const cardAt = (location: string): JsonObject =>
  tokenized(location, { type: 'card', metadata: { from: 'inbound' } })

const newWorld = async (vault: TestVault) => {
  const { keys } = await vault.tenant({ owner, reader: { permissions: ['token:read'] } })
  const apply = async (transforms: JsonObject[], body: string, contentType = json, key = keys.owner) => {
    const caller = await callerOf(vault.service.vault, key)
    const answer = { contentType, body: Buffer.from(body) }
    return (await applyResponseTransforms(vault.service.vault, caller, transforms, answer)).toString()
  }
  return { keys, apply }
}

const masked: readonly { name: string; body: string; get: string; type?: string }[] = [
  {
    name: 'a text',
    body: `{"a":["${number}","x${number}y"]}`,
    get: '{"a":["XXXXXXXXXXXX4242","xXXXXXXXXXXXX4242y"]}',
  },
  { name: 'a number', body: `{"a":${number}}`, get: '{"a":"XXXXXXXXXXXX4242"}' },
  {
    name: 'a number that no double holds',
    body: '[6304000000000000000,6304000000000000001]',
    get: JSON.stringify(['XXXXXXXXXXXXXXX0000']).slice(0, -1),
  },
  { name: 'escaped digits', body: '"\\u0034242424242424242"', get: '"XXXXXXXXXXXX4242"' },
  { name: 'a key', body: `{"${number}":1}`, get: '{"XXXXXXXXXXXX4242":1}' },
  {
    name: 'runs that are too long, too short or no numbers',
    body: '["42424242424242424242","42424242420","4242424242424241"]',
    get: '["42424242424242424242","42424242420","4242424242424241"]',
  },
  {
    name: 'a text that is no JSON',
    body: `<n>${number}</n>é`,
    get: '<n>XXXXXXXXXXXX4242</n>é',
    type: 'text/xml',
  },
  { name: 'JSON that is none', body: `{"a":"${number}"`, get: '{"a":"XXXXXXXXXXXX4242"' },
  { name: 'a name that comes twice', body: `{"a":"${number}","a":1}`, get: '{"a":"XXXXXXXXXXXX4242","a":1}' },
]

const withheld: readonly { name: string; transforms: JsonObject[]; body: string; type?: string }[] = [
  { name: 'data that the type refuses', transforms: [cardAt('$.card')], body: '{"card":{"number":"1"}}' },
  { name: 'null', transforms: [cardAt('$.card')], body: '{"card":null}' },
  { name: 'no JSON', transforms: [cardAt('$.card')], body: 'card' },
  { name: 'another type', transforms: [cardAt('$.card')], body: '{}', type: 'text/plain' },
  {
    name: 'another charset',
    transforms: [cardAt('$.card')],
    body: '{}',
    type: 'application/json; charset=latin1',
  },
  {
    name: 'a name that comes twice',
    transforms: [cardAt('$.card.x')],
    body: `{"card":{"x":"${number}"},"card":1}`,
  },
  { name: 'a transform that is none', transforms: [{ type: 'code' }], body: '{}' },
  {
    name: 'a token definition that is none',
    transforms: [tokenized('$.a', { type: 'none' })],
    body: '{"a":1}',
  },
  { name: 'an unknown field', transforms: [tokenized('$.a', { type: 'token', colour: 1 })], body: '{"a":1}' },
  {
    name: 'one of two',
    transforms: [tokenized('$.a', { type: 'token' }), cardAt('$.b')],
    body: '{"a":"kept back","b":1}',
  },
]

onOneEngine('transforms of answers', 'storage sees creates as from a tokenize', vault => {
  test('values are replaced by the ids of new tokens, before anybody sees them (U19.3)', async () => {
    const { keys, apply } = await newWorld(vault())
    const body = JSON.stringify({ card: cardData, list: [{ name: 'Ada' }, 5], big: 1 }).replace(
      '"big":1',
      '"big":1e400',
    )
    const answer = await apply(
      [
        cardAt('$.card'),
        tokenized('$.list[0].name', { type: 'token' }),
        tokenized('$.list[-1]', { type: 'token' }),
        tokenized('$.none.there', { type: 'token' }),
      ],
      body,
    )
    assert.ok(answer.endsWith('"big":1e400}'))
    const { card, list } = JSON.parse(answer)
    assert.deepEqual((await vault().get(`/tokens/${card}`, keys.owner)).body.data, cardData)
    assert.deepEqual((await vault().get(`/tokens/${card}`, keys.owner)).body.metadata, { from: 'inbound' })
    assert.equal((await vault().get(`/tokens/${list[0].name}`, keys.owner)).body.data, 'Ada')
    assert.equal((await vault().get(`/tokens/${list[1]}`, keys.owner)).body.data, 5)
  })

  test('transforms run in order (U19.1)', async () => {
    const { keys, apply } = await newWorld(vault())
    const both = { a: number, b: number }
    const first = JSON.parse(
      await apply([tokenized('$.a', { type: 'card_number' }), pan], JSON.stringify(both)),
    )
    assert.equal((await vault().get(`/tokens/${first.a}`, keys.owner)).body.data, number)
    assert.equal(first.b, 'XXXXXXXXXXXX4242')
    const second = JSON.parse(await apply([pan, tokenized('$.a', { type: 'token' })], JSON.stringify(both)))
    assert.equal((await vault().get(`/tokens/${second.a}`, keys.owner)).body.data, 'XXXXXXXXXXXX4242')
  })

  test('numbers are masked wherever they stand (U19.4)', async () => {
    const { apply } = await newWorld(vault())
    for (const { name, body, get, type } of masked) {
      const answer = await apply([pan], body, type)
      assert.equal(answer.slice(0, get.length), get, name)
    }
  })

  test('a location that is not there, and an empty answer, leave the answer as it is (U19.3)', async () => {
    const { apply } = await newWorld(vault())
    assert.equal(await apply([cardAt('$.card')], '{"a":[1.5]}'), '{"a":[1.5]}')
    assert.equal(await apply([cardAt('$.card')], '', 'text/html'), '')
  })

  test('whatever else goes wrong, nobody sees the answer, and no token is left (U19.1, U19.3)', async () => {
    const { keys, apply } = await newWorld(vault())
    for (const { name, transforms, body, type } of withheld)
      await assert.rejects(apply(transforms, body, type), ResponseTransformFault, name)
    await assert.rejects(
      apply([cardAt('$.card')], JSON.stringify({ card: cardData }), json, keys.reader),
      ResponseTransformFault,
    )
    assert.equal((await vault().get('/tokens', keys.owner)).body.pagination.total_items, 0)
  })
})

test('what is wrong with a token definition is told when the proxy is saved (U19.3)', () => {
  const faultsOf = (token: JsonObject): string[] => {
    const issues: Issue[] = []
    checkTokenDefinitions(
      [pan, tokenized('$.a', token)],
      'response_transforms',
      Date.parse('2026-03-01'),
      issues,
    )
    return issues.map(({ path }) => path.replace('response_transforms[1].token', ''))
  }
  assert.deepEqual(faultsOf({ type: 'card', containers: ['/a/'], mask: '{{ data.number | last4 }}' }), [])
  assert.deepEqual(faultsOf({ type: 'none' }), ['.type'])
  assert.deepEqual(faultsOf({ type: 'card', colour: 1 }), ['.colour'])
  assert.deepEqual(faultsOf({ type: 'card', mask: '{{ data.number | last5 }}' }), ['.mask'])
  assert.deepEqual(faultsOf({ type: 'card', containers: ['a'], expires_at: 'soon' }), [
    '.containers[0]',
    '.expires_at',
  ])
})
