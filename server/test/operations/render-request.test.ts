import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideUse } from '../../src/domain/access/use.ts'
import { VaultError } from '../../src/domain/errors.ts'
import type { JsonObject } from '../../src/domain/json/json.ts'
import { type AskedRequest, renderRequest } from '../../src/operations/use/render-request.ts'
import { RenderingFault } from '../../src/operations/use/rendering-fault.ts'
import type { Caller } from '../../src/operations/vault/vault.ts'
import { callerOf } from '../rig/caller-of.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { fc } from '../rig/properties.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

const number = '4242424242424242'
const card = { type: 'card', data: { number, expiration_month: 7, expiration_year: 2031, cvc: '123' } }
const nasty = 'a"b\\ & c=d %41 \r\n😀 {{ name }}'

const callers = {
  owner,
  blind: { permissions: ['token:use'] },
  seeing: {
    rules: [{ priority: 1, container: '/', transform: 'reveal', permissions: ['token:use', 'token:read'] }],
  },
  partly: {
    rules: [{ priority: 1, container: '/general/', transform: 'mask', permissions: ['token:use'] }],
  },
} as const

type World = { readonly vault: TestVault; readonly as: (name: keyof typeof callers) => Promise<Caller> }

const newWorld = async (vault: TestVault): Promise<World> => {
  const { keys } = await vault.tenant<keyof typeof callers>(callers)
  const make = (id: string, token: object) => vault.create(keys.owner, { id, ...token })
  await make('card', card)
  await make('name', { type: 'token', data: 'Ada' })
  await make('nasty', { type: 'token', data: nasty })
  await make('list', { type: 'token', data: [1, { a: null }] })
  return { vault, as: name => callerOf(vault.service.vault, keys[name]) }
}

type Ask = Partial<Omit<AskedRequest, 'body'>> & { readonly body?: string | Buffer }

const rendered = async ({ vault, as }: World, who: keyof typeof callers, { body, ...ask }: Ask) => {
  const caller = await as(who)
  const result = await renderRequest(vault.service.vault, caller, {
    headers: [],
    body: body === undefined ? undefined : Buffer.from(body),
    contentType: 'application/json',
    contentEncoding: undefined,
    requestTransforms: [],
    configuration: {},
    admit: ({ containers }) => {
      const use = decideUse(caller.application, containers, undefined)
      return use.outcome === 'allowed'
        ? { permission: 'token:use', decision: use.decision, isRevealed: use.isRevealed }
        : undefined
    },
    ...ask,
  })
  return { ...result, text: result.body?.toString('utf8'), caller }
}

const faultOf = async (
  ...asked: Parameters<typeof rendered>
): Promise<[string, Record<string, string>] | number> => {
  try {
    await rendered(...asked)
  } catch (error) {
    if (error instanceof VaultError) return error.code === 'unsupportedMediaType' ? 415 : 400
    assert.ok(error instanceof RenderingFault, String(error))
    return [error.code, Object.fromEntries(error.issues.map(({ path, message }) => [path, message]))]
  }
  return 200
}

const form = 'application/x-www-form-urlencoded'
const header: JsonObject = {
  type: 'append_header',
  name: 'Authorization',
  value: 'Bearer {{ config: secret }}',
}
const signed: JsonObject = {
  type: 'append_header',
  name: 'X-Signature',
  value: "{{ card | json: '$.number' | hmac: 'sha-256', config: secret | to_base16 }}",
}
const appended = (value: JsonObject[string], location: string): JsonObject => ({
  type: 'append_json',
  value,
  location,
})

const sent: readonly { name: string; ask: Ask; get: string | undefined; as?: keyof typeof callers }[] = [
  {
    name: 'bytes outside of expressions stay',
    ask: { body: '{ "a" :1.0,"b":[1e400 ,"{{ name }}"],\n"b":"\\u00e9", "{{ name }}": 2}' },
    get: '{ "a" :1.0,"b":[1e400 ,"Ada"],\n"b":"\\u00e9", "{{ name }}": 2}',
  },
  { name: 'a body without expressions need not be valid', ask: { body: '{"a":' }, get: '{"a":' },
  {
    name: 'the whole value, the live cvc included, whatever the transform (U11)',
    ask: { body: '["{{ card }}"]' },
    get: JSON.stringify([card.data]),
  },
  {
    name: 'a part by its path',
    ask: { body: `["{{ card | json: '$.cvc' }}","{{ card | card_exp: 'MM/YY' }}"]` },
    get: '["123","07/31"]',
  },
  {
    name: 'JSON of another name',
    ask: { body: '"x{{ name }}"', contentType: 'Application/VND.api+JSON; charset=UTF-8' },
    get: '"xAda"',
  },
  {
    name: 'quotes, line ends and emoji stay one value in JSON, and are not parsed again',
    ask: { body: '{"a":"{{ nasty }}"}' },
    get: JSON.stringify({ a: nasty }),
  },
  {
    name: 'all filters for who may read',
    ask: { body: `["{{ card | json: '$.number' | slice: 0, 6 }}","{{ token: name | json: '$.type' }}"]` },
    get: '["424242","token"]',
    as: 'seeing',
  },
  {
    name: 'a form: names and values, and pairs without expressions as they came',
    ask: { body: 'a=%7e&%7b{name}}=x+%7B%7B+nasty+%7D%7D&&b&c=%zz', contentType: form },
    get: `a=%7e&Ada=x+${encodeURIComponent(nasty).replaceAll('%20', '+')}&&b&c=%zz`,
  },
  {
    name: 'other bodies pass',
    ask: { body: '{{ name }}', contentType: 'text/plain; charset=latin1', contentEncoding: 'gzip' },
    get: '{{ name }}',
  },
  { name: 'no body', ask: {}, get: undefined },
  {
    name: 'JSON is put where it belongs',
    ask: {
      body: '{"a": {"b":1.0 } , "c":[]}',
      requestTransforms: [
        appended({ n: '{{ name }}' }, '$.a.x'),
        appended('{{ config: secret }}', '$.c[0]'),
        appended(7, "$['a'].b"),
        appended([1], '$.c[1]'),
      ],
      configuration: { secret: 's{{ name }}' },
    },
    get: '{"a": {"b":7 ,"x":{"n":"Ada"}} , "c":["s{{ name }}",[1]]}',
  },
]

const refused: readonly {
  name: string
  ask: Ask
  get: string | number
  at?: string
  as?: keyof typeof callers
}[] = [
  { name: 'an unknown token', ask: { body: '{"a":["{{ none }}"]}' }, get: 'token_not_found', at: 'a[0]' },
  {
    name: 'a token that the caller may not use',
    ask: { body: '["{{ card }}"]' },
    get: 'token_not_found',
    at: '[0]',
    as: 'partly',
  },
  { name: 'bad syntax', ask: { body: '["{{ name"]' }, get: 'expression_invalid', at: '[0]' },
  {
    name: 'a cut',
    ask: { body: '["{{ card | json: \'$.number\' | slice: 0, 6 }}"]' },
    get: 'expression_invalid',
    at: '[0]',
  },
  { name: 'an encoding', ask: { body: '["{{ name | to_base64 }}"]' }, get: 'expression_invalid', at: '[0]' },
  { name: 'the object', ask: { body: '["{{ token: name }}"]' }, get: 'expression_invalid', at: '[0]' },
  {
    name: 'hmac, even for who may read',
    ask: { body: "[\"{{ name | hmac: 'sha-256', 'k' | to_base16 }}\"]" },
    get: 'expression_invalid',
    at: '[0]',
    as: 'seeing',
  },
  {
    name: 'configuration',
    ask: { body: '["{{ config: secret }}"]', configuration: { secret: 'x' } },
    get: 'expression_invalid',
    at: '[0]',
    as: 'seeing',
  },
  {
    name: 'a path that leads nowhere',
    ask: { body: '["{{ card | json: \'$.x\' }}"]' },
    get: 'expression_invalid',
    at: '[0]',
  },
  { name: 'JSON that is none', ask: { body: '{"a":"{{ name }}"' }, get: 'expression_invalid', at: '$' },
  {
    name: 'text that is not UTF-8',
    ask: { body: Buffer.from('["{{ name }}\xff"]', 'latin1') },
    get: 'expression_invalid',
    at: '$',
  },
  {
    name: 'another charset',
    ask: { body: '[]', contentType: 'application/json; charset="ISO-8859-1"' },
    get: 415,
  },
  { name: 'a compressed body', ask: { body: '[]', contentEncoding: 'gzip' }, get: 415 },
  {
    name: 'a form that cannot be read',
    ask: { body: 'a=%zz{{ name }}', contentType: form },
    get: 'expression_invalid',
    at: '$',
  },
  {
    name: 'an unknown token in a form',
    ask: { body: 'b=1&4111111111111111={{none}}', contentType: form },
    get: 'token_not_found',
    at: '[key 2]',
  },
  {
    name: 'a header with a line end',
    ask: { headers: [['X-Name', '{{ nasty }}']] },
    get: 'header_value_invalid',
    at: 'x-name',
  },
  {
    name: 'a header that names no token',
    ask: { headers: [['X-Name', '{{ none }}']] },
    get: 'token_not_found',
    at: 'x-name',
  },
  {
    name: 'too many tokens',
    ask: { body: JSON.stringify(Array.from({ length: 101 }, (_, at) => `{{ t${at} }}`)) },
    get: 'expression_invalid',
    at: '$',
  },
  {
    name: 'JSON for a body that is none',
    ask: { body: 'a=1', contentType: form, requestTransforms: [appended(1, '$.a')] },
    get: 'expression_invalid',
    at: '$',
  },
  {
    name: 'JSON for a body that is not there',
    ask: { requestTransforms: [appended(1, '$.a')] },
    get: 'expression_invalid',
    at: '$',
  },
  {
    name: 'JSON for a place that is not there',
    ask: { body: '{"a":1}', requestTransforms: [appended(1, '$.a.b')] },
    get: 'expression_invalid',
    at: 'request_transforms[0].value',
  },
  {
    name: 'a key that the configuration lacks',
    ask: { requestTransforms: [header] },
    get: 'expression_invalid',
    at: 'request_transforms[0].value',
  },
]

onOneEngine('rendering a request', 'storage sees the same reads as a detokenize', vault => {
  test('each expression becomes its value, and every other byte stays (U12.3, U12.4, U12.5, U11.1, U19.2)', async () => {
    const world = await newWorld(vault())
    for (const { name, ask, get, as = 'blind' } of sent) {
      const { text } = await rendered(world, as, ask)
      assert.equal(text, get, name)
    }
  })

  test('refusals name a code and a place, and nothing that was sent (U11.2, U11.3, U12.2, U12.5, U12.7, U15.2)', async () => {
    const world = await newWorld(vault())
    for (const { name, ask, get, at, as = 'blind' } of refused) {
      const fault = await faultOf(world, as, ask)
      assert.deepEqual(
        typeof fault === 'number' ? fault : [fault[0], Object.keys(fault[1])],
        at ? [get, [at]] : get,
        name,
      )
      assert.ok(!JSON.stringify(fault).includes('4111111111111111'))
    }
  })

  test('headers are evaluated, and the proxy adds its own (U12.6, U19.2)', async () => {
    const world = await newWorld(vault())
    const { headers, insertedConfiguration, used } = await rendered(world, 'blind', {
      headers: [
        ['Accept', '*/*'],
        ['X-Card', "n={{ card | json: '$.number' }}\t{{name}}"],
        ['authorization', 'mine'],
        ['X-List', '{{ list }}'],
      ],
      requestTransforms: [header, signed],
      configuration: { secret: 'secretKeyValue', other: 'unused' },
    })
    assert.deepEqual(headers, [
      ['Accept', '*/*'],
      ['X-Card', `n=${number}\tAda`],
      ['X-List', '[1,{"a":null}]'],
      ['Authorization', 'Bearer secretKeyValue'],
      ['X-Signature', '90A0050E90515101DCAD0F68955370CCA81F6DCB9D299E7E0585CC9746716D9B'],
    ])
    assert.deepEqual(insertedConfiguration, ['secretKeyValue'])
    assert.deepEqual(
      used.map(({ token, data, isRevealed }) => [token.id, data, isRevealed]),
      [
        ['card', card.data, false],
        ['name', 'Ada', false],
        ['list', [1, { a: null }], false],
      ],
    )
  })

  test('the act names every token that was used, once (L1.1)', async () => {
    const world = await newWorld(vault())
    const { caller } = await rendered(world, 'seeing', {
      headers: [['X', '{{ name }}']],
      body: '["{{ name }}","{{ card }}"]',
    })
    assert.deepEqual(
      caller.act.tokens.map(({ id, permission }) => [id, permission]),
      [
        ['name', 'token:use'],
        ['card', 'token:use'],
      ],
    )
  })

  test('any value stays one value in JSON and in a form (U12.3, U12.4)', async () => {
    const world = await newWorld(vault())
    const { keys } = await vault().tenant({ owner, blind: callers.blind })
    const caller = await callerOf(vault().service.vault, keys.blind)
    const others = { vault: world.vault, as: async () => caller }
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), async data => {
        const { id } = await vault().create(keys.owner, { type: 'token', data })
        const json = await rendered(others, 'blind', { body: `{"a":"{{ ${id} }}","b":1}` })
        assert.deepEqual(JSON.parse(String(json.text)), { a: data, b: 1 })
        const pairs = await rendered(others, 'blind', { body: `a={{${id}}}&b=1`, contentType: form })
        assert.deepEqual(
          [...new URLSearchParams(pairs.text)],
          [
            ['a', data.toWellFormed()],
            ['b', '1'],
          ],
        )
      }),
      { numRuns: 40 },
    )
  })
})
