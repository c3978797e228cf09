import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TestReply } from '../rig/answers.ts'
import { engines } from '../rig/engines.ts'
import { devApplications, TestVault } from '../rig/test-vault.ts'

for (const engine of engines)
  describe(`list tokens by cursor (${engine.name})`, () => {
    let vault: TestVault
    before(async () => {
      vault = await TestVault.start({ engine })
    })
    after(() => vault.stop())

    /** A new tenant with tokens of these ids, oldest first; `sameInstant` creates them all at one moment. */
    const tenantWith = async (ids: readonly string[], sameInstant = false) => {
      const { keys } = await vault.tenant({
        ...devApplications,
        narrow: {
          rules: [{ priority: 1, container: '/a/', transform: 'mask', permissions: ['token:read'] }],
        },
        searchOnly: { permissions: ['token:search'] },
      })
      const create = async (id: string, more: Record<string, unknown> = {}): Promise<void> => {
        if (!sameInstant) vault.now += 1_000
        const made = await vault.post('/tokens', keys.general, { id, type: 'token', data: id, ...more })
        assert.equal(made.status, 201, made.text)
      }
      for (const id of ids) await create(id)
      return { keys, create }
    }
    const idsOf = (reply: TestReply): string[] => {
      assert.equal(reply.status, 200, reply.text)
      return reply.body.data.map((token: { id: string }) => token.id)
    }
    /** Every page until the last, calling `between` after each. */
    const walk = async (
      key: string,
      query: string,
      between: (page: number) => Promise<void> = async () => {},
    ): Promise<string[][]> => {
      const pages: string[][] = []
      for (let start: string | undefined = ''; start !== undefined; ) {
        const reply: TestReply = await vault.get(`/v2/tokens?${query}&start=${start}`, key)
        pages.push(idsOf(reply))
        start = reply.body.pagination.next
        assert.ok(pages.length < 50, 'the pages do not end')
        await between(pages.length)
      }
      return pages
    }
    const numbered = (count: number): string[] =>
      Array.from({ length: count }, (_, index) => `token-${String(index).padStart(3, '0')}`)

    test('pages follow one another, newest first, and the last has no next (C25.1, C24.4)', async () => {
      const ids = numbered(5)
      const { keys } = await tenantWith(ids)
      const newest = ids.toReversed()
      assert.deepEqual(await walk(keys.private, 'size=2'), [
        newest.slice(0, 2),
        newest.slice(2, 4),
        newest.slice(4),
      ])
      const first = await vault.get('/v2/tokens?size=2', keys.private)
      assert.deepEqual(Object.keys(first.body.pagination), ['page_size', 'next'])
      const all = await vault.get('/v2/tokens', keys.private)
      assert.deepEqual(all.body.pagination, { page_size: 20 })
      assert.equal(all.body.data[0].data, newest[0])
    })

    test('a page that ends with the last token has no next; an empty list is one empty page (C25.1)', async () => {
      const { keys } = await tenantWith(numbered(4))
      assert.deepEqual(
        (await walk(keys.private, 'size=2')).map(page => page.length),
        [2, 2],
      )
      const empty = await tenantWith([])
      assert.deepEqual(await walk(empty.keys.private, 'size=2'), [[]])
    })

    test('tokens created at the same instant are ordered by id across pages (C25.1, C24.4)', async () => {
      const ids = numbered(7)
      const { keys } = await tenantWith(ids.toReversed(), true)
      for (const size of [1, 2, 3]) assert.deepEqual((await walk(keys.private, `size=${size}`)).flat(), ids)
    })

    test('the size may change from page to page (C25.1)', async () => {
      const { keys } = await tenantWith(numbered(5))
      const first = await vault.get('/v2/tokens?size=1', keys.private)
      const rest = await vault.get(`/v2/tokens?size=10&start=${first.body.pagination.next}`, keys.private)
      assert.deepEqual(idsOf(rest), numbered(4).toReversed())
    })

    test('tokens created or deleted between pages neither repeat nor hide others (C25.2)', async () => {
      const ids = numbered(9)
      const { keys, create } = await tenantWith(ids)
      const pages = await walk(keys.private, 'size=3', async page => {
        if (page > 2) return
        await create(`late-${page}`)
        // One already shown, the last one shown, and one still to come.
        const shown = page === 1 ? ['token-008', 'token-006'] : ['token-004']
        for (const id of [...shown, page === 1 ? 'token-005' : 'token-001'])
          assert.equal((await vault.delete(`/tokens/${id}`, keys.private)).status, 204)
      })
      assert.deepEqual(pages, [
        ['token-008', 'token-007', 'token-006'],
        ['token-004', 'token-003', 'token-002'],
        ['token-000'],
      ])
    })

    test('the filters are those of the list by page (C25.1, C24.6)', async () => {
      const { keys, create } = await tenantWith([])
      await create('one', { metadata: { k: 'Red' }, containers: ['/a/'] })
      await create('two', { metadata: { k: 'blue' }, containers: ['/a/b/'] })
      await create('three', { metadata: { k: 'RED' }, containers: ['/c/'] })
      await create('four', { type: 'us_bank_account_number', data: '12345', containers: ['/a/'] })
      const { fingerprint } = (await vault.get('/tokens/two', keys.private)).body
      const expected: Record<string, string[]> = {
        'metadata.k=red': ['three', 'one'],
        'metadata={"k":"rEd"}&container=/a/': ['one'],
        'container=/a/': ['four', 'two', 'one'],
        'type=us_bank_account_number': ['four'],
        'type=token&type=us_bank_account_number': ['four', 'three', 'two', 'one'],
        'id=one&id=four&id=none': ['four', 'one'],
        [`fingerprint=${fingerprint}`]: ['two'],
      }
      for (const [query, found] of Object.entries(expected))
        assert.deepEqual((await walk(keys.private, `size=1&${encodeURI(query)}`)).flat(), found, query)
    })

    test('pages show only what the caller may read, as it may see it (C25.1, C24.5)', async () => {
      const { keys, create } = await tenantWith([])
      await create('one', { containers: ['/a/'], mask: '{{ data | reveal_last: 1 }}' })
      await create('two', { containers: ['/b/'] })
      await create('three', { containers: ['/a/x/'] })
      assert.deepEqual(await walk(keys.narrow, 'size=1'), [['three'], ['one']])
      const page = await vault.get('/v2/tokens', keys.narrow)
      assert.deepEqual(
        page.body.data.map((token: { data?: string }) => token.data),
        [undefined, 'XXe'],
      )
      assert.equal((await vault.get('/v2/tokens', keys.searchOnly)).status, 403)
      assert.equal((await vault.send('GET', '/v2/tokens')).status, 401)
    })

    test('a fingerprint finds no token that hides it from the caller, on any page (C12.7)', async () => {
      const { keys, create } = await tenantWith([])
      for (const id of ['one', 'two', 'three', 'four'])
        await create(id, { data: 'same', containers: id === 'two' ? ['/a/', '/secret/'] : ['/a/'] })
      const { fingerprint } = (await vault.get('/tokens/one', keys.private)).body
      const query = `size=1&fingerprint=${fingerprint}`
      assert.deepEqual((await walk(keys.private, query)).flat(), ['four', 'three', 'two', 'one'])
      // Of `two` this caller sees only one of two containers, so it is shown under redact.
      assert.deepEqual(await walk(keys.narrow, query), [['four'], ['three'], ['one']])
    })

    test('a cursor is valid only unaltered, for its filters and its tenant (C25.3)', async () => {
      const { keys } = await tenantWith(numbered(3))
      const other = await tenantWith(numbered(3))
      const { next } = (
        await vault.get('/v2/tokens?size=1&type=token&id=token-001&id=token-002', keys.private)
      ).body.pagination
      const goOn = (query: string, start: string, key = keys.private) =>
        vault.get(`/v2/tokens?size=1${query}&start=${encodeURIComponent(start)}`, key)
      const same = '&type=token&id=token-001&id=token-002'
      assert.deepEqual(idsOf(await goOn(same, next)), ['token-001'])
      assert.deepEqual(idsOf(await goOn('&id=token-002&id=token-001&type=token', next)), ['token-001'])

      const flipped = (at: number): string =>
        next.slice(0, at) + (next[at] === 'A' ? 'B' : 'A') + next.slice(at + 1)
      const refused: [query: string, start: string, key?: string][] = [
        ['', next],
        ['&type=token', next],
        [`${same}&metadata.k=x`, next],
        [same, next, other.keys.private],
        [same, flipped(0)],
        [same, flipped(10)],
        [same, flipped(next.length - 5)],
        [same, next.slice(0, -1)],
        [same, `${next}A`],
        [same, `${next}=`],
        [same, ` ${next}`],
        [same, 'token-002'],
        [same, '4242424242424242'],
      ]
      for (const [query, start, key] of refused) {
        const reply = await goOn(query, start, key)
        assert.equal(reply.status, 400)
        assert.deepEqual(Object.keys(reply.body.errors), ['start'])
        assert.ok(!reply.text.includes(start))
      }
      const ids = Buffer.from(next, 'base64url')
      assert.ok(!ids.includes('token-00'), 'a cursor does not show where it points')
    })

    test('a cursor survives a restart (C25.3)', async () => {
      const { keys } = await tenantWith(numbered(2))
      const { next } = (await vault.get('/v2/tokens?size=1', keys.private)).body.pagination
      await vault.restart()
      assert.deepEqual(idsOf(await vault.get(`/v2/tokens?size=1&start=${next}`, keys.private)), ['token-000'])
    })

    test('bad parameters are refused (C25.1, C6.3, C24.2)', async () => {
      const { keys } = await tenantWith([])
      for (const query of [
        'page=1',
        'size=0',
        'size=101',
        'size=x',
        'size=1&size=2',
        'start=a&start=b',
        'stat=x',
        'type=none',
      ])
        assert.equal((await vault.get(`/v2/tokens?${query}`, keys.private)).status, 400, query)
    })

    test('an expired token is on no page (C25.1, C17.4)', async () => {
      const { keys, create } = await tenantWith(numbered(2))
      await create('brief', { expires_at: new Date(vault.now + 60_000).toISOString() })
      assert.deepEqual((await walk(keys.private, 'size=1')).flat().length, 3)
      vault.now += 60_000
      assert.deepEqual(await walk(keys.private, 'size=1'), [['token-001'], ['token-000']])
    })

    test('a token shown on a page counts as active this month (C32.2)', async () => {
      const { keys } = await vault.tenant({
        ...devApplications,
        management: { type: 'management', permissions: ['report:read'] },
      })
      await vault.post('/tokens', keys.general, { type: 'token', data: 'x' })
      const month = new Date(vault.now)
      vault.now = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 2)
      const active = async (): Promise<number> => {
        await vault.service.vault.activity.flush()
        return (await vault.get('/tenants/self/reports/usage', keys.management)).body.token_report
          .monthly_active_tokens
      }
      assert.equal(await active(), 0)
      await vault.get('/v2/tokens', keys.private)
      assert.equal(await active(), 1)
    })

    test('a cursor continues a list with the same filters, in any order, and no other (C25.3)', async () => {
      const { keys, create } = await tenantWith(['one', 'two', 'three'])
      for (const id of ['four', 'five']) await create(id, { data: 'same', containers: ['/a/'] })
      const { data } = (await vault.get('/tokens?id=four&id=one', keys.private)).body
      const [same, other] = data.map(({ fingerprint }: { fingerprint: string }) => fingerprint)
      const goesOn = async (query: string, other: string): Promise<number> => {
        const { next } = (await vault.get(`/v2/tokens?${query}&size=1`, keys.private)).body.pagination
        return (await vault.get(`/v2/tokens?${other}&size=1&start=${next}`, keys.private)).status
      }
      assert.equal(await goesOn('type=token', 'type=card'), 400)
      assert.equal(await goesOn('container=/a/', 'container=/b/'), 400)
      assert.equal(await goesOn('container=/a/', 'type=token'), 400)
      assert.equal(await goesOn(`fingerprint=${same}`, `fingerprint=${other}`), 400)
      assert.equal(await goesOn(`fingerprint=${same}`, `fingerprint=${same}`), 200)
      assert.equal(await goesOn('id=one&id=two', 'id=one&id=three'), 400)
      assert.equal(await goesOn('id=one&id=two', 'id=two&id=one'), 200)
      assert.equal(await goesOn('type=token&type=card', 'type=card&type=token'), 200)
      await create('six', { metadata: { a: 'x', b: 'y' } })
      await create('seven', { metadata: { a: 'x', b: 'y' } })
      assert.equal(await goesOn('metadata.a=x&metadata.b=y', 'metadata.b=Y&metadata.a=X'), 200)
      assert.equal(await goesOn('metadata.a=x&metadata.b=y', 'metadata.a=x'), 400)
    })
  })
