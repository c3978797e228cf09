import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { OracleRule } from '../rig/access-oracle.ts'
import type { TestReply } from '../rig/answers.ts'
import { engines } from '../rig/engines.ts'
import { tries } from '../rig/long-run.ts'
import { fc } from '../rig/properties.ts'
import { TestVault } from '../rig/test-vault.ts'
import { isAnswerable, type ModelQuery, type ModelToken, modelSearch } from './search-model.ts'

const hourMs = 3_600_000
const both = ['token:read', 'token:search'] as const

type Rule = OracleRule & { readonly priority: number }

const apart: readonly Rule[] = [
  { priority: 1, container: '/general/high/', transform: 'reveal', permissions: ['token:search'] },
  { priority: 2, container: '/generals/', transform: 'redact', permissions: ['token:search'] },
  { priority: 3, container: '/general/', transform: 'mask', permissions: ['token:read'] },
  { priority: 4, container: '/bank/high/', transform: 'reveal', permissions: ['token:read'] },
]
/** With so many more rules, each token would be looked up so often that it is opened instead. */
const elsewhere = Array.from({ length: 46 }, (_, at): Rule => {
  return { priority: 10 + at, container: `/elsewhere/${at}/`, transform: 'mask', permissions: both }
})

/** Callers who see tokens in every possible way; rules in order of priority. */
const callers: Record<string, readonly Rule[]> = {
  whole: [{ priority: 1, container: '/', transform: 'reveal', permissions: both }],
  masked: [{ priority: 1, container: '/', transform: 'mask', permissions: both }],
  redacted: [{ priority: 1, container: '/', transform: 'redact', permissions: both }],
  part: [{ priority: 1, container: '/general/', transform: 'reveal', permissions: both }],
  mixed: [
    { priority: 1, container: '/general/high/', transform: 'reveal', permissions: ['token:read'] },
    { priority: 3, container: '/bank/high/', transform: 'redact', permissions: ['token:read'] },
    { priority: 5, container: '/', transform: 'mask', permissions: both },
  ],
  apart,
  crowded: [...apart, ...elsewhere],
}

/** All at once: the vault then answers them in the same turns, which costs less than one after the other. */
const ofEachCaller = async (work: (name: string, rules: readonly Rule[]) => Promise<void>): Promise<void> => {
  await Promise.all(Object.entries(callers).map(([name, rules]) => work(name, rules)))
}

/** Two of them are where a type puts its tokens, which the index says in one entry; a token of another type may lie there too. */
const containers = ['/general/', '/general/high/', '/bank/high/', '/generals/']
const words = ['red', 'Red', 'RED BLUE', 'zürich', '12345', '']
/** C16.8: metadata does not hold the number of its own token. */
const notes = words.filter(word => word !== '12345')
const days = ['2026-02-28', '2026-03-01', '2026-03-02', '2026-03-03']
const people = ['maker', 'other']

type Patch = {
  readonly metadata?: Readonly<Record<string, string | null>>
  readonly containers?: readonly string[]
  readonly search_indexes?: readonly string[] | null
  readonly data?: string
  readonly expires_at?: null
}

const newToken = fc.record({
  type: fc.constantFrom('token', 'us_bank_account_number'),
  word: fc.constantFrom('red', 'Red', 'RED BLUE', 'Zürich'),
  digits: fc.constantFrom('12345', '54321'),
  containers: fc.uniqueArray(fc.constantFrom(...containers), { minLength: 1, maxLength: 2 }),
  metadata: fc.dictionary(fc.constantFrom('k', 'odd key'), fc.constantFrom(...notes), { maxKeys: 2 }),
  /** Expressions as both the vault and the model know them. */
  indexes: fc.subarray(['{{ data }}', '{{ data | append: "!" }}']),
  maker: fc.constantFrom(...people),
  /** Hours that pass before it is created: 0 makes ties, 12 the first moment of a day. */
  wait: fc.constantFrom(0, 0, 9, 12, 30),
  lifetime: fc.constantFrom(undefined, undefined, undefined, 20, 200),
  /** Who changes it afterwards, if anyone, and to what. */
  editor: fc.constantFrom(undefined, undefined, ...people),
  patch: fc.constantFrom<Patch>(
    { metadata: { k: 'red' } },
    { metadata: { k: null, 'odd key': 'RED BLUE' } },
    { containers: ['/general/high/', '/bank/high/'] },
    { containers: ['/general/'] },
    { containers: ['/general/high/'] },
    { search_indexes: ['{{ data | append: "!" }}'] },
    { search_indexes: null },
    { data: '54321' },
    { expires_at: null },
    {},
  ),
  isDeleted: fc.constantFrom(false, false, false, true),
})
type NewToken = typeof newToken extends fc.Arbitrary<infer T> ? T : never

const dateEnd = fc.option(fc.constantFrom(...days), { nil: undefined })
const text = (field: string, ...values: string[]) =>
  fc.constantFrom(...values).map(value => ({ op: 'term', field, value }) as const)
const date = (field: string) =>
  fc.oneof(
    text(field, ...days),
    fc
      .record({ from: dateEnd, to: dateEnd, openFrom: fc.boolean(), openTo: fc.boolean() })
      .filter(({ from, to }) => from === undefined || to === undefined || from <= to)
      .map(({ from, to, ...ends }) => ({
        op: 'term' as const,
        field,
        ...ends,
        ...(from !== undefined && { from }),
        ...(to !== undefined && { to }),
      })),
  )
const term: fc.Arbitrary<ModelQuery> = fc.oneof(
  text('id', 'token-0', 'token-1', 'token-2', 'none'),
  text('type', 'token', 'us_bank_account_number', 'card'),
  text('data', ...words, 'red!', '12345!'),
  text('fingerprint', 'of token-0', 'of token-1', 'none'),
  text('container', ...containers, ...containers.map(container => `${container}*`), '/*'),
  // The only one that contains another, so the one that an index could get wrong.
  text('container', '/general/'),
  text('metadata.k', ...words),
  text('metadata.odd key', ...words),
  text('created_by', ...people),
  text('modified_by', ...people),
  date('created_at'),
  date('modified_at'),
)
const query = fc.letrec<{ query: ModelQuery }>(tie => ({
  query: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    term,
    fc.record({
      op: fc.constantFrom('and' as const, 'or' as const),
      left: tie('query'),
      right: tie('query'),
    }),
    fc.record({ op: fc.constant('not' as const), of: tie('query') }),
  ),
})).query
/** Half of the queries get a term that an index can answer, so that most are not refused. */
const asked = fc.oneof(
  query,
  fc.record({ op: fc.constant('and' as const), left: text('type', 'token'), right: query }),
)

/** Parameters of a list. */
type Filter = readonly (readonly [field: string, value: string])[]
const parameter = (field: string, ...values: string[]) =>
  fc.option(
    fc.constantFrom(...values).map(value => [field, value] as const),
    { nil: undefined, freq: 1 },
  )
const filter: fc.Arbitrary<Filter> = fc
  .tuple(
    fc.subarray(['token-0', 'token-1', 'token-3', 'none']).map(ids => ids.map(id => ['id', id] as const)),
    fc
      .subarray(['token', 'us_bank_account_number', 'card'])
      .map(all => all.map(one => ['type', one] as const)),
    parameter('container', ...containers, '/'),
    parameter('fingerprint', 'of token-0', 'of token-1'),
    parameter('metadata.k', ...words),
    parameter('metadata.odd key', ...words),
    fc.nat(63),
  )
  // Each group is present in half of the lists, so that some have no filter at all.
  .map(([ids, types, ...others]) => {
    const chosen = others.pop() as number
    const groups = [
      ids,
      types,
      ...others.map(one => (Array.isArray(one) ? [one as readonly [string, string]] : [])),
    ]
    return groups.flatMap((group, index) => ((chosen >> index) & 1 ? group : []))
  })

/** The same as a query: values of one field are alternatives, different fields must all match. */
const filterQuery = (parameters: Filter): ModelQuery => {
  const anything: ModelQuery = { op: 'term', field: 'container', value: '/*' }
  const fields = [...new Set(parameters.map(([field]) => field))]
  return fields
    .map(field =>
      parameters
        .filter(([own]) => own === field)
        .map(
          ([, value]): ModelQuery => ({
            op: 'term',
            field,
            value: field === 'container' ? `${value}*` : value,
          }),
        )
        .reduce((left, right) => ({ op: 'or', left, right })),
    )
    .reduce((left, right) => ({ op: 'and', left, right }), anything)
}

/** The query in the vault's language; `style` picks among equivalent spellings. */
const write = (node: ModelQuery, style: number, names: ReadonlyMap<string, string>): string => {
  if (node.op === 'not') return `${['NOT ', '-', '! '][style % 3]}${wrap(node.of, style + 1, names)}`
  if (node.op !== 'term') {
    const joint = node.op === 'or' ? ' OR ' : style % 2 === 0 ? ' ' : ' AND '
    return wrap(node.left, style + 1, names) + joint + wrap(node.right, style + 2, names)
  }
  const field = node.field === 'metadata.odd key' ? 'metadata."odd key"' : node.field
  if ('value' in node) {
    const value = names.get(node.value) ?? node.value
    const isPlain = /^[\w:/-]+\*?$/.test(value) && style % 2 === 0
    return `${field}:${isPlain ? value : `"${value}"`}`
  }
  const { from = '*', to = '*', openFrom, openTo } = node
  return `${field}:${openFrom ? '{' : '['}${from} TO ${to}${openTo ? '}' : ']'}`
}
const wrap = (node: ModelQuery, style: number, names: ReadonlyMap<string, string>): string =>
  node.op === 'term' ? write(node, style, names) : `(${write(node, style, names)})`

/** Replaces names that stand for what only the vault knows (ids of applications, fingerprints). */
const resolve = (node: ModelQuery, names: ReadonlyMap<string, string>): ModelQuery => {
  if (node.op === 'not') return { ...node, of: resolve(node.of, names) }
  if (node.op !== 'term')
    return { ...node, left: resolve(node.left, names), right: resolve(node.right, names) }
  return 'value' in node ? { ...node, value: names.get(node.value) ?? node.value } : node
}

/** All ids, page by page, each page requested with the cursor of the one before. All pages but the last are full. */
const walk = async (page: (start: string) => Promise<TestReply>): Promise<string[]> => {
  const ids: string[] = []
  for (let start: string | undefined = ''; start !== undefined; ) {
    const { pagination, data }: TestReply['body'] = (await page(start)).body
    ids.push(...data.map((token: { id: string }) => token.id))
    start = pagination.next
    if (start !== undefined) assert.equal(data.length, pagination.page_size)
  }
  return ids
}

for (const engine of engines)
  describe(`search against a naive model (${engine.name})`, () => {
    let vault: TestVault
    const start = Date.parse('2026-03-01T12:00:00Z')
    before(async () => {
      vault = await TestVault.start({ engine, now: start })
    })
    after(() => vault.stop())

    /** Creates the tokens in a new tenant, and returns what the model knows of them. */
    const fill = async (wanted: readonly NewToken[]) => {
      vault.now = start
      const writes = { permissions: ['token:create', 'token:update'] } as const
      const { keys } = await vault.tenant({
        maker: writes,
        other: writes,
        remover: { permissions: ['token:delete'] },
        ...Object.fromEntries(Object.entries(callers).map(([name, rules]) => [name, { rules }])),
      })
      const keyOf = (name: string): string => (keys as Record<string, string>)[name]!
      const names = new Map<string, string>()
      for (const name of people) names.set(name, (await vault.get('/applications/key', keyOf(name))).body.id)

      const tokens: ModelToken[] = []
      for (const [index, token] of wanted.entries()) {
        vault.now += token.wait * hourMs
        const id = `token-${index}`
        const data = token.type === 'token' ? token.word : token.digits
        const expiresAt = token.lifetime === undefined ? undefined : vault.now + token.lifetime * hourMs
        const createdAt = vault.now
        const made = await vault.post('/tokens', keyOf(token.maker), {
          id,
          type: token.type,
          data,
          containers: token.containers,
          metadata: token.metadata,
          search_indexes: token.indexes,
          ...(expiresAt !== undefined && { expires_at: new Date(expiresAt).toISOString() }),
        })
        assert.equal(made.status, 201, made.text)
        if (token.editor !== undefined) {
          vault.now += hourMs
          const changed = await vault.patch(`/tokens/${id}`, keyOf(token.editor), token.patch)
          assert.equal(changed.status, 200, changed.text)
        }
        const { patch }: { patch: Patch } = token.editor === undefined ? { patch: {} } : token
        const now = { data: patch.data ?? data, indexes: patch.search_indexes ?? token.indexes }
        if (patch.search_indexes === null) now.indexes = []
        const seen = await vault.get(`/tokens/${id}`, keyOf('whole'))
        assert.equal(seen.status, 200, seen.text)
        names.set(`of ${id}`, seen.body.fingerprint)
        const metadata = Object.entries({ ...token.metadata, ...patch.metadata })
        if (token.isDeleted) {
          const deleted = await vault.delete(`/tokens/${id}`, keyOf('remover'))
          assert.equal(deleted.status, 204, deleted.text)
          continue
        }
        tokens.push({
          id,
          type: token.type,
          containers: patch.containers ?? token.containers,
          metadata: Object.fromEntries(metadata.filter(([, value]) => value !== null)) as Record<
            string,
            string
          >,
          indexed: now.indexes.map(expression => (expression.includes('append') ? `${now.data}!` : now.data)),
          fingerprint: seen.body.fingerprint,
          createdAt,
          createdBy: names.get(token.maker)!,
          ...(token.editor !== undefined && { modified: { at: vault.now, by: names.get(token.editor)! } }),
          ...(expiresAt !== undefined && patch.expires_at !== null && { expiresAt }),
        })
      }
      return { keyOf, names, tokens }
    }

    test('every search finds what the model finds, by page and by cursor (C26)', async () => {
      let answered = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(newToken, { maxLength: 7 }),
          fc.array(
            fc.record({
              query: asked,
              style: fc.nat(5),
              page: fc.constantFrom(1, 1, 2),
              size: fc.constantFrom(2, 20),
            }),
            {
              minLength: 1,
              maxLength: 6,
            },
          ),
          async (wanted, searches) => {
            const { keyOf, names, tokens } = await fill(wanted)
            for (const { query, style, page, size } of searches)
              await ofEachCaller(async (name, rules) => {
                const text = write(query, style, names)
                const reply = await vault.post('/tokens/search', keyOf(name), { query: text, page, size })
                if (text.length > 400 || !isAnswerable(query)) {
                  assert.equal(reply.status, 400, text)
                  return
                }
                assert.equal(reply.status, 200, `${text}: ${reply.text}`)
                answered++
                const expected = modelSearch(tokens, { rules }, resolve(query, names), vault.now)
                assert.equal(reply.body.pagination.total_items, expected.length, `${name}: ${text}`)
                assert.deepEqual(
                  reply.body.data.map((token: { id: string }) => token.id),
                  expected.slice((page - 1) * size, page * size),
                  `${name}: ${text}`,
                )
                const walked = await walk(start =>
                  vault.post('/v2/tokens/search', keyOf(name), { query: text, size: 1, start }),
                )
                assert.deepEqual(walked, expected, `by cursor, ${name}: ${text}`)
              })
          },
        ),
        { numRuns: tries(6) },
      )
      assert.ok(answered > tries(45), `only ${answered} searches were answered`)
    })

    test('every list shows what the model finds, by page and by cursor (C24, C25)', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(newToken, { maxLength: 8 }),
          fc.array(fc.record({ filter, size: fc.constantFrom(1, 2, 20) }), { minLength: 1, maxLength: 3 }),
          async (wanted, lists) => {
            const { keyOf, names, tokens } = await fill(wanted)
            for (const { filter, size } of lists)
              await ofEachCaller(async (name, rules) => {
                const meant = resolve(filterQuery(filter), names)
                const expected = modelSearch(tokens, { rules }, meant, vault.now, ['token:read'])
                const ask = (path: string, more: Record<string, string>) => {
                  const query = new URLSearchParams(
                    filter.map(([field, value]): [string, string] => [field, names.get(value) ?? value]),
                  )
                  for (const [key, value] of Object.entries({ size: String(size), ...more }))
                    query.append(key, value)
                  return vault.get(`${path}?${query}`, keyOf(name))
                }
                const context = `${name}: ${JSON.stringify(filter)}`
                assert.deepEqual(await walk(start => ask('/v2/tokens', { start })), expected, context)
                for (const page of [1, 2]) {
                  const { body } = await ask('/tokens', { page: String(page) })
                  assert.equal(body.pagination.total_items, expected.length, context)
                  assert.deepEqual(
                    body.data.map((token: { id: string }) => token.id),
                    expected.slice((page - 1) * size, page * size),
                    context,
                  )
                }
              })
          },
        ),
        { numRuns: tries(4) },
      )
    })
  })
