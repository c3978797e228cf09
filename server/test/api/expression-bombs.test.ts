import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { inShortRun } from '../rig/long-run.ts'
import { owner } from '../rig/test-vault.ts'

const number = '4242424242424242'
const large = 'a'.repeat(900_000)
const zeros = '0'.repeat(900_000)
const list = Array.from({ length: 120_000 }, (_, at) => at)
const nested = (levels: number): unknown =>
  levels === 0 ? 'x' : { a: nested(levels - 1), b: nested(levels - 1) }
const chain = (filter: string, times: number): string => `{{ data ${`| ${filter} `.repeat(times)}}}`
/** Takes most of what one mask may. */
const heavy = "{{ data.expiration_year | pad_left: 15000 | split: '' | size }}"
const heavyCard = { type: 'card', data: { number, expiration_year: 2030 }, mask: heavy }
/** Brackets, 25 deep. A hundred of these are what one rendering may pay for. */
const manyBrackets = Array.from({ length: 160 }, () => {
  let list: unknown[] = []
  for (let level = 1; level < 25; level++) list = [list]
  return list
})
const brackets = manyBrackets.slice(0, 100)
/** Its mask renders each of the twelve digits nine more times when it is judged. */
const shortCard = (mask: unknown): unknown => ({ type: 'card', data: { number: '500000000611' }, mask })
const costly = '{{ data | pad_left: 10000 | upcase | downcase | upcase | size }}'

/** Requests meant to make the vault work hard; `status` is given where only one is right. */
const bombs: readonly { name: string; path?: string; body: unknown; status?: number }[] = [
  {
    name: 'a thousand leaves that each show all the data',
    body: { type: 'token', data: large, mask: Array(1_000).fill('{{data}}') },
    status: 400,
  },
  {
    name: 'a text that shows the data forty times',
    body: { type: 'token', data: large, mask: '{{data}}'.repeat(40) },
    status: 400,
  },
  {
    name: 'a text that doubles itself',
    body: { type: 'token', data: large, mask: chain('append: data', 20) },
    status: 400,
  },
  {
    name: 'replacements that multiply',
    body: { type: 'token', data: 'ab', mask: chain("replace: '', 'aaaaaaaa'", 12) },
    status: 400,
  },
  {
    name: 'a slow substring search',
    body: {
      type: 'token',
      data: { text: zeros.slice(0, 450_000), pattern: `${zeros.slice(0, 200_000)}1` },
      mask: '{{ data.text | remove: data.pattern | size }}',
    },
  },
  {
    name: 'endless padding',
    body: { type: 'token', data: 'x', mask: '{{ data | pad_left: 999999999 }}' },
    status: 400,
  },
  {
    name: 'an endless date format',
    body: { type: 'token', data: '%A'.repeat(400_000), mask: '{{ 0 | date: data }}' },
  },
  {
    name: 'four endless date formats',
    body: { type: 'token', data: '%F'.repeat(400_000), mask: Array(4).fill('{{ 0 | date: data | size }}') },
    status: 400,
  },
  {
    name: 'an endless date format in every index',
    body: {
      type: 'token',
      data: '%j'.repeat(400_000),
      search_indexes: Array(10).fill('{{ 0 | date: data }}'),
    },
    status: 400,
  },
  {
    name: 'five endless formats of an expiry',
    body: {
      type: 'token',
      data: { expiration_month: 1, expiration_year: 2030, format: '/M'.repeat(400_000) },
      mask: Array(5).fill('{{ data | card_exp: data.format | size }}'),
    },
    status: 400,
  },
  {
    name: 'a long text split into characters',
    body: { type: 'token', data: large, mask: "{{ data | split: '' | reverse | sort | uniq | join: '' }}" },
    status: 400,
  },
  {
    name: 'a long list, sorted twice',
    body: { type: 'token', data: list, mask: '{{ data | sort | reverse | sort | size }}' },
  },
  {
    name: 'a long list of tiny numbers, joined twice',
    body: { type: 'token', data: Array(200_000).fill(1e-7), mask: "{{data|join:''|size}}".repeat(2) },
    status: 400,
  },
  { name: 'a long list, made unique', body: { type: 'token', data: list, mask: '{{ data | uniq | size }}' } },
  {
    name: 'a long list of objects, made unique by every index',
    body: {
      type: 'token',
      data: list.slice(0, 20_000).map(at => ({ a: at, b: [at] })),
      search_indexes: Array(10).fill(chain('uniq', 3)),
    },
    status: 400,
  },
  {
    name: 'a list that grows',
    body: { type: 'token', data: list, mask: chain('concat: data', 25) },
    status: 400,
  },
  {
    name: 'huge numbers',
    body: {
      type: 'token',
      data: 1e308,
      mask: '{{ data | times: 1e308 | times: -1e308 | round: 999999999 }}',
    },
  },
  {
    name: 'ten indexes over all the data',
    body: { type: 'token', data: large, search_indexes: Array(10).fill(chain('upcase | downcase', 8)) },
  },
  {
    name: 'indexes that each take little of the data, and together too much',
    body: { type: 'token', data: large, search_indexes: Array(10).fill('{{ data | upcase }}') },
    status: 400,
  },
  {
    name: 'an index over all the data',
    body: { type: 'token', data: large, search_indexes: ['{{ data | upcase }}'] },
    status: 201,
  },
  {
    name: 'a fingerprint over a deep object',
    body: { type: 'token', data: nested(15), fingerprint_expression: chain('stringify', 20) },
  },
  {
    name: 'a fingerprint over all metadata',
    body: {
      type: 'token',
      data: 'x',
      metadata: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, 'v'.repeat(1_024)])),
      fingerprint_expression: '{{metadata|stringify}}'.repeat(18),
    },
  },
  {
    name: 'an id made of all the data',
    body: { type: 'token', id: '{{ data | alias_preserve_length: 0, 0 }}', data: large },
    status: 400,
  },
  {
    name: 'an id that grows',
    body: { type: 'token', id: chain('append: data', 20), data: large },
    status: 400,
  },
  {
    name: 'three hundred deep paths',
    body: {
      type: 'token',
      data: nested(12),
      mask: Array.from({ length: 300 }, () => `{{ data${'.a'.repeat(12)} }}`),
    },
  },
  {
    name: 'endless brackets',
    body: { type: 'token', data: 1, mask: `{{ data${'['.repeat(380)} }}` },
    status: 400,
  },
  { name: 'endless braces', body: { type: 'token', data: 1, mask: '{{'.repeat(200) }, status: 400 },
  {
    name: 'ten thousand unknown fields',
    body: {
      type: 'token',
      data: 1,
      ...Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, 1])),
    },
    status: 400,
  },
  {
    name: 'fifty thousand unknown properties',
    body: {
      type: 'card',
      data: Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`f${at}`, 1])),
    },
    status: 400,
  },
  {
    name: 'eighty thousand metadata keys',
    body: {
      type: 'token',
      data: 1,
      metadata: Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`f${at}`, ''])),
    },
    status: 400,
  },
  { name: 'a card with an expensive mask', body: heavyCard },
  {
    name: 'a thousand cards with expensive masks',
    path: '/tokenize',
    body: Array(1_000).fill(heavyCard),
    status: 400,
  },
  {
    name: 'sixty cards with masks of brackets beside four digits',
    path: '/tokenize',
    body: Array(60).fill(shortCard(['{{ data.number | last4 }}', ...brackets])),
    status: 200,
  },
  {
    name: 'a card with a mask of more brackets than one rendering may pay for',
    body: shortCard(manyBrackets),
    status: 400,
  },
  {
    name: 'sixty cards with masks of four thousand empty texts',
    path: '/tokenize',
    body: Array(60).fill(shortCard(['{{ data.number | last4 }}', ...Array(4_000).fill('')])),
    status: 200,
  },
  {
    name: 'sixty cards with masks of eight hundred outputs without a filter',
    path: '/tokenize',
    body: Array(60).fill(shortCard(Array(800).fill('{{data.a}}'))),
    status: 200,
  },
  {
    name: 'sixty cards with masks of five hundred leaves that could each show the number',
    path: '/tokenize',
    body: Array(60).fill(shortCard(Array.from({ length: 500 }, (_, at) => `{{data|json:'$.a${at}'}}`))),
    status: 400,
  },
  {
    name: 'a card whose number is padded, escaped and encoded',
    body: shortCard('{{ data.number | pad_left: 20000 | escape | url_encode | size }}'),
    status: 400,
  },
  {
    name: 'a long text split and sorted by its mask',
    body: { type: 'token', data: large, mask: "{{ data | split: '' | sort | size }}" },
    status: 400,
  },
  {
    name: 'a text of 120 kB split and sorted by its index',
    body: {
      type: 'token',
      data: large.slice(0, 120_000),
      search_indexes: ["{{ data | split: '' | sort | size }}0"],
    },
    status: 400,
  },
  {
    name: 'a thousand tokens in ten containers of sixteen levels',
    path: '/tokenize',
    body: Array.from({ length: 1_000 }, (_, token) => ({
      type: 'token',
      data: 'x',
      containers: Array.from({ length: 10 }, (_, at) => `/${token}c${at}${'/l'.repeat(15)}/`),
    })),
    status: 400,
  },
  {
    name: 'a thousand tokens with expensive indexes',
    path: '/tokenize',
    body: Array(1_000).fill({
      type: 'token',
      data: 'x',
      mask: costly,
      search_indexes: Array(10).fill(costly),
      fingerprint_expression: costly,
    }),
    status: 400,
  },
  {
    name: 'combining marks that take quadratic time to compose',
    body: {
      type: 'token',
      data: '\u0301\u0316'.repeat(400),
      search_indexes: ['{{ data }}'],
      metadata: { a: '\u0301\u0316'.repeat(500) },
    },
    status: 201,
  },
  {
    name: 'more combining marks than an index may fold',
    body: { type: 'token', data: '\u0301\u0316'.repeat(60_000), search_indexes: ['{{ data }}'] },
    status: 400,
  },
  {
    name: 'an alias much longer than an id may be',
    body: {
      type: 'token',
      data: 'x',
      id: "{{ data | pad_left: 8000 | replace: ' ', ' 1' | alias_preserve_format }}",
    },
    status: 400,
  },
  {
    name: 'a thousand expensive ids',
    path: '/tokenize',
    body: Array(1_000).fill({
      type: 'token',
      data: '0123456789ab',
      id: "{{ data | pad_left: 9000 | split: '' | sort | uniq | join: '' | alias_preserve_format | append: '-4242424242424242' }}",
    }),
    status: 400,
  },
  {
    name: 'four hundred ids of aliases that look like card numbers together, however they are drawn',
    path: '/tokenize',
    body: Array(400).fill({
      type: 'token',
      data: Array(16).fill(1).join(' '),
      id: '{{data|alias_preserve_format}}'.repeat(12),
    }),
    status: 400,
  },
  {
    name: 'a thousand aliases beside a text that looks like card numbers',
    path: '/tokenize',
    body: Array(1_000).fill({
      type: 'token',
      data: 'abcdef',
      id: `${'0 '.repeat(180)}{{data|alias_preserve_format}}`,
    }),
    status: 400,
  },
  {
    name: 'a thousand invalid cards',
    path: '/tokenize',
    body: Array(1_000).fill({ type: 'card', data: { number: '1', cvv: 1 } }),
    status: 400,
  },
]

onSqliteAlone('expression bombs', 'expressions are rendered above storage', vault => {
  /** The processor time that this process spends on it, whatever else the machine does. */
  const timed = async <T>(work: () => Promise<T>): Promise<{ reply: T; seconds: number }> => {
    const start = process.cpuUsage()
    const reply = await work()
    const { user, system } = process.cpuUsage(start)
    return { reply, seconds: (user + system) / 1e6 }
  }

  for (const { name, path = '/tokens', body, status } of bombs)
    test(`${name}: answered quickly and briefly (C20.7, C2.5)`, async () => {
      const { keys } = await vault().tenant({ owner })
      const { reply, seconds } = await timed(() => vault().post(path, keys.owner, body))
      assert.ok(status === undefined ? reply.status < 500 : reply.status === status, reply.text.slice(0, 300))
      assert.ok(seconds < 2, `${seconds} s`)
      assert.ok(reply.text.length < 3_000_000, `${reply.text.length} characters`)
      if (reply.status === 400) assert.ok(reply.text.length < 20_000, `${reply.text.length} characters`)
    })

  test('a thousand ordinary cards with their own masks are accepted (C20.7)', {
    skip: inShortRun,
  }, async () => {
    const { keys } = await vault().tenant({ owner })
    const mask = {
      bin: '{{ data.number | card_bin }}',
      last4: '{{ data.number | last4 }}',
      number: "{{ data.number | card_mask: 'true', 'true' }}",
      expires: "{{ data | card_exp: 'MM/YY' }}",
    }
    const body = Array(1_000).fill({
      type: 'card',
      data: { number, expiration_month: 1, expiration_year: 2030 },
      mask,
    })
    const { reply, seconds } = await timed(() => vault().post('/tokenize', keys.owner, body))
    assert.equal(reply.status, 200, reply.text.slice(0, 300))
    assert.deepEqual(reply.body[999].data, {
      bin: '42424242',
      last4: '4242',
      number: '42424242XXXX4242',
      expires: '01/30',
    })
    assert.ok(seconds < 5, `${seconds} s`)
  })

  test('what takes too much work is refused at its place, by create, tokenize and patch, and nothing is stored (C20.9)', async () => {
    const { keys } = await vault().tenant({ owner })
    const slow = "{{ data.a | split: '' | size }}"
    const long = { a: 'a'.repeat(100_000) }
    const message = 'split: takes too much work to evaluate, at character 13'
    const { id } = await vault().create(keys.owner, { type: 'token', data: { a: 'x' }, mask: { m: slow } })
    for (const [field, place] of [
      ['mask', 'mask'],
      ['fingerprint_expression', 'fingerprint_expression'],
      ['search_indexes', 'search_indexes[0]'],
    ] as const) {
      const part = { [field]: field === 'search_indexes' ? [slow] : slow }
      const definition = { type: 'token', data: long, ...part }
      const created = await vault().post('/tokens', keys.owner, definition)
      assert.deepEqual([created.status, created.body.errors], [400, { [place]: [message] }])
      const tokenized = await vault().post('/tokenize', keys.owner, { x: definition })
      assert.deepEqual([tokenized.status, tokenized.body.errors], [400, { [`x.${place}`]: [message] }])
      const patched = await vault().patch(`/tokens/${id}`, keys.owner, { data: long, mask: null, ...part })
      assert.deepEqual([patched.status, patched.body.errors], [400, { [place]: [message] }])
    }
    const grown = await vault().patch(`/tokens/${id}`, keys.owner, { data: long })
    assert.deepEqual([grown.status, grown.body.errors], [400, { 'mask.m': [message] }])
    const { body } = await vault().get('/tokens', keys.owner)
    assert.equal(body.pagination.total_items, 1)
  })

  test('a mask that takes too much work for data of a writer who does not see it shows nothing, and the log says so once for each read (C20.9, C13.2)', async () => {
    const { keys } = await vault().tenant({
      owner,
      writer: { permissions: ['token:update'] },
      masked: { permissions: ['token:read'] },
    })
    const mask = "{{ data.a | split: '' | size }}"
    const { id } = await vault().create(keys.owner, { type: 'token', data: { a: 'canary' }, mask })
    const grown = { data: { a: 'canary'.repeat(20_000) } }
    assert.equal((await vault().patch(`/tokens/${id}`, keys.writer, grown)).status, 200)
    const lines = () => vault().log.filter(line => line.includes('a mask takes too much work'))
    const before = lines().length
    const { status, body } = await vault().get(`/tokens/${id}`, keys.masked)
    assert.equal(status, 200)
    assert.equal('data' in body, false)
    const [line = '', ...others] = lines().slice(before)
    assert.deepEqual(others, [])
    assert.ok(line.includes(`token ${id} of tenant`), line)
    assert.ok(!line.includes('canary') && !line.includes('split'), line)
  })

  test('a token is found by what its indexes rendered when data or indexes were last written (C20.9, C26.6)', async () => {
    const { keys } = await vault().tenant({ owner })
    const search_indexes = ['{{ data.a }}', '{{ data.c }}']
    const data = { a: 'one', b: 'two' }
    const { id } = await vault().create(keys.owner, { type: 'token', data, search_indexes })
    const found = async (condition: string): Promise<number> => {
      const query = `type:token AND ${condition}`
      return (await vault().post('/tokens/search', keys.owner, { query })).body.data.length
    }
    const finds = async (...conditions: string[]) => {
      for (const condition of conditions) assert.equal(await found(condition), 1, condition)
      for (const condition of conditions) assert.equal(await found(`NOT (${condition})`), 0, condition)
    }
    await finds('data:one', 'data:ONE', 'NOT data:two')
    await vault().patch(`/tokens/${id}`, keys.owner, { metadata: { k: 'v' } })
    await finds('data:one', 'NOT data:two')
    await vault().patch(`/tokens/${id}`, keys.owner, { data: { a: 'three', c: 'four' } })
    await finds('NOT data:one', 'data:three', 'data:four')
    await vault().patch(`/tokens/${id}`, keys.owner, { search_indexes: ['{{ data.b }}'] })
    await finds('NOT data:three', 'data:two')
    assert.equal((await vault().delete(`/tokens/${id}`, keys.owner)).status, 204)
    assert.equal(await found('data:two'), 0)
  })

  test('a mask of brackets that is accepted is also rendered when it is read (C20.7)', async () => {
    const { keys } = await vault().tenant({ owner, masked: { permissions: ['token:read'] } })
    const { id } = await vault().create(keys.owner, shortCard(['{{ data.number | last4 }}', ...brackets]))
    const { body } = await vault().get(`/tokens/${id}`, keys.masked)
    assert.deepEqual(body.data, ['0611', ...brackets])
  })

  test('a bomb in an update is refused too, and the token is unchanged (C20.7)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, { type: 'token', data: large })
    const before = (await vault().get(`/tokens/${id}`, keys.owner)).text
    for (const patch of [
      { mask: Array(1_000).fill('{{data}}') },
      { fingerprint_expression: chain('append: data', 20) },
      { search_indexes: [chain('concat: data', 25)] },
    ]) {
      const { reply, seconds } = await timed(() => vault().patch(`/tokens/${id}`, keys.owner, patch))
      assert.equal(reply.status, 400)
      assert.ok(seconds < 3, `${seconds} s`)
    }
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).text, before)
  })

  test('a patch of many keys is judged quickly against expressions of many paths (C20.7)', {
    skip: inShortRun,
  }, async () => {
    const { keys } = await vault().tenant({ owner, form: { type: 'public', permissions: ['token:update'] } })
    const manyPaths = `{{data.z${'|default:data.z'.repeat(25)}}}`
    const mask = Array(42).fill(manyPaths)
    const { id } = await vault().create(keys.owner, { type: 'token', data: { z: 1 }, mask })
    const data = Object.fromEntries(Array.from({ length: 90_000 }, (_, at) => [`k${at}`, 1]))
    const { reply, seconds } = await timed(() => vault().patch(`/tokens/${id}`, keys.form, { data }))
    assert.equal(reply.status, 200, reply.text.slice(0, 300))
    assert.ok(seconds < 3, `${seconds} s`)
  })

  test('a page of a hundred tokens with the dearest masks is read quickly (C20.9)', async () => {
    const { keys } = await vault().tenant({ owner, masked: { permissions: ['token:read'] } })
    const body = Array(100).fill({ type: 'token', data: { expiration_year: 2030 }, mask: heavy })
    assert.equal((await vault().post('/tokenize', keys.owner, body)).status, 200)
    const { reply, seconds } = await timed(() => vault().get('/tokens?size=100', keys.masked))
    assert.deepEqual(reply.body.data[99].data, 15_000)
    assert.ok(seconds < 1, `${seconds} s`)
  })

  test('indexes set by a caller who may not read the data slow down no patch and no sweep, and others are answered meanwhile (C20.7)', async () => {
    const { keys } = await vault().tenant({
      owner,
      blind: { permissions: ['token:create', 'token:update'] },
    })
    const heavyIndexes = Array.from({ length: 9 }, (_, at) => `${at}{{ data | split: '' | sort | first }}`)
    const indexes = ['{{ data | size }}', ...heavyIndexes]
    const expires_at = new Date(vault().now + 60_000).toISOString()
    for (const id of ['one', 'two', 'three', 'four']) {
      await vault().create(keys.blind, { id, type: 'token', data: large, expires_at })
      for (const patch of [{ search_indexes: indexes }, { metadata: { a: 'b' } }]) {
        const { reply, seconds } = await timed(() => vault().patch(`/tokens/${id}`, keys.blind, patch))
        assert.equal(reply.status, 200, reply.text.slice(0, 300))
        assert.ok(seconds < 2, `${seconds} s`)
      }
    }
    // Only those that fit into what the indexes of a token may take together.
    const { body } = await vault().post('/tokens/search', keys.owner, { query: `data:${large.length}` })
    assert.equal(body.pagination.total_items, 4)

    vault().now += 60_000
    const done: string[] = []
    const [{ seconds }] = await Promise.all([
      timed(() => vault().service.jobTimer.runAll()).finally(() => done.push('sweep')),
      vault()
        .send('GET', '/health')
        .finally(() => done.push('health')),
    ])
    assert.deepEqual(done, ['health', 'sweep'])
    assert.ok(seconds < 2, `${seconds} s`)
    assert.equal((await vault().get('/tokens/one', keys.owner)).status, 404)
  })
})
