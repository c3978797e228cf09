import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Rule, Transform } from '../../src/domain/access/application.ts'
import type { Permission } from '../../src/domain/access/permissions.ts'
import { limits } from '../../src/domain/limits.ts'
import { pace } from '../../src/domain/pace.ts'
import type { TestReply } from '../rig/answers.ts'
import { engines } from '../rig/engines.ts'
import { devApplications, type TestApplication, TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const rule = (priority: number, container: string, transform: Transform, ...verbs: string[]): Rule => ({
  priority,
  container,
  transform,
  permissions: verbs.map(verb => `token:${verb}` as Rule['permissions'][number]),
})

const searching: readonly Permission[] = ['token:read', 'token:search']
/** A caller who would see some tokens under `redact`, though none that exist here. */
const partlyRedacted: TestApplication = {
  rules: [
    { priority: 1, container: '/elsewhere/', transform: 'redact', permissions: searching },
    { priority: 2, container: '/', transform: 'mask', permissions: searching },
  ],
}

for (const engine of engines)
  describe(`search tokens (${engine.name})`, () => {
    let vault: TestVault
    let keys: Record<
      'general' | 'private' | 'editor' | 'masked' | 'redacted' | 'onlyA' | 'searchA' | 'blind' | 'reader',
      string
    >
    let editorId: string
    let afterLast: string
    before(async () => {
      vault = await TestVault.start({ engine })
      ;({ keys } = await vault.tenant({
        ...devApplications,
        editor: { permissions: ['token:update'] },
        masked: { permissions: ['token:read', 'token:search'] },
        redacted: { rules: [rule(1, '/', 'redact', 'read', 'search')] },
        onlyA: { rules: [rule(1, '/a/', 'reveal', 'read', 'search')] },
        searchA: { rules: [rule(1, '/a/', 'reveal', 'search'), rule(2, '/', 'reveal', 'read')] },
        blind: { permissions: ['token:search'] },
        reader: { permissions: ['token:read'] },
      }))
      editorId = (await vault.get('/applications/key', keys.editor)).body.id
      const indexes = { search_indexes: ['{{ data }}'] }
      const tokens = [
        { id: 'red', data: 'Red Paint', containers: ['/a/'], metadata: { tone: 'Warm' }, ...indexes },
        { id: 'blue', data: 'blue', containers: ['/a/b/'], metadata: { tone: 'cold' }, ...indexes },
        { id: 'both', data: 'both', containers: ['/a/', '/c/'], metadata: { tone: 'warm' }, ...indexes },
        { id: 'plain', data: 'plain', containers: ['/c/'], mask: '{{ data | reveal_last: 2 }}' },
        { id: 'account', type: 'us_bank_account_number', data: '000123456', ...indexes },
      ]
      for (const token of tokens) {
        vault.now += 86_400_000
        const made = await vault.post('/tokens', keys.general, { type: 'token', ...token })
        assert.equal(made.status, 201, made.text)
      }
      vault.now += 86_400_000
      afterLast = new Date(vault.now).toISOString()
      assert.equal(
        (await vault.patch('/tokens/blue', keys.editor, { metadata: { seen: 'yes' } })).status,
        200,
      )
    })
    after(() => vault.stop())

    const search = (
      query: string,
      more: Record<string, unknown> = {},
      key = keys.private,
    ): Promise<TestReply> => vault.post('/tokens/search', key, { query, ...more })
    const found = async (query: string, key = keys.private): Promise<string[]> => {
      const reply = await search(query, {}, key)
      assert.equal(reply.status, 200, reply.text)
      const ids = reply.body.data.map((token: { id: string }) => token.id)
      assert.equal(reply.body.pagination.total_items, ids.length)
      return ids
    }

    test('an empty start, which client libraries of compatible services send, asks for nothing (C5.3, C6.1)', async () => {
      const reply = await search('id:blue', { page: null, start: null, size: null })
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(Object.keys((await search('id:blue', { start: 'x' })).body.errors), ['start'])
    })

    test('a key with a space is told from a value with one (C26.4)', async () => {
      const { keys: other } = await vault.tenant(devApplications)
      await vault.create(other.general, { id: 'key', type: 'token', data: 'x', metadata: { 'a b': 'c' } })
      await vault.create(other.general, { id: 'value', type: 'token', data: 'y', metadata: { a: 'b c' } })
      const query = 'type:token (metadata."a b":c OR metadata.a:"b c")'
      const { body } = await vault.post('/tokens/search', other.private, { query })
      assert.deepEqual(body.data.map(({ id }: { id: string }) => id).sort(), ['key', 'value'])
    })

    const everything = ['account', 'plain', 'both', 'blue', 'red']
    const answers: [ids: string, query: string, ...found: string[]][] = [
      ['C26.3', 'id:blue', 'blue'],
      ['C26.3', 'type:us_bank_account_number', 'account'],
      ['C26.3 C24.4', 'type:token', ...everything.slice(1)],
      ['C26.6', 'data:BLUE', 'blue'],
      ['C26.6', 'data:"red paint"', 'red'],
      ['C26.6', 'data:paint'],
      ['C26.6', 'data:plain'],
      ['C26.3', 'metadata.tone:WARM', 'both', 'red'],
      ['C26.5', 'container:/a/', 'both', 'red'],
      ['C26.5', 'container:"/a/*"', 'both', 'blue', 'red'],
      ['C26.5', 'container:/*', ...everything],
      ['C26.5', 'container:/bank/high/', 'account'],
      ['C26.5', 'container:/bank/*', 'account'],
      ['C26.5', 'container:/bank/'],
      ['C26.4', 'type:us_bank_account_number -container:/bank/high/'],
      ['C26.4', 'type:us_bank_account_number -container:/bank/', 'account'],
      ['C26.4', 'type:us_bank_account_number -container:/bank/*'],
      ['C26.4', 'container:/bank/high/ OR container:/c/', 'account', 'plain', 'both'],
      ['C26.4', 'metadata.tone:warm container:/c/', 'both'],
      ['C26.4', 'metadata.tone:warm OR id:plain', 'plain', 'both', 'red'],
      ['C26.4', 'type:token OR id:plain OR container:/*', ...everything],
      ['C26.4', 'container:/a/* -metadata.tone:warm', 'blue'],
      ['C26.4', 'container:/a/* !id:red', 'both', 'blue'],
      ['C26.4', 'container:/a/* AND NOT (metadata.tone:cold OR container:/c/)', 'red'],
      ['C26.4', 'type:token (id:red OR id:blue) NOT data:blue', 'red'],
      ['C26.5', 'type:token created_at:2026-03-02', 'red'],
      ['C26.5', 'type:token created_at:3/2/2026', 'red'],
      ['C26.5', 'type:token created_at:[2026-03-03 TO 2026-03-04]', 'both', 'blue'],
      ['C26.5', 'type:token created_at:{2026-03-03 TO *]', 'plain', 'both'],
      ['C26.5', 'type:token -created_at:[2026-03-03 TO *]', 'red'],
      ['C26.5', 'type:token created_at:[2026-03-03 TO *] created_at:[* TO 2026-03-04]', 'both', 'blue'],
      ['C26.5', 'type:token created_at:"3/2/2026 12:00:00 PM"', 'red'],
      ['C26.5 C26.8', 'created_at:2026-03-02', 'red'],
      ['C26.5 C26.8', 'id:blue OR created_at:2026-03-02', 'blue', 'red'],
      ['C26.5', 'container:/* modified_at:[2026-03-07 TO *]', 'blue'],
      ['C26.5', 'container:/* modified_at:[* TO *]', 'blue'],
      ['C26.5', 'container:/a/* -modified_at:[* TO *]', 'both', 'red'],
    ]
    for (const [ids, query, ...expected] of answers)
      test(`${query} finds ${expected.join(' ') || 'nothing'} (${ids.replaceAll(' ', ', ')})`, async () =>
        assert.deepEqual(await found(query), expected))

    test('tokens are found by who created and who changed them (C26.3)', async () => {
      const generalId = (await vault.get('/applications/key', keys.general)).body.id
      assert.deepEqual(await found(`container:/a/* created_by:${generalId}`), ['both', 'blue', 'red'])
      assert.deepEqual(await found(`container:/a/* created_by:${editorId}`), [])
      assert.deepEqual(await found(`container:/a/* modified_by:${editorId}`), ['blue'])
      assert.deepEqual(await found(`container:/a/* NOT modified_by:${editorId}`), ['both', 'red'])
    })

    const withZero: [query: string, ...found: string[]][] = [
      ['container:/a/* created_by:"\0"'],
      ['container:/a/* modified_by:"x\0y" OR id:"\0"'],
      ['container:/a/* NOT created_by:"\0"', 'both', 'blue', 'red'],
      ['container:/a/* NOT id:"x\0y"', 'both', 'blue', 'red'],
      ['container:/a/* NOT (id:red OR id:"x\0y")', 'both', 'blue'],
      ['id:red OR (type:token created_by:"\0")', 'red'],
    ]
    for (const [query, ...expected] of withZero)
      test(`a value that contains NUL equals nothing: ${JSON.stringify(query)} (C26.3, C26.4, C5.5)`, async () => {
        assert.deepEqual(await found(query), expected)
        const behind = await search(query, { page: 2, size: 10 })
        assert.deepEqual([behind.body.pagination.total_items, behind.body.data], [expected.length, []])
      })

    test('a fingerprint finds its token (C26.3)', async () => {
      const { fingerprint } = (await vault.get('/tokens/plain', keys.private)).body
      assert.deepEqual(await found(`fingerprint:${fingerprint}`), ['plain'])
    })

    test('pages work as in a list (C26.1, C24.1, C24.2)', async () => {
      const ids = async (page: number, size: number) => {
        const { status, body } = await search('container:/*', { page, size })
        assert.equal(status, 200)
        assert.deepEqual(body.pagination, {
          total_items: 5,
          page_number: page,
          page_size: size,
          total_pages: Math.ceil(5 / size),
        })
        return body.data.map((token: { id: string }) => token.id)
      }
      assert.deepEqual(await ids(1, 2), everything.slice(0, 2))
      assert.deepEqual(await ids(3, 2), everything.slice(4))
      assert.deepEqual(await ids(4, 2), [])
      const byDefault = (await search('container:/*', { page: null })).body.pagination
      assert.deepEqual([byDefault.page_number, byDefault.page_size], [1, 20])
      for (const more of [
        { page: 0 },
        { size: 0 },
        { size: 101 },
        { size: '5' },
        { page: 1.5 },
        { start: 'x' },
      ])
        assert.equal((await search('container:/*', more)).status, 400)
      // The same pages where every row has to be read.
      for (const [page, expected] of [
        everything.slice(0, 2),
        everything.slice(2, 4),
        everything.slice(4),
      ].entries()) {
        const { body } = await search(`container:/* -created_by:${editorId}`, { page: page + 1, size: 2 })
        assert.deepEqual(
          body.data.map((token: { id: string }) => token.id),
          expected,
        )
        assert.equal(body.pagination.total_items, 5)
      }
    })

    test('a search that asks for one term counts only what the caller may find (C24.5, C28.9)', async () => {
      for (const [key, total] of [
        [keys.private, 4],
        [keys.onlyA, 3],
        [keys.searchA, 3],
      ] as const) {
        const { body } = await search('type:token', { size: 1 }, key)
        assert.equal(body.pagination.total_items, total)
      }
    })

    test('alternatives that overlap or repeat each other count no token twice, nor an expired one (C24.10)', async () => {
      const { keys } = await vault.tenant(devApplications)
      const made = [
        { containers: ['/a/'] },
        { containers: ['/a/b/'] },
        { containers: ['/a/b/'], expires_at: new Date(vault.now + 9_000).toISOString() },
        { containers: ['/c/'] },
        { containers: ['/c/'], expires_at: new Date(vault.now + 9_000).toISOString() },
      ]
      for (const more of made)
        assert.equal(
          (await vault.post('/tokens', keys.general, { type: 'token', data: 1, ...more })).status,
          201,
        )
      vault.now += 9_000
      for (const [query, total] of [
        ['(container:/a/* OR container:/a/b/*) created_at:[* TO *]', 2],
        ['(container:/a/b/* OR container:/a/* OR container:/c/*) created_at:[* TO *]', 3],
        ['(container:/a/* OR container:/a/*) created_at:[* TO *]', 2],
        ['(type:token OR type:token) created_at:[* TO *]', 3],
        ['(type:token OR container:/*) created_at:[* TO *]', 3],
      ] as const)
        for (const page of [1, 2]) {
          const { body } = await search(query, { page, size: 1 }, keys.private)
          assert.equal(body.pagination.total_items, total, query)
        }
    })

    test('a search of many alternatives is answered, however many rules the caller has (C26.9)', async () => {
      const roots = ['/a/', ...Array.from({ length: 49 }, (_, at) => `/rule-${at}/`)]
      const rules = roots.map((container, at) => rule(at + 1, container, 'mask', 'read', 'search'))
      const { keys } = await vault.tenant({ ...devApplications, many: { rules } })
      await vault.create(keys.general, { id: 'seen', type: 'token', data: 1, containers: ['/a/'] })
      const days = (count: number, month: number): string =>
        Array.from({ length: count }, (_, at) => `created_at:[${at + 1}/${month}/2001 TO *]`).join(' OR ')
      const { status, body } = await search(`(${days(4, 1)}) (${days(5, 2)})`, {}, keys.many)
      assert.equal(status, 200)
      assert.deepEqual(
        body.data.map((token: { id: string }) => token.id),
        ['seen'],
      )
    })

    test('a search needs token:search and finds only what token:read covers as well (C26.1)', async () => {
      assert.equal((await search('id:red', {}, keys.reader)).status, 403)
      assert.equal((await vault.send('POST', '/tokens/search', { body: { query: 'id:red' } })).status, 401)
      assert.deepEqual(await found('container:/*', keys.blind), [])
      assert.deepEqual(await found('container:/*', keys.onlyA), ['both', 'blue', 'red'])
      assert.deepEqual(await found('type:token -metadata.tone:cold', keys.onlyA), ['both', 'red'])
      assert.deepEqual(await found('container:/*', keys.searchA), ['both', 'blue', 'red'])
    })

    test('each token is shown as a read would show it (C26.2, C12.1)', async () => {
      for (const key of [keys.private, keys.masked, keys.redacted, keys.onlyA]) {
        const { body } = await search('container:/*', {}, key)
        assert.ok(body.data.length > 0)
        for (const token of body.data)
          assert.deepEqual(token, (await vault.get(`/tokens/${token.id}`, key)).body)
      }
    })

    test('under redact, data and fingerprint terms match nothing, even when negated (C26.7)', async () => {
      const { fingerprint } = (await vault.get('/tokens/blue', keys.private)).body
      for (const term of ['data:blue', `fingerprint:${fingerprint}`]) {
        assert.deepEqual(await found(term, keys.masked), ['blue'])
        assert.deepEqual(await found(term, keys.redacted), [])
        assert.deepEqual(await found(`container:/a/* NOT ${term}`, keys.masked), ['both', 'red'])
        assert.deepEqual(await found(`container:/a/* NOT ${term}`, keys.redacted), ['both', 'blue', 'red'])
        assert.deepEqual(await found(`${term} OR id:red`, keys.redacted), ['red'])
      }
      // A container without a rule counts as redact (C28): of `both`, this caller sees only one of two containers.
      assert.deepEqual(await found('data:both', keys.onlyA), [])
      assert.deepEqual(await found('data:blue', keys.onlyA), ['blue'])
      assert.deepEqual(await found('data:both', keys.private), ['both'])
    })

    const bad: [query: string, position: number][] = [
      ['', 1],
      ['created_by:x', 1],
      ['type:token OR -id:red', 16],
      ['type:token AND', 15],
      ['data:"4242424242424242', 6],
      ['4242424242424242', 1],
      ['type:4242424242424242', 6],
      ['number4242424242:x', 1],
      ['created_at:4242424242424242', 12],
      [`id:"${'x'.repeat(limits.searchQueryCharactersMax)}"`, Number.NaN],
    ]
    for (const [query, position] of bad)
      test(`${query.slice(0, 40) || 'an empty query'} is refused${Number.isNaN(position) ? '' : ` at character ${position}`} (C26.8, C26.9, C8.14)`, async () => {
        const reply = await search(query)
        assert.equal(reply.status, 400)
        assert.deepEqual(Object.keys(reply.body.errors), ['query'])
        if (!Number.isNaN(position))
          assert.match(reply.body.errors.query[0], new RegExp(`, at character ${position}$`))
        assertAbsent({ answer: reply.text, log: vault.log.join('\n') }, ['4242424242', 'xxxxxxxx'])
      })

    test('the refusal of a date shows every form that is accepted, and each of them is (C26.5, C26.9)', async () => {
      const { body } = await search('type:token created_at:soon')
      const [, forms = ''] =
        /a date must be like (.*), and a range must not end/.exec(body.errors.query[0]) ?? []
      const shown = forms.split(/, | or /)
      assert.equal(shown.length, 4)
      for (const form of shown) assert.equal((await search(`created_at:"${form}"`)).status, 200, form)
    })

    test('the length of a query is counted in code points (C8.14)', async () => {
      const frame = 'id:""'.length
      const fits = '𝒳'.repeat(limits.searchQueryCharactersMax - frame)
      assert.equal((await search(`id:"${fits}"`)).status, 200)
      assert.equal((await search(`id:"${fits}𝒳"`)).status, 400)
    })

    test('a search is a read: the idempotency header is ignored (C33.11)', async () => {
      const send = (query: string) =>
        vault.send('POST', '/tokens/search', {
          key: keys.private,
          body: { query },
          headers: { 'svc-idempotency-key': 'once' },
        })
      assert.equal((await send('id:red')).body.pagination.total_items, 1)
      const second = await send('type:token')
      assert.equal(second.body.pagination.total_items, 4)
      assert.equal(second.headers.get('idempotent-replayed'), null)
    })

    test('the plan names fields and numbers but no values, and starts from the rarest term (C26.8)', async () => {
      const query = 'container:/* metadata.tone:cold type:token -data:"red paint"'
      const { body } = await search(query, { explain: true })
      assert.deepEqual(body.plan, {
        counted_by: 'index',
        touched_rows: 1,
        branches: [
          {
            steps: [
              { do: 'start', field: 'metadata.tone', estimated_rows: 1, touched_rows: 1 },
              { do: 'check', field: 'type', estimated_rows: 4, touched_rows: 1 },
              { do: 'check', field: 'container', estimated_rows: 5, touched_rows: 1 },
              { do: 'check', field: 'data', negated: true, touched_rows: 1 },
            ],
          },
        ],
      })
      const byColumn = await search(`type:token created_at:[* TO ${afterLast}] -created_by:${editorId}`, {
        explain: true,
        size: 1,
      })
      assert.deepEqual(byColumn.body.plan, {
        counted_by: 'index',
        touched_rows: 1,
        branches: [
          {
            steps: [
              { do: 'start', field: 'type', estimated_rows: 4, touched_rows: 4 },
              { do: 'check', field: 'created_at', touched_rows: 4 },
              { do: 'check', field: 'created_by', negated: true, touched_rows: 4 },
            ],
          },
        ],
      })
      const exact = await search('container:/a/ -container:/b/', { explain: true })
      assert.deepEqual(
        exact.body.plan.branches[0].steps.map(({ do: what, field }: Record<string, string>) => [what, field]),
        [
          ['start', 'container'],
          ['check', 'container'],
        ],
      )
      const { counted_by, branches } = (await search('data:"red paint"', { explain: true }, keys.onlyA)).body
        .plan
      assert.equal(counted_by, 'opening')
      assert.deepEqual(branches[0].steps.at(-1), { do: 'open', field: 'data' })
      assert.equal((await search(query)).body.plan, undefined)
    })

    test('a search starts from the rarest term even when nobody asks for its plan (C26.8)', async t => {
      const asked = t.mock.method(vault.store, 'listTokens').mock
      const orders = ['metadata.tone:cold type:token', 'type:token metadata.tone:cold']
      for (const query of orders) assert.equal((await search(query)).body.data.length, 1)
      const [rarestNamedFirst, rarestNamedLast] = asked.calls.map(call => call.arguments[0])
      assert.equal(asked.callCount(), orders.length)
      assert.deepEqual(rarestNamedFirst, rarestNamedLast)
    })

    test('NOT with an id that no token can have leaves nothing out (C26.4, C7.4)', async () => {
      const { keys: own } = await vault.tenant(devApplications)
      // Both engines write a lone surrogate like this character.
      await vault.create(own.general, { id: 'id-\ufffd', type: 'token', data: 'x' })
      for (const query of ['type:token NOT id:"id-\ud800"', 'type:token NOT (id:"id-\udfff" OR data:y)'])
        assert.equal((await search(query, {}, own.private)).body.pagination.total_items, 1, query)
      assert.equal((await search('id:"id-\ud800"', {}, own.private)).body.pagination.total_items, 0)
    })

    describe('a search that would look each token up hundreds of times', () => {
      const pairs = Array.from({ length: 6 }, (_, at) => `(type:token OR -metadata.k${at}:v)`)
      const heavy = `metadata.tone:warm ${pairs.join(' ')} -id:red`

      test('opens each token once instead, and says so (C26.8)', async t => {
        const asked = t.mock.method(vault.store, 'listTokens').mock
        const { body } = await search(heavy, { explain: true })
        assert.deepEqual(
          body.data.map(({ id }: { id: string }) => id),
          ['both'],
        )
        assert.equal(body.pagination.total_items, 1)
        const queries = asked.calls.map(call => call.arguments[0])
        const lookedUp = queries.map(query =>
          'anyOf' in query
            ? query.anyOf.map(({ groups, without }) => [groups.length, without?.length])
            : query,
        )
        assert.deepEqual(lookedUp, [[[1, 0]]])
        assert.equal(body.plan.counted_by, 'opening')
        const [{ steps }] = body.plan.branches
        assert.deepEqual(steps[0], {
          do: 'start',
          field: 'metadata.tone',
          estimated_rows: 2,
          touched_rows: 2,
        })
        assert.deepEqual(steps[1], { do: 'check', field: 'id', negated: true, touched_rows: 2 })
        assert.deepEqual(steps.slice(2), Array(6).fill({ do: 'open', field: 'type', touched_rows: 1 }))
      })

      test('alternatives of which a token meets one at most are counted by the index (C24.10, C26.8)', async () => {
        const few = ['/a/', '/b/', '/c/', '/d/'].map((at, n) => rule(n + 1, at, 'reveal', 'read', 'search'))
        const { keys: own } = await vault.tenant({ ...devApplications, few: { rules: few } })
        const countedBy = async (terms: string[]): Promise<string> =>
          (await search(terms.join(' OR '), { explain: true }, own.few)).body.plan.counted_by
        const values = Array.from({ length: 20 }, (_, at) => at)
        assert.equal(await countedBy(values.map(value => `metadata.g:${value}`)), 'index')
        assert.equal(await countedBy(values.map(key => `metadata.${key}:v`)), 'opening')
        assert.equal(await countedBy(values.map(() => 'metadata.g:v')), 'opening')
      })

      test('the plan tells a caller who may not see all tokens nothing about the others (C26.2, C24.5)', async () => {
        const { plan } = (await search(heavy, { explain: true }, keys.onlyA)).body
        assert.equal(plan.counted_by, 'opening')
        assert.doesNotMatch(JSON.stringify(plan), /_rows/)
        assert.deepEqual(
          plan.branches[0].steps
            .slice(0, 2)
            .map(({ do: what, field }: { do: string; field: string }) => [what, field]),
          [
            ['start', 'metadata.tone'],
            ['check', 'id'],
          ],
        )
      })
    })

    const touching: [query: string, branches: string[]][] = [
      ['metadata.tone:warm type:token -id:red', ['metadata.tone 2, type 2, id 2']],
      [
        'container:/a/ type:token -metadata.tone:cold -id:red',
        ['container 2, type 2, id 2, metadata.tone 1'],
      ],
      ['type:token -id:red -id:blue -data:both', ['type 4, id 4, id 3, data 2']],
      ['container:/a/* -container:/c/ -container:/a/b/', ['container 3, container 3, container 2']],
      ['created_at:[* TO LAST] -id:red', ['type 5, created_at 5, id 5']],
      ['type:token -modified_by:EDITOR -created_by:EDITOR', ['type 4, modified_by 4, created_by 3']],
      [
        'container:/* created_at:[* TO LAST] -created_at:[* TO LAST] -id:red',
        ['container 5, created_at 5, created_at 5, id 0'],
      ],
      ['id:red OR metadata.tone:cold type:token', ['id 1', 'metadata.tone 1, type 1']],
      ['id:red metadata.tone:cold -id:blue', ['id 1, metadata.tone 1, id 0']],
    ]
    for (const [query, branches] of touching)
      test(`the plan says how many rows each step touched: ${query} (C26.8)`, async () => {
        const asked = query.replaceAll('EDITOR', editorId).replaceAll('LAST', afterLast)
        const { plan } = (await search(asked, { explain: true })).body
        assert.deepEqual(
          plan.branches.map(({ steps }: { steps: { field: string; touched_rows: number }[] }) =>
            steps.map(({ field, touched_rows }) => `${field} ${touched_rows}`).join(', '),
          ),
          branches,
        )
      })

    test('under redact the count of an alternative does not tell whether data holds a value (C26.7)', async () => {
      const queries = [
        'type:token (metadata.a:none OR data:blue)',
        'type:token (data:blue OR metadata.a:none)',
      ]
      for (const query of [...queries, 'metadata.a:none OR data:blue']) {
        assert.equal((await search(query)).body.pagination.total_items, 1, query)
        const { pagination, data } = (await search(query, {}, keys.redacted)).body
        assert.deepEqual([pagination.total_items, data], [0, []], query)
      }
    })

    test('a rule for another permission does not make a hidden value countable (C26.7)', async () => {
      const { keys: own } = await vault.tenant({
        ...devApplications,
        part: {
          rules: [
            { priority: 1, container: '/', transform: 'mask', permissions: ['token:create'] },
            rule(2, '/a/', 'reveal', 'read', 'search'),
          ],
        },
      })
      const made = await vault.create(own.general, {
        type: 'token',
        data: 'secret',
        containers: ['/a/', '/b/'],
        search_indexes: ['{{ data }}'],
      })
      const counted = async (query: string): Promise<number> =>
        (await search(query, {}, own.part)).body.pagination.total_items
      assert.deepEqual([await counted('type:token'), await counted('data:secret')], [1, 0])
      const listed = await vault.get(`/tokens?fingerprint=${made.fingerprint}`, own.part)
      assert.equal(listed.body.pagination.total_items, 0)
    })

    test('data finds a number by its digits, however JSON writes it (C26.6, C7.4)', async () => {
      const { keys: own } = await vault.tenant(devApplications)
      for (const data of [1e21, 123456789e15, -1.5e-7])
        await vault.create(own.general, {
          type: 'token',
          data,
          search_indexes: ['{{ data }}', 'no {{ data }}'],
        })
      for (const digits of [`1${'0'.repeat(21)}`, '123456789000000000000000', '-0.00000015'])
        for (const query of [`data:"${digits}"`, `data:"no ${digits}"`])
          assert.equal((await search(query, {}, own.private)).body.pagination.total_items, 1, query)
    })

    test('a caller who may search in only one container sees no numbers in a plan, even if it reads everywhere (C26.2, C24.5)', async () => {
      const { body } = await search('type:token', { explain: true }, keys.searchA)
      assert.equal(body.pagination.total_items, 3)
      assert.doesNotMatch(JSON.stringify(body.plan), /_rows/)
    })

    test('the steps of a plan are counted until a million rows have been touched (C26.8)', async t => {
      t.mock.method(vault.store, 'countTokens', async () => 600_000)
      const branch = 'type:token container:/a/ -metadata.tone:cold -id:red'
      const { plan } = (await search(`(${branch}) OR (${branch})`, { explain: true })).body
      const touched = plan.branches.map(({ steps }: { steps: { touched_rows?: number }[] }) =>
        steps.map(({ touched_rows: rows }) => rows),
      )
      const uncounted = undefined
      assert.deepEqual(touched, [
        [600_000, 600_000, uncounted, uncounted],
        [uncounted, uncounted, uncounted, uncounted],
      ])
    })

    test('the plan tells a caller who may not see all tokens nothing about the others (C26.2, C24.5)', async () => {
      const { body } = await search('type:token OR id:red', { explain: true }, keys.onlyA)
      assert.deepEqual(body.plan, {
        counted_by: 'index',
        branches: [
          {
            steps: [
              { do: 'start', field: 'type' },
              { do: 'check', field: 'access' },
            ],
          },
          {
            steps: [
              { do: 'start', field: 'id', estimated_rows: 1 },
              { do: 'check', field: 'access' },
            ],
          },
        ],
      })
    })

    test('a search finds tokens as they are now, after writes, moves, expiry and deletes (C26.1, C17.4, C17.5, C27.1)', async () => {
      const { keys } = await vault.tenant(devApplications)
      const ids = async (query: string): Promise<string[]> =>
        (await search(query, {}, keys.private)).body.data.map((token: { id: string }) => token.id)
      const token = {
        id: 'one',
        type: 'token',
        data: 'first',
        search_indexes: ['{{ data }}'],
        containers: ['/a/'],
      }
      await vault.post('/tokens', keys.general, {
        ...token,
        expires_at: new Date(vault.now + 9_000).toISOString(),
      })
      await vault.post('/tokens', keys.general, { ...token, id: 'two' })
      assert.deepEqual(await ids('data:first'), ['one', 'two'])
      await vault.patch('/tokens/two', keys.general, { data: 'second', containers: ['/a/b/'] })
      assert.deepEqual(await ids('data:first'), ['one'])
      assert.deepEqual(await ids('data:second OR data:first'), ['one', 'two'])
      assert.deepEqual(await ids('container:/a/'), ['one'])
      vault.now += 9_000
      for (const query of ['data:first', 'id:one', `container:/a/ -created_by:${editorId}`])
        assert.deepEqual(await ids(query), [])
      assert.equal((await search('type:token', {}, keys.private)).body.pagination.total_items, 1)
      await vault.delete('/tokens/two', keys.private)
      assert.deepEqual(await ids('type:token'), [])
    })

    test('more tokens than are read or opened at once are counted and paged exactly (C26.1, C24.10)', async () => {
      const { keys } = await vault.tenant({ ...devApplications, part: partlyRedacted })
      const count = 2 * pace.searchBatchRows + 100
      const ids = Array.from({ length: count }, (_, index) => `many-${String(index).padStart(5, '0')}`)
      // Each half is created at one moment, so that the batches split tokens which only their ids put in order.
      for (const half of [ids.slice(0, 900), ids.slice(900)]) {
        const made = await vault.post(
          '/tokenize',
          keys.general,
          half.map(id => ({ id, type: 'token', data: id })),
        )
        assert.equal(made.status, 200, made.text)
        vault.now += 1_000
      }
      const inOrder = [...ids.slice(900), ...ids.slice(0, 900)]
      for (const [query, key, countedBy] of [
        [`type:token -created_by:${editorId}`, keys.private, 'index'],
        ['type:token -data:nothing', keys.part, 'opening'],
      ] as const) {
        const seen: string[] = []
        for (let page = 1; page <= Math.ceil(count / 100); page++) {
          const { body } = await search(query, { page, size: 100, explain: true }, key)
          assert.equal(body.plan.counted_by, countedBy)
          assert.equal(body.pagination.total_items, count)
          seen.push(...body.data.map((token: { id: string }) => token.id))
        }
        assert.deepEqual(seen, inOrder)
      }
    })

    test('a tenant finds no tokens of another (C26.1)', async () => {
      const other = await vault.tenant(devApplications)
      assert.deepEqual(await found('container:/* OR id:red OR data:blue', other.keys.private), [])
    })

    test('a token that a search shows counts as active this month, one that it only counts does not (C32.2)', async () => {
      const { keys } = await vault.tenant({
        ...devApplications,
        management: { type: 'management', permissions: ['report:read'] },
      })
      await vault.post('/tokenize', keys.general, ['x', 'y', 'z'])
      vault.now += 40 * 86_400_000
      await search('type:token', { size: 1 }, keys.private)
      await search(`type:token -created_by:${editorId}`, { size: 2 }, keys.private)
      await vault.service.vault.activity.flush()
      const report = await vault.get('/tenants/self/reports/usage', keys.management)
      assert.equal(report.body.token_report.monthly_active_tokens, 2)
    })
  })
