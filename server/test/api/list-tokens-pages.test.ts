import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEveryEngine } from '../rig/every-engine.ts'
import { devApplications, owner, type TestApplication, type TestVault } from '../rig/test-vault.ts'

onEveryEngine('pages of a list', vault => {
  test('pages divide the list, newest first, ties by id (C24.1, C24.2, C24.3, C24.4, §4.3.11)', async () => {
    const { keys } = await vault().tenant(devApplications)
    const ids = Array.from({ length: 25 }, (_, at) => `token-${String((at * 7) % 25).padStart(2, '0')}`)
    for (const [at, id] of ids.entries()) {
      // Five tokens share each instant.
      if (at % 5 === 0) vault().now += 1
      await vault().create(keys.general, { id, type: 'token', data: at })
    }
    const expected = [4, 3, 2, 1, 0].flatMap(group => ids.slice(group * 5, group * 5 + 5).sort())
    const pages: readonly [query: string, number: number, size: number, from: number][] = [
      ['', 1, 20, 0],
      ['?page=2', 2, 20, 20],
      ['?page=3', 3, 20, 40],
      ['?size=7', 1, 7, 0],
      ['?size=7&page=4', 4, 7, 21],
      ['?size=7&page=5', 5, 7, 28],
      ['?size=25', 1, 25, 0],
      ['?size=100', 1, 100, 0],
      ['?size=1&page=25', 25, 1, 24],
      ['?page=1000000000&size=100', 1_000_000_000, 100, 99_999_999_900],
      ['?type=token&size=10&page=3', 3, 10, 20],
      ['?container=/general/&size=10&page=2', 2, 10, 10],
    ]
    for (const [query, number, size, from] of pages) {
      const { body } = await vault().get(`/tokens${query}`, keys.private)
      assert.deepEqual(
        body.pagination,
        { total_items: 25, page_number: number, page_size: size, total_pages: Math.ceil(25 / size) },
        query,
      )
      assert.deepEqual(idsOf(body), expected.slice(from, from + size), query)
    }
  })

  test('counts follow creates, moves and deletes (C24.10)', async () => {
    const { keys } = await vault().tenant({ owner, some: reader('/a/'), nested: reader('/a/', '/a/x/') })
    const total = async (path: string, key: string): Promise<number> =>
      (await vault().get(path, key)).body.pagination.total_items
    const { id } = await vault().create(keys.owner, { type: 'token', data: 1, containers: ['/a/x/'] })
    await vault().create(keys.owner, {
      type: 'card',
      data: { number: '4242424242424242' },
      containers: ['/b/'],
    })
    assert.deepEqual(
      [
        await total('/tokens', keys.owner),
        await total('/tokens', keys.some),
        await total('/tokens?type=card', keys.owner),
        await total('/tokens?size=1', keys.nested),
      ],
      [2, 1, 1, 1],
    )
    await vault().patch(`/tokens/${id}`, keys.owner, { containers: ['/b/', '/c/'] })
    assert.deepEqual([await total('/tokens', keys.owner), await total('/tokens', keys.some)], [2, 0])
    await vault().patch(`/tokens/${id}`, keys.owner, { containers: ['/a/y/', '/a/x/'] })
    assert.deepEqual([await total('/tokens', keys.owner), await total('/tokens', keys.some)], [2, 1])
    await vault().delete(`/tokens/${id}`, keys.owner)
    assert.deepEqual([await total('/tokens', keys.owner), await total('/tokens', keys.some)], [1, 0])
  })

  test('an expired token counts no more, whether or not it was purged, however it is asked for (C24.10, C17.4)', async () => {
    const { keys } = await vault().tenant({ owner, some: reader('/a/'), nested: reader('/a/', '/a/x/') })
    const soon = new Date(vault().now + 1_000).toISOString()
    for (const expires_at of [soon, soon, undefined, undefined, undefined])
      await vault().create(keys.owner, { type: 'token', data: 1, containers: ['/a/x/'], expires_at })
    vault().now += 1_000
    const asked: readonly [query: string, key: string][] = [
      ['', keys.owner],
      ['&type=token', keys.owner],
      ['&type=token&type=token', keys.owner],
      ['&container=/a/', keys.owner],
      ['&type=token&container=/a/', keys.owner],
      ['', keys.some],
      ['', keys.nested],
    ]
    for (const [query, key] of asked) {
      const { body } = await vault().get(`/tokens?size=1${query}`, key)
      assert.equal(body.pagination.total_items, 3, query)
    }
    for (const query of [
      'type:token',
      'type:token OR type:token',
      'type:token OR type:card',
      'container:/a/x/',
    ]) {
      const { body } = await vault().post('/tokens/search', keys.owner, { query, size: 1 })
      assert.equal(body.pagination.total_items, 3, query)
    }
  })

  test('lists and counts cover exactly what the caller may read, whatever the rules (C24.5, C24.10, C28.9, C19.3)', async () => {
    const containers = ['/a/', '/a/b/', '/a/b/c/', '/ab/', '/b/', '/b/a/', '/c/']
    const rules: readonly (readonly string[])[] = [
      ['/'],
      ['/a/'],
      ['/a/b/'],
      ['/a/b/c/'],
      ['/b/', '/c/'],
      ['/a/', '/a/b/'],
      ['/a/b/', '/ab/', '/b/a/'],
      ['/nowhere/'],
      ['/', '/a/'],
    ]
    const applications: Record<string, TestApplication> = { owner }
    for (const roots of rules) applications[roots.join(' ')] = reader(...roots)
    const { keys } = await vault().tenant(applications)
    const ownerKey = keys.owner ?? ''
    const tokens = [
      ...containers.map(container => [container]),
      ['/a/', '/b/'],
      ['/a/b/', '/a/b/c/'],
      ['/ab/', '/c/'],
      ['/b/a/', '/c/', '/a/'],
    ].map((own, at) => ({
      id: `token-${at}`,
      type: at % 3 === 0 ? 'us_bank_account_number' : 'token',
      data: '1234567',
      containers: own,
      metadata: { odd: String(at % 2) },
    }))
    for (const token of tokens) {
      await vault().create(ownerKey, token)
      vault().now += 1
    }
    const queries: readonly { query: string; keeps: (token: (typeof tokens)[number]) => boolean }[] = [
      { query: '', keeps: () => true },
      { query: 'type=token', keeps: ({ type }) => type === 'token' },
      { query: 'metadata.odd=1', keeps: ({ metadata }) => metadata.odd === '1' },
      { query: 'container=/a/', keeps: token => token.containers.some(own => own.startsWith('/a/')) },
      {
        query: 'id=token-1&id=token-7&id=token-9',
        keeps: ({ id }) => ['token-1', 'token-7', 'token-9'].includes(id),
      },
    ]
    for (const roots of rules)
      for (const { query, keeps } of queries) {
        const visible = tokens
          .filter(
            token => keeps(token) && token.containers.some(own => roots.some(root => own.startsWith(root))),
          )
          .map(({ id }) => id)
          .reverse()
        const found: string[] = []
        for (let page = 1; page <= Math.max(1, Math.ceil(visible.length / 3)); page++) {
          const { body } = await vault().get(
            `/tokens?${query}&size=3&page=${page}`,
            keys[roots.join(' ')] ?? '',
          )
          assert.equal(body.pagination.total_items, visible.length, `${roots} ${query}`)
          found.push(...idsOf(body))
        }
        assert.deepEqual(found, visible, `${roots} ${query}`)
      }
  })
})

const reader = (...roots: readonly string[]): TestApplication => ({
  rules: roots.map((container, priority) => ({
    priority,
    container,
    transform: 'mask',
    permissions: ['token:read'],
  })),
})

const idsOf = (body: Awaited<ReturnType<TestVault['get']>>['body']): string[] =>
  body.data.map(({ id }: { id: string }) => id)
