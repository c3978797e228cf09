import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { ceilings, limits, type SetLimits } from '../../src/domain/limits.ts'
import { inShortRun } from '../rig/long-run.ts'
import { Site } from '../rig/program.ts'

type Ask = {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const post = (body: unknown, path = '/tokens'): Ask => ({ method: 'POST', path, body })
const create = (fields: Record<string, unknown>): Ask => post({ type: 'token', data: 'x', ...fields })
const keysOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))
/** It has two index entries more, for its type and its fingerprint. */
const definition = (keys: number) => ({ type: 'token', data: 'x', metadata: keysOf(keys) })
const raw = JSON as unknown as { rawJSON(text: string): unknown }
/** No double holds any of these. Those of the doubles do not count. */
const exactNumbers = (count: number) => [...Array(count).fill(raw.rawJSON('12345678901234567891')), 1e21, 0.1]
const nested = (depth: number): unknown => (depth === 0 ? 'x' : [nested(depth - 1)])
const application = (fields: Record<string, unknown>): Ask =>
  post({ name: 'a', type: 'private', ...fields }, '/applications')
const rules = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    priority: at + 1,
    container: '/',
    transform: 'mask',
    permissions: ['token:read'],
  }))

/** Each limit that can be set: a value, a request that just meets it, and one that does not. */
const settings: {
  readonly [Name in Exclude<keyof typeof ceilings, 'pageSizeDefault'>]: {
    value: number
    meets: Ask
    breaks: Ask
    status?: number
  }
} = {
  bodyBytes: {
    value: 1_500_000,
    meets: create({ data: 'x'.repeat(1_400_000) }),
    breaks: create({ data: 'x'.repeat(1_500_000) }),
    status: 413,
  },
  // Fewer than in every request that is read without Node's HTTP server.
  headBytes: {
    value: 5_000,
    meets: { ...create({}), headers: { 'x-much': 'x'.repeat(4_000) } },
    breaks: { ...create({}), headers: { 'x-much': 'x'.repeat(6_000) } },
    status: 431,
  },
  jsonDepth: { value: 40, meets: create({ data: nested(39) }), breaks: create({ data: nested(40) }) },
  tokensPerTokenize: {
    value: 3,
    meets: post(['a', 'b', 'c'], '/tokenize'),
    breaks: post(['a', 'b', 'c', 'd'], '/tokenize'),
  },
  idCharactersMax: {
    value: 40,
    meets: create({ id: 'i'.repeat(40) }),
    breaks: create({ id: 'i'.repeat(41) }),
  },
  metadataKeys: {
    value: 60,
    meets: create({ metadata: keysOf(60) }),
    breaks: create({ metadata: keysOf(61) }),
  },
  metadataKeyCharactersMax: {
    value: 70,
    meets: create({ metadata: { ['k'.repeat(70)]: 'v' } }),
    breaks: create({ metadata: { ['k'.repeat(71)]: 'v' } }),
  },
  metadataValueCharactersMax: {
    value: 2_000,
    meets: create({ metadata: { k: 'v'.repeat(2_000) } }),
    breaks: create({ metadata: { k: 'v'.repeat(2_001) } }),
  },
  searchIndexes: {
    value: 12,
    meets: create({ search_indexes: Array(12).fill('{{ data }}') }),
    breaks: create({ search_indexes: Array(13).fill('{{ data }}') }),
  },
  expressionCharactersMax: {
    value: 500,
    meets: create({ mask: 'm'.repeat(500) }),
    breaks: create({ mask: 'm'.repeat(501) }),
  },
  maskBytes: {
    value: 1_000,
    meets: create({ mask: ['m'.repeat(490), 'm'.repeat(490)] }),
    breaks: create({ mask: ['m'.repeat(498), 'm'.repeat(498)] }),
  },
  containersPerToken: {
    value: 12,
    meets: create({ containers: Array.from({ length: 12 }, (_, at) => `/c${at}/`) }),
    breaks: create({ containers: Array.from({ length: 13 }, (_, at) => `/c${at}/`) }),
  },
  containerCharactersMax: {
    value: 20,
    meets: create({ containers: [`/${'c'.repeat(18)}/`] }),
    breaks: create({ containers: [`/${'c'.repeat(19)}/`] }),
  },
  containerLevels: {
    value: 3,
    meets: create({ containers: ['/a/b/c/'] }),
    breaks: create({ containers: ['/a/b/c/d/'] }),
  },
  termsPerRequest: {
    value: 100,
    meets: post([definition(48), definition(48)], '/tokenize'),
    breaks: post([definition(48), definition(49)], '/tokenize'),
  },
  exactNumbersPerRequest: {
    value: 3,
    meets: create({ data: exactNumbers(3) }),
    breaks: create({ data: exactNumbers(4) }),
  },
  idempotencyKeyCharactersMax: {
    value: 10,
    meets: { ...create({}), headers: { 'svc-idempotency-key': 'k'.repeat(10) } },
    breaks: { ...create({}), headers: { 'svc-idempotency-key': 'k'.repeat(11) } },
  },
  pageSizeMax: {
    value: 150,
    meets: { method: 'GET', path: '/tokens?size=150' },
    breaks: { method: 'GET', path: '/tokens?size=151' },
  },
  searchQueryCharactersMax: {
    value: 30,
    meets: post({ query: `data:${'x'.repeat(25)}` }, '/tokens/search'),
    breaks: post({ query: `data:${'x'.repeat(26)}` }, '/tokens/search'),
  },
  nameCharactersMax: {
    value: 210,
    meets: application({ name: 'n'.repeat(210) }),
    breaks: application({ name: 'n'.repeat(211) }),
  },
  rulesPerApplication: {
    value: 2,
    meets: application({ rules: rules(2) }),
    breaks: application({ rules: rules(3) }),
  },
  liveKeysPerApplication: {
    value: 2,
    meets: post({}, '/applications/:application/keys'),
    breaks: post({}, '/applications/:application/keys'),
  },
}
const names = Object.keys(settings) as (keyof typeof settings)[]
const wanted: SetLimits = {
  ...Object.fromEntries(names.map(name => [name, settings[name].value])),
  pageSizeDefault: 7,
}

describe('limits that an operator sets', () => {
  const site = new Site()
  let ask: (wish: Ask) => Promise<{ status: number; text: string }>
  before(async () => {
    const text = Object.entries(wanted).map(pair => pair.join('='))
    const program = site.start(['dev', '--port', '0', '--limits', text.join(',')])
    await program.line('stdout', line => line.includes('They are kept in'))
    const keys = JSON.parse(readFileSync(join(site.path, '.strongroom/dev-keys.json'), 'utf8'))
    const send = (key: string, { method, path, body, headers }: Ask): Promise<Response> =>
      fetch(keys.base_url + path, {
        method,
        headers: { 'svc-api-key': key, 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    const { id } = (await (await send(keys.management_api_key, application({}))).json()) as { id: string }
    ask = async wish => {
      const path = wish.path.replace(':application', id)
      const key = path.startsWith('/applications')
        ? keys.management_api_key
        : wish.method === 'GET' || path.endsWith('/search')
          ? keys.private_api_key
          : keys.api_key
      const reply = await send(key, { ...wish, path })
      return { status: reply.status, text: await reply.text() }
    }
  })
  after(() => site.remove())

  test('every limit is tried here, with a value other than the usual one (C8.1)', () => {
    assert.deepEqual(Object.keys(wanted).sort(), Object.keys(ceilings).sort())
    for (const [name, value] of Object.entries(wanted))
      assert.notEqual(value, limits[name as keyof typeof limits], name)
  })

  for (const name of names)
    test(`${name} is what it was set to (C8.1)`, async () => {
      const { meets, breaks, status = 400 } = settings[name]
      const met = await ask(meets)
      assert.ok(met.status < 300, met.text)
      assert.equal((await ask(breaks)).status, status)
    })

  test('a token that would have more index entries than termsPerRequest is refused, by create and by patch (C8.19)', async () => {
    const containers = Array.from({ length: 12 }, (_, at) => `/c${at}/b/c/`)
    const many = { metadata: keysOf(60), search_indexes: Array(12).fill('{{ data }}') }
    const headers = { 'content-type': 'application/merge-patch+json' }
    const { id } = JSON.parse((await ask(create(many))).text)
    const move = (to: string[]) =>
      ask({ method: 'PATCH', path: `/tokens/${id}`, headers, body: { containers: to } })
    for (const { status, text } of [await ask(create({ ...many, containers })), await move(containers)]) {
      assert.equal(status, 400)
      assert.match(JSON.parse(text).errors.$[0], /^must make at most 100 index entries/)
    }
    assert.equal((await move(containers.slice(0, 8))).status, 200)
  })

  test('pageSizeDefault is what it was set to (C8.1)', async () => {
    const { text } = await ask({ method: 'GET', path: '/tokens' })
    assert.equal(JSON.parse(text).pagination.page_size, 7)
  })

  test('messages and the OpenAPI document state the values that were set (C8.1, C36.3)', async () => {
    assert.match((await ask(create({ id: 'a#b' }))).text, /must have 3 to 40 characters/)
    const document = JSON.parse((await ask({ method: 'GET', path: '/openapi.json' })).text)
    assert.deepEqual(document['x-limits'], { ...limits, ...wanted })
    assert.equal(document.components.schemas.CreateToken.properties.search_indexes.maxItems, 12)
  })
})

describe('a token that was stored under wider limits', () => {
  const site = new Site()
  after(() => site.remove())
  const narrower = 'metadataKeys=4,metadataKeyCharactersMax=10,metadataValueCharactersMax=10'
  const stored = { long: 'v'.repeat(20), ['k'.repeat(20)]: 'v' }
  const patches: readonly { name: string; metadata: Record<string, string | null>; errors?: string[] }[] = [
    { name: 'a further key (C8.7)', metadata: { a: 'x' } },
    {
      name: 'as many keys as are allowed, and one in place of another (C8.7)',
      metadata: { a: null, b: 'x', c: 'y' },
    },
    { name: 'a value that is too long (C8.7)', metadata: { a: 'v'.repeat(11) }, errors: ['metadata.a'] },
    {
      name: 'a key that is too long (C8.7)',
      metadata: { ['a'.repeat(11)]: 'v' },
      errors: [`metadata.${'a'.repeat(11)}`],
    },
    { name: 'more keys than are allowed in all (C18.5)', metadata: { d: 'x' }, errors: ['metadata'] },
  ]

  test('is refused only what the change brings, and too many keys in all (C2.2, C18.5)', {
    skip: inShortRun,
  }, async () => {
    const wider = await site.serve()
    const { api_key: key } = await site.json('tenant', 'create', '--name', 'T')
    const ask = async (url: string, { method, path, body }: Ask, type: string) => {
      const headers = { 'svc-api-key': key, 'content-type': type }
      const reply = await fetch(url + path, { method, headers, body: JSON.stringify(body) })
      return { status: reply.status, body: JSON.parse(await reply.text()) }
    }
    const created = await ask(wider.url, create({ metadata: stored }), 'application/json')
    assert.equal(created.status, 201)
    await wider.end()

    const { url } = await site.serve(['--limits', narrower])
    for (const { name, metadata, errors } of patches) {
      const patch = { method: 'PATCH', path: `/tokens/${created.body.id}`, body: { metadata } }
      const { status, body } = await ask(url, patch, 'application/merge-patch+json')
      assert.equal(status, errors === undefined ? 200 : 400, name)
      assert.deepEqual(body.errors && Object.keys(body.errors), errors, name)
    }
  })
})
