import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rule, Transform } from '../../src/domain/access/application.ts'
import type { Permission } from '../../src/domain/access/permissions.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { countTokens } from '../rig/scenario.ts'
import { owner } from '../rig/test-vault.ts'

type Grant = readonly [container: string, transform: Transform]

const rulesFor = (permissions: readonly Permission[], grants: readonly Grant[]): { rules: Rule[] } => ({
  rules: grants.map(([container, transform], priority) => ({ priority, container, transform, permissions })),
})

const token = { id: 'a-token', type: 'token', data: 'Sensitive Value', mask: '{{ data | reveal_last: 4 }}' }

/** A token in these containers, read under these rules, in order of priority. */
const reads: readonly {
  name: string
  containers: readonly string[]
  rules: readonly Grant[]
  sees: Transform | 'nothing'
}[] = [
  {
    name: 'a rule on the container itself (C28.7)',
    containers: ['/a/b/'],
    rules: [['/a/b/', 'reveal']],
    sees: 'reveal',
  },
  {
    name: 'a rule on an ancestor (C19.3)',
    containers: ['/a/b/'],
    rules: [['/a/', 'reveal']],
    sees: 'reveal',
  },
  { name: 'a rule on the root (C19.3)', containers: ['/a/b/'], rules: [['/', 'mask']], sees: 'mask' },
  {
    name: 'a rule on a descendant (C19.3, C28.9)',
    containers: ['/a/b/'],
    rules: [['/a/b/c/', 'reveal']],
    sees: 'nothing',
  },
  {
    name: 'a rule on a sibling (C19.3, C28.9)',
    containers: ['/a/b/'],
    rules: [['/a/c/', 'reveal']],
    sees: 'nothing',
  },
  {
    name: 'a rule on a sibling whose name is a prefix (C19.3, C28.9)',
    containers: ['/ab/'],
    rules: [['/a/', 'reveal']],
    sees: 'nothing',
  },
  {
    name: 'a rule on a sibling whose name is longer (C19.3, C28.9)',
    containers: ['/a/b/'],
    rules: [['/a/bc/', 'reveal']],
    sees: 'nothing',
  },
  {
    name: 'a token whose container was written in upper case (C19.2)',
    containers: ['/A/B/'],
    rules: [['/a/b/', 'reveal']],
    sees: 'reveal',
  },
  {
    name: 'the first rule by priority decides, even if it shows more (C28.7)',
    containers: ['/a/b/'],
    rules: [
      ['/a/', 'reveal'],
      ['/a/b/', 'redact'],
    ],
    sees: 'reveal',
  },
  {
    name: 'the first rule by priority decides, even if it shows less (C28.7)',
    containers: ['/a/b/'],
    rules: [
      ['/a/', 'redact'],
      ['/a/b/', 'reveal'],
    ],
    sees: 'redact',
  },
  {
    name: 'a rule that does not cover the container is skipped (C28.7)',
    containers: ['/a/b/'],
    rules: [
      ['/c/', 'redact'],
      ['/a/b/', 'reveal'],
    ],
    sees: 'reveal',
  },
  {
    name: 'one rule covers two containers (C28.8)',
    containers: ['/a/', '/b/'],
    rules: [['/', 'reveal']],
    sees: 'reveal',
  },
  {
    name: 'the least revealing transform wins (mask) (C28.8)',
    containers: ['/a/', '/b/'],
    rules: [
      ['/a/', 'reveal'],
      ['/b/', 'mask'],
    ],
    sees: 'mask',
  },
  {
    name: 'the least revealing transform wins (redact) (C28.8)',
    containers: ['/a/', '/b/', '/c/'],
    rules: [
      ['/a/', 'reveal'],
      ['/b/', 'mask'],
      ['/c/', 'redact'],
    ],
    sees: 'redact',
  },
  {
    name: 'a container without a rule counts as redact (C28.8)',
    containers: ['/a/', '/b/'],
    rules: [['/a/', 'reveal']],
    sees: 'redact',
  },
  {
    name: 'no rule covers any of several containers (C28.8, C28.9)',
    containers: ['/a/', '/b/'],
    rules: [['/c/', 'reveal']],
    sees: 'nothing',
  },
  {
    name: 'each container has its own deciding rule (C28.7, C28.8)',
    containers: ['/a/x/', '/b/'],
    rules: [
      ['/a/x/', 'reveal'],
      ['/', 'mask'],
      ['/b/', 'reveal'],
    ],
    sees: 'mask',
  },
]

/** A create in these containers by a caller with these rules for token:create. */
const creates: readonly {
  name: string
  containers: readonly string[] | null
  rules: readonly Grant[]
  status: number
  data?: unknown
}[] = [
  {
    name: 'every destination is covered (C28.10)',
    containers: ['/a/x/', '/a/y/'],
    rules: [['/a/', 'mask']],
    status: 201,
    data: 'XXXXXXXXXXXalue',
  },
  {
    name: 'one destination is not covered (C28.10, C2.12)',
    containers: ['/a/', '/b/'],
    rules: [['/a/', 'mask']],
    status: 403,
  },
  {
    name: 'the default container is a destination too (C28.10, §4.1.2)',
    containers: null,
    rules: [['/a/', 'mask']],
    status: 403,
  },
  {
    name: 'the default container is covered (C28.10)',
    containers: null,
    rules: [['/general/', 'mask']],
    status: 201,
    data: 'XXXXXXXXXXXalue',
  },
  {
    name: 'a rule on a container that shares only a prefix does not cover (C19.3, C2.12)',
    containers: ['/ab/'],
    rules: [['/a/', 'mask']],
    status: 403,
  },
  {
    name: 'a write under reveal shows no more than the mask (C12.2)',
    containers: ['/a/'],
    rules: [['/a/', 'reveal']],
    status: 201,
    data: 'XXXXXXXXXXXalue',
  },
  {
    name: 'a write under redact shows no data (C12.3)',
    containers: ['/a/'],
    rules: [['/a/', 'redact']],
    status: 201,
    data: undefined,
  },
  {
    name: 'redact on one of two destinations hides the data (C12.3, C28.8)',
    containers: ['/a/', '/b/'],
    rules: [
      ['/a/', 'mask'],
      ['/b/', 'redact'],
    ],
    status: 201,
    data: undefined,
  },
]

/** A token in `from` that a caller with these rules for token:update moves to `to`. */
const moves: readonly {
  name: string
  from: readonly string[]
  to: readonly string[] | null
  rules: readonly Grant[]
  status: number
}[] = [
  {
    name: 'both containers are covered (C19.5)',
    from: ['/a/'],
    to: ['/b/'],
    rules: [
      ['/a/', 'mask'],
      ['/b/', 'mask'],
    ],
    status: 200,
  },
  {
    name: 'the new container is not covered (C19.5)',
    from: ['/a/'],
    to: ['/b/'],
    rules: [['/a/', 'mask']],
    status: 403,
  },
  {
    name: 'the old container is not covered (C19.5, C28.9)',
    from: ['/a/'],
    to: ['/b/'],
    rules: [['/b/', 'mask']],
    status: 404,
  },
  {
    name: 'one of the old containers is not covered (C19.5)',
    from: ['/a/', '/c/'],
    to: ['/b/'],
    rules: [
      ['/a/', 'mask'],
      ['/b/', 'mask'],
    ],
    status: 403,
  },
  {
    name: 'one of the new containers is not covered (C19.5)',
    from: ['/a/'],
    to: ['/a/', '/b/'],
    rules: [['/a/', 'mask']],
    status: 403,
  },
  {
    name: 'the default container is not covered (C19.5, C18.2)',
    from: ['/a/'],
    to: null,
    rules: [['/a/', 'mask']],
    status: 403,
  },
  {
    name: 'neither container is covered, and the destination is checked first (C3.1, C19.5)',
    from: ['/a/'],
    to: ['/b/'],
    rules: [['/c/', 'mask']],
    status: 403,
  },
]

onOneEngine('access rules', 'rules are applied above storage', vault => {
  for (const { name, containers, rules, sees } of reads)
    test(`${name}: ${JSON.stringify(rules)} on ${containers} shows ${sees}`, async () => {
      const { keys } = await vault().tenant({ owner, limited: rulesFor(['token:read'], rules) })
      await vault().create(keys.owner, { ...token, containers })
      const read = await vault().get('/tokens/a-token', keys.limited)
      const list = await vault().get('/tokens', keys.limited)
      if (sees === 'nothing') {
        const unknown = await vault().get('/tokens/unknown', keys.limited)
        assert.equal(read.status, 404)
        assert.deepEqual({ ...read.body, trace_id: '' }, { ...unknown.body, trace_id: '' })
        assert.deepEqual([list.body.data, list.body.pagination.total_items], [[], 0])
        return
      }
      assert.equal(read.status, 200)
      assert.equal(
        read.body.data,
        { reveal: 'Sensitive Value', mask: 'XXXXXXXXXXXalue', redact: undefined }[sees],
      )
      assert.equal('fingerprint' in read.body, sees !== 'redact')
      assert.deepEqual(list.body.data, [read.body])
      assert.equal(list.body.pagination.total_items, 1)
    })

  for (const { name, containers, rules, status, data } of creates)
    test(`${name}: creating in ${containers ?? 'the default container'} under ${JSON.stringify(rules)} is ${status}`, async () => {
      const { keys } = await vault().tenant({ owner, limited: rulesFor(['token:create'], rules) })
      const reply = await vault().post('/tokens', keys.limited, { ...token, containers })
      assert.equal(reply.status, status)
      assert.equal(reply.body.data, data)
      assert.equal(await countTokens(vault(), keys.owner), status === 201 ? 1 : 0)
    })

  for (const { name, from, to, rules, status } of moves)
    test(`${name}: a move from ${from} to ${to ?? 'the default container'} under ${JSON.stringify(rules)} is ${status}`, async () => {
      const { keys } = await vault().tenant({ owner, limited: rulesFor(['token:update'], rules) })
      await vault().create(keys.owner, { ...token, containers: from })
      const reply = await vault().patch('/tokens/a-token', keys.limited, {
        containers: to,
        metadata: { moved: 'yes' },
      })
      assert.equal(reply.status, status, reply.text)
      const { body } = await vault().get('/tokens/a-token', keys.owner)
      assert.deepEqual(body.containers, status === 200 ? to : from)
      assert.equal(body.metadata?.moved, status === 200 ? 'yes' : undefined)
    })

  test('a refused write says whether a container of the token or a named target is not writable (C28.10, C2.12)', async () => {
    const rules = rulesFor(
      ['token:update', 'token:delete'],
      [
        ['/a/', 'mask'],
        ['/b/', 'mask'],
      ],
    )
    const { keys } = await vault().tenant({ owner, limited: rules })
    await vault().create(keys.owner, { ...token, containers: ['/a/', '/c/'] })
    const path = '/tokens/a-token'
    const refused = 'is not writable by the application.'
    for (const [reply, detail] of [
      [await vault().delete(path, keys.limited), `A container of the token ${refused}`],
      [
        await vault().patch(path, keys.limited, { metadata: { k: 'v' } }),
        `A container of the token ${refused}`,
      ],
      [
        await vault().patch(path, keys.limited, { containers: ['/b/'] }),
        `A container of the token ${refused}`,
      ],
      [
        await vault().patch(path, keys.limited, { containers: ['/b/', '/d/'] }),
        `A target container ${refused}`,
      ],
    ] as const)
      assert.deepEqual([reply.status, reply.body.detail], [403, detail])
    assert.deepEqual((await vault().get(path, keys.owner)).body.containers, ['/a/', '/c/'])
  })

  test('each permission has its own deciding rule (C28.7)', async () => {
    const { keys } = await vault().tenant({
      owner,
      limited: {
        rules: [
          { priority: 1, container: '/a/', transform: 'redact', permissions: ['token:create'] },
          { priority: 2, container: '/a/', transform: 'mask', permissions: ['token:create', 'token:read'] },
          { priority: 3, container: '/', transform: 'reveal', permissions: ['token:read'] },
        ],
      },
    })
    const made = await vault().create(keys.limited, { ...token, containers: ['/a/'] })
    assert.equal('data' in made, false)
    assert.equal((await vault().get('/tokens/a-token', keys.limited)).body.data, 'XXXXXXXXXXXalue')
    await vault().create(keys.owner, { ...token, id: 'elsewhere', containers: ['/b/'] })
    assert.equal((await vault().get('/tokens/elsewhere', keys.limited)).body.data, 'Sensitive Value')
    assert.equal(
      (await vault().post('/tokens', keys.limited, { ...token, id: 'third', containers: ['/b/'] })).status,
      403,
    )
  })

  test('flat permissions apply everywhere, under mask (C28.6)', async () => {
    const { keys } = await vault().tenant({
      owner,
      flat: { permissions: ['token:create', 'token:read', 'token:update', 'token:delete'] },
    })
    await vault().create(keys.flat, { ...token, containers: ['/any/where/'] })
    assert.equal((await vault().get('/tokens/a-token', keys.flat)).body.data, 'XXXXXXXXXXXalue')
    assert.equal(
      (await vault().patch('/tokens/a-token', keys.flat, { data: 'Another Value' })).body.data,
      'XXXXXXXXXalue',
    )
    assert.equal((await vault().delete('/tokens/a-token', keys.flat)).status, 204)
  })

  test('a public application may change data, metadata and expiry, and nothing else (C28.3)', async () => {
    const { keys } = await vault().tenant({
      owner,
      public: { type: 'public', permissions: ['token:create', 'token:update'] },
    })
    await vault().create(keys.public, token)
    // Client libraries of compatible services send this with every patch, and it asks for nothing.
    const foreign = { privacy: null, encryption: null, metadata: { from: 'a library' } }
    assert.equal((await vault().patch('/tokens/a-token', keys.public, foreign)).status, 200)
    const patch = { data: 'Another Value', metadata: { k: 'v' }, expires_at: '2030-01-01' }
    assert.equal((await vault().patch('/tokens/a-token', keys.public, patch)).status, 200)
    const before = (await vault().get('/tokens/a-token', keys.owner)).text
    for (const more of [
      { mask: 'm' },
      { mask: null },
      { containers: ['/a/'] },
      { search_indexes: [] },
      { fingerprint_expression: '{{ data }}' },
      { deduplicate_token: true },
    ]) {
      const reply = await vault().patch('/tokens/a-token', keys.public, { ...patch, ...more })
      assert.equal(reply.status, 403)
      assert.equal(reply.body.detail, 'A public application may change only data, metadata and expires_at.')
    }
    assert.equal((await vault().get('/tokens/a-token', keys.owner)).text, before)
    assert.equal((await vault().get('/tokens/a-token', keys.public)).status, 403)
  })
})
