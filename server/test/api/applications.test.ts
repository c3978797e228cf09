import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { countCommits } from '../rig/count-commits.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { assertAbsent } from '../rig/traces.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const instant = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00')

const rule = { priority: 1, container: '/a/', transform: 'reveal', permissions: ['token:read'] }
const manyRules = (count: number) =>
  Array.from({ length: count }, (_, priority) => ({ ...rule, priority, container: `/a/${priority}/` }))

/** What a create may ask for, and what the application is then. */
const accepted: readonly { name: string; send: Record<string, unknown>; is: Record<string, unknown> }[] = [
  {
    name: 'a public application with every permission it may hold (C28.2)',
    send: { type: 'public', permissions: ['token:create', 'token:update'] },
    is: { type: 'public', permissions: ['token:create', 'token:update'], rules: [] },
  },
  {
    name: 'a private application with every permission it may hold (C28.4)',
    send: {
      type: 'private',
      permissions: ['token:create', 'token:read', 'token:update', 'token:delete', 'token:search'],
    },
    is: {
      type: 'private',
      permissions: ['token:create', 'token:read', 'token:update', 'token:delete', 'token:search'],
      rules: [],
    },
  },
  {
    name: 'a management application with every permission it may hold (C28.5)',
    send: {
      type: 'management',
      permissions: [
        'tenant:read',
        'tenant:update',
        'tenant:delete',
        'application:create',
        'application:read',
        'application:update',
        'application:delete',
        'report:read',
      ],
    },
    is: { type: 'management' },
  },
  {
    name: 'empty fields that client libraries of compatible services send (C5.3, C6.1)',
    send: {
      expires_at: null,
      permissions: null,
      rules: [
        { ...rule, conditions: null },
        { ...rule, priority: 2, conditions: [] },
        { ...rule, priority: 3, conditions: {} },
        { ...rule, priority: 4, conditions: '' },
      ],
    },
    is: { rules: [1, 2, 3, 4].map(priority => ({ ...rule, priority })) },
  },
  {
    name: 'an application whose rules come back by priority (C28.6)',
    send: {
      rules: [
        { ...rule, priority: 20, description: 'later' },
        {
          ...rule,
          priority: 3,
          container: '/',
          transform: 'mask',
          permissions: ['token:create', 'token:read'],
        },
      ],
    },
    is: {
      permissions: [],
      rules: [
        { priority: 3, container: '/', transform: 'mask', permissions: ['token:create', 'token:read'] },
        { ...rule, priority: 20, description: 'later' },
      ],
    },
  },
  {
    name: 'a public application with rules (C28.6)',
    send: { type: 'public', rules: [{ ...rule, permissions: ['token:create'] }] },
    is: { type: 'public', rules: [{ ...rule, permissions: ['token:create'] }] },
  },
  {
    name: 'an application with a rule whose container is lower-cased (C19.2)',
    send: { rules: [{ ...rule, container: '/PCI/High/' }] },
    is: { rules: [{ ...rule, container: '/pci/high/' }] },
  },
  {
    name: 'an application with destinations, in the form in which they are compared (U11.4)',
    send: {
      rules: [
        {
          ...rule,
          permissions: ['proxy:invoke', 'token:read'],
          destinations: ['HTTPS://API.Example.com:443/V1/', 'https://*.example.org/'],
        },
      ],
    },
    is: {
      rules: [
        {
          ...rule,
          permissions: ['token:use', 'token:read'],
          destinations: ['https://api.example.com/V1/', 'https://*.example.org/'],
        },
      ],
    },
  },
  {
    name: 'an application with 50 rules (C8.16)',
    send: { rules: manyRules(50) },
    is: { rules: manyRules(50) },
  },
  {
    name: 'an application with null in place of absent fields (C5.3)',
    send: { permissions: null, rules: [{ ...rule, description: null }] },
    is: { permissions: [], rules: [rule] },
  },
  {
    name: 'an application without permissions or rules (C28.6)',
    send: {},
    is: { permissions: [], rules: [] },
  },
  {
    name: 'an application with empty permissions and rules (C28.6)',
    send: { permissions: [], rules: [] },
    is: { permissions: [], rules: [] },
  },
]

/** What create and update both refuse, and at which places. */
const refusedGrants: readonly {
  name: string
  type?: string
  send: Record<string, unknown>
  errors: string[]
}[] = [
  {
    name: 'an unknown permission (C28.1)',
    send: { permissions: ['token:steal'] },
    errors: ['permissions[0]'],
  },
  {
    name: 'permissions of another application type, each reported at its place (C28.1, C28.4)',
    send: { permissions: ['token:read', 'tenant:read', 'report:read'] },
    errors: ['permissions[1]', 'permissions[2]'],
  },
  {
    name: 'a public application that reads, deletes or searches (C28.2)',
    type: 'public',
    send: { permissions: ['token:create', 'token:read', 'token:delete', 'token:search'] },
    errors: ['permissions[1]', 'permissions[2]', 'permissions[3]'],
  },
  {
    name: 'a management application with a token permission (C28.5)',
    type: 'management',
    send: { permissions: ['token:read', 'tenant:read'] },
    errors: ['permissions[0]'],
  },
  {
    name: 'a management application with rules (C28.5, C28.6)',
    type: 'management',
    send: { rules: [{ ...rule, permissions: ['tenant:read'] }] },
    errors: ['rules'],
  },
  {
    name: 'a permission in the wrong letter case (C28.1)',
    send: { permissions: ['Token:Read'] },
    errors: ['permissions[0]'],
  },
  { name: 'a wildcard (C28.1)', send: { permissions: ['token:*'] }, errors: ['permissions[0]'] },
  {
    name: 'a permission listed twice (C28.1)',
    send: { permissions: ['token:read', 'token:read'] },
    errors: ['permissions[1]'],
  },
  {
    name: 'permissions that are not a list (C28.6)',
    send: { permissions: 'token:read' },
    errors: ['permissions'],
  },
  {
    name: 'permissions that are not strings (C28.6)',
    send: { permissions: [1] },
    errors: ['permissions[0]'],
  },
  {
    name: 'permissions and rules together (C28.6)',
    send: { permissions: ['token:read'], rules: [rule] },
    errors: ['rules'],
  },
  {
    name: 'two rules with the same priority (C28.6)',
    send: { rules: [rule, { ...rule, priority: 2 }, { ...rule, container: '/b/' }] },
    errors: ['rules[2].priority'],
  },
  {
    name: 'a permission of another application type in a rule (C28.1)',
    send: { rules: [{ ...rule, permissions: ['token:read', 'tenant:read'] }] },
    errors: ['rules[0].permissions[1]'],
  },
  {
    name: 'a rule without its required fields (C28.6)',
    send: { rules: [{}] },
    errors: ['rules[0].container', 'rules[0].permissions', 'rules[0].priority', 'rules[0].transform'],
  },
  {
    name: 'an unknown transform (C28.6)',
    send: { rules: [{ ...rule, transform: 'plain' }] },
    errors: ['rules[0].transform'],
  },
  {
    name: 'priorities that are not whole numbers from 0 up (C28.6)',
    send: {
      rules: [
        { ...rule, priority: -1 },
        { ...rule, priority: 1.5 },
        { ...rule, priority: '1' },
      ],
    },
    errors: ['rules[0].priority', 'rules[1].priority', 'rules[2].priority'],
  },
  ...['', 'a', '/a', 'a/', '//', '/a//b/', '/a b/', '/*/', '/ä/', '/\u212A/', `/${'a/'.repeat(17)}`].map(
    container => ({
      name: `the container ${JSON.stringify(container)} (C19.1)`,
      send: { rules: [{ ...rule, container }] },
      errors: ['rules[0].container'],
    }),
  ),
  {
    name: 'a container of more than 400 characters (C8.11)',
    send: { rules: [{ ...rule, container: `/${'a'.repeat(399)}/` }] },
    errors: ['rules[0].container'],
  },
  {
    name: 'destinations in a rule without token:use (U11.4)',
    send: { rules: [{ ...rule, destinations: ['https://api.example.com/'] }] },
    errors: ['rules[0].destinations'],
  },
  {
    name: 'destinations that are none (U11.4)',
    send: {
      rules: [
        { ...rule, permissions: ['token:use'], destinations: ['https://a.example/', 'https://a.example/x'] },
      ],
    },
    errors: ['rules[0].destinations[1]'],
  },
  {
    name: 'a destination at a port that the operator does not allow (U11.4)',
    send: {
      rules: [{ ...rule, permissions: ['token:use'], destinations: ['https://a.example:8443/'] }],
    },
    errors: ['rules[0].destinations[0]'],
  },
  ...[[], Array.from({ length: 21 }, (_, at) => `https://a${at}.example/`)].map(destinations => ({
    name: `${destinations.length} destinations (U11.4)`,
    send: { rules: [{ ...rule, permissions: ['token:use'], destinations }] },
    errors: ['rules[0].destinations'],
  })),
  {
    name: 'token:use twice, under both of its names (U11.1)',
    send: { permissions: ['token:use', 'proxy:invoke'] },
    errors: ['permissions[1]'],
  },
  {
    name: 'an unknown field in a rule (C6.1)',
    send: { rules: [{ ...rule, contianer: '/' }] },
    errors: ['rules[0].contianer'],
  },
  {
    name: 'a condition in a rule: without it, the rule would allow more (C6.1)',
    send: { rules: [rule, { ...rule, priority: 2, conditions: [{ attribute: 'ip' }] }] },
    errors: ['rules[1].conditions'],
  },
  { name: 'an expiry of the application (C6.1)', send: { expires_at: '2030-01-01' }, errors: ['expires_at'] },
  { name: '51 rules (C8.16)', send: { rules: manyRules(51) }, errors: ['rules'] },
  { name: 'rules that are not a list (C28.6)', send: { rules: rule }, errors: ['rules'] },
  { name: 'an empty name (C8.15)', send: { name: '' }, errors: ['name'] },
  { name: 'a name of 201 characters (C8.15)', send: { name: 'a'.repeat(201) }, errors: ['name'] },
  { name: 'a name that is not a string (C8.15)', send: { name: 1 }, errors: ['name'] },
  { name: 'a key chosen by the caller (C6.1)', send: { key: 'key_private_x' }, errors: ['key'] },
  { name: 'an id chosen by the caller (C6.1)', send: { id: 'x' }, errors: ['id'] },
]

onOneEngine('applications', 'every store keeps grants as its contract says', (vault, aboveStorage) => {
  const put = (key: string, id: string, body: unknown): Promise<TestReply> =>
    vault().send('PUT', `/applications/${id}`, { key, body })

  aboveStorage(() => {
    for (const { name, send, is } of accepted)
      test(`${name} can be created`, async () => {
        const { tenantId, keys } = await vault().tenant(ownerAndManager)
        const manager = granted(await vault().get('/applications/key', keys.manager)).id
        const reply = await vault().post('/applications', keys.manager, {
          name: 'new',
          type: 'private',
          ...send,
        })
        assert.equal(reply.status, 201, reply.text)
        const { key, id, ...rest } = reply.body
        assert.match(id, uuid)
        assert.equal(reply.headers.get('location'), `/applications/${id}`)
        for (const [field, value] of Object.entries(is)) assert.deepEqual(rest[field], value, field)
        assert.deepEqual(
          [rest.name, rest.tenant_id, rest.created_by, rest.created_at],
          ['new', tenantId, manager, instant(vault().now)],
        )
        assert.equal('modified_by' in rest || 'modified_at' in rest, false)
        assert.match(key, new RegExp(`^key_(${rest.type}|general)_`))
        assert.deepEqual(granted(await vault().get(`/applications/${id}`, keys.manager)), { id, ...rest })
        assert.deepEqual(granted(await vault().get('/applications/key', key)), { id, ...rest })
      })
  })

  const refusedCreates = [
    ...refusedGrants,
    { name: 'no type (C28.1)', send: { type: undefined }, errors: ['type'] },
    { name: 'an unknown type (C28.1)', send: { type: 'server' }, errors: ['type'] },
    { name: 'no name (C29.1)', send: { name: undefined }, errors: ['name'] },
    {
      name: 'several faults, each reported at its place (C2.2)',
      send: { name: '', typ: 'x', rules: [{ ...rule, priority: 'x' }] },
      errors: ['name', 'rules[0].priority', 'typ'],
    },
  ]
  aboveStorage(() => {
    for (const { name, type, send, errors } of refusedCreates as typeof refusedGrants)
      test(`${name}: creation is refused`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const before = (await vault().get('/applications', keys.manager)).text
        const body = { name: 'new', type: type ?? 'private', ...send }
        const reply = await vault().post('/applications', keys.manager, body)
        assert.equal(reply.status, 400)
        assert.deepEqual(Object.keys(reply.body.errors).sort(), errors)
        assert.equal((await vault().get('/applications', keys.manager)).text, before)
      })

    test('a name has 1 to 200 characters (C8.15, C8.18)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      for (const name of ['x', '\u{1F511}'.repeat(200)]) {
        const { id } = await newApplication(vault(), keys.manager, { name })
        assert.equal(granted(await vault().get(`/applications/${id}`, keys.manager)).name, name)
      }
    })

    test('each endpoint needs its own permission (C29.1, C29.2)', async () => {
      const only = (permission: 'create' | 'read' | 'update' | 'delete') =>
        ({ type: 'management', permissions: [`application:${permission}`] }) as const
      const { keys } = await vault().tenant({
        ...ownerAndManager,
        create: only('create'),
        read: only('read'),
        update: only('update'),
        delete: only('delete'),
        tenant: {
          type: 'management',
          permissions: ['tenant:read', 'tenant:update', 'tenant:delete', 'report:read'],
        },
      })
      const body = { name: 'x', type: 'private', permissions: ['token:read'] }
      const needs: [keyof typeof keys, (key: string, id: string, keyId: string) => Promise<TestReply>][] = [
        ['create', key => vault().post('/applications', key, body)],
        ['read', key => vault().get('/applications', key)],
        ['read', (key, id) => vault().get(`/applications/${id}`, key)],
        ['read', (key, id) => vault().get(`/applications/${id}/keys`, key)],
        ['read', (key, id, keyId) => vault().get(`/applications/${id}/keys/${keyId}`, key)],
        [
          'read',
          (key, id) =>
            vault().post(`/applications/${id}/explain`, key, { permission: 'token:read', type: 'card' }),
        ],
        ['update', (key, id) => put(key, id, { name: 'y' })],
        ['update', (key, id) => vault().post(`/applications/${id}/keys`, key, {})],
        ['update', (key, id, keyId) => vault().delete(`/applications/${id}/keys/${keyId}`, key)],
        ['delete', (key, id) => vault().delete(`/applications/${id}`, key)],
      ]
      for (const [permission, send] of needs) {
        const { id } = await newApplication(vault(), keys.manager, body)
        const [key] = granted(await vault().get(`/applications/${id}/keys`, keys.manager))
        for (const who of ['create', 'read', 'update', 'delete', 'tenant', 'owner'] as const) {
          if (who === permission) continue
          assert.equal((await send(keys[who], id, key.id)).status, 403, `${who}: ${send}`)
        }
        granted(await send(keys[permission], id, key.id))
      }
    })
  })

  test('the list is newest first, paged, and shows no keys (C29.1)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const made: string[] = []
    for (let count = 0; count < 3; count++) {
      vault().now += 1_000
      made.unshift((await newApplication(vault(), keys.manager, { name: `${count}` })).id)
    }
    const list = granted(await vault().get('/applications', keys.manager))
    assert.deepEqual(list.pagination, { total_items: 5, page_number: 1, page_size: 20, total_pages: 1 })
    assert.deepEqual(
      list.data.slice(0, 3).map(({ id }: { id: string }) => id),
      made,
    )
    for (const application of list.data) assert.equal('key' in application, false)
    const second = granted(await vault().get('/applications?page=2&size=2', keys.manager))
    assert.deepEqual(second.pagination, { total_items: 5, page_number: 2, page_size: 2, total_pages: 3 })
    assert.deepEqual(second.data, list.data.slice(2, 4))
    assert.deepEqual(granted(await vault().get('/applications?page=9', keys.manager)).data, [])
    for (const query of [
      'page=0',
      'size=0',
      'size=101',
      'page=x',
      'size=1&size=2',
      'name=x',
      'siez=1',
      'type=',
      'type=x',
    ]) {
      const reply = await vault().get(`/applications?${query}`, keys.manager)
      assert.equal(reply.status, 400, query)
      assert.deepEqual(Object.keys(reply.body.errors), [query.split('=')[0]], query)
    }
  })

  test('the list can be filtered by id and type (C29.1)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    vault().now += 1_000
    const { id } = await newApplication(vault(), keys.manager, { type: 'public' })
    const manager = granted(await vault().get('/applications/key', keys.manager)).id
    const cases: [query: string, ids: string[]][] = [
      [`id=${id}`, [id]],
      [`id=${id}&id=${manager}&id=unknown&size=1&page=2`, [manager]],
      ['type=management', [manager]],
      ['type=management&type=public', [id, manager]],
      [`id=${id}&type=management`, []],
      ['id=', []],
    ]
    for (const [query, ids] of cases) {
      const { data } = granted(await vault().get(`/applications?${query}`, keys.manager))
      assert.deepEqual(data.map((one: { id: string }) => one.id).sort(), ids.sort(), query)
    }
  })

  test('an application can be created without a key and given one later (C29.1)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const reply = await vault().send('POST', '/applications', {
      key: keys.manager,
      body: { name: 'x', type: 'private', create_key: false },
      headers: { 'svc-idempotency-key': 'no-key' },
    })
    assert.equal(reply.status, 201)
    assert.equal('key' in reply.body, false)
    const { id } = reply.body
    assert.deepEqual(granted(await vault().get(`/applications/${id}`, keys.manager)), reply.body)
    assert.deepEqual(granted(await vault().get(`/applications/${id}/keys`, keys.manager)), [])
    const { key } = granted(await vault().post(`/applications/${id}/keys`, keys.manager, {}))
    assert.equal(granted(await vault().get('/applications/key', key)).id, id)
    const made = await newApplication(vault(), keys.manager, { create_key: true })
    assert.equal(granted(await vault().get('/applications/key', made.key)).id, made.id)
  })

  aboveStorage(() => {
    test('every key can read its own application, whatever its permissions (C29.3)', async () => {
      const { keys } = await vault().tenant({
        ...ownerAndManager,
        nothing: {},
        public: { type: 'public', permissions: ['token:create'] },
      })
      for (const [name, key] of Object.entries(keys)) {
        const own = granted(await vault().get('/applications/key', key))
        assert.equal(own.name, name)
        assert.equal('key' in own, false)
        assert.deepEqual(own, granted(await vault().get(`/applications/${own.id}`, keys.manager)))
      }
      assert.equal((await vault().send('GET', '/applications/key')).status, 401)
    })

    test('an unknown application is 404 on every path (C29.2, C2.13)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      for (const id of [
        '019ac000-0000-7000-8000-000000000000',
        'x',
        '%00',
        'key%2f',
        '..%2f..',
        'a'.repeat(500),
      ])
        for (const reply of [
          await vault().get(`/applications/${id}`, keys.manager),
          await put(keys.manager, id, { name: 'x' }),
          await vault().delete(`/applications/${id}`, keys.manager),
          await vault().get(`/applications/${id}/keys`, keys.manager),
          await vault().post(`/applications/${id}/keys`, keys.manager, {}),
          await vault().get(`/applications/${id}/keys/x`, keys.manager),
          await vault().delete(`/applications/${id}/keys/x`, keys.manager),
          await vault().post(`/applications/${id}/explain`, keys.manager, {
            permission: 'token:read',
            type: 'card',
          }),
        ])
          assert.equal(reply.status, 404)
    })
  })

  const changes: readonly { name: string; send: Record<string, unknown>; is: Record<string, unknown> }[] = [
    { name: 'the name alone', send: {}, is: { permissions: ['token:create'], rules: [] } },
    {
      name: 'null grants, the same as leaving them out',
      send: { permissions: null, rules: null },
      is: { permissions: ['token:create'] },
    },
    {
      name: 'other permissions',
      send: { permissions: ['token:read'] },
      is: { permissions: ['token:read'], rules: [] },
    },
    { name: 'an empty list of permissions', send: { permissions: [] }, is: { permissions: [], rules: [] } },
    {
      name: 'rules in place of permissions',
      send: { rules: [rule] },
      is: { permissions: [], rules: [rule] },
    },
    {
      name: 'the type it already has',
      send: { type: 'private' },
      is: { type: 'private', permissions: ['token:create'] },
    },
  ]
  aboveStorage(() => {
    for (const { name, send, is } of changes)
      test(`an update accepts ${name} (C29.2)`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const { id, key } = await newApplication(vault(), keys.manager, { permissions: ['token:create'] })
        const before = granted(await vault().get(`/applications/${id}`, keys.manager))
        const manager = granted(await vault().get('/applications/key', keys.manager)).id
        vault().now += 1_000
        const reply = await put(keys.manager, id, { name: 'renamed', ...send })
        assert.equal(reply.status, 200)
        assert.deepEqual(reply.body, {
          ...before,
          ...is,
          name: 'renamed',
          modified_by: manager,
          modified_at: instant(vault().now),
        })
        assert.deepEqual(granted(await vault().get('/applications/key', key)), reply.body, 'its key stays')
      })

    test('a clock set back never dates an update before the creation or before an earlier update (C29.2, C5.5)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const { id } = await newApplication(vault(), keys.manager, { permissions: ['token:create'] })
      const { created_at } = granted(await vault().get(`/applications/${id}`, keys.manager))
      const rename = async (): Promise<string> =>
        granted(await put(keys.manager, id, { name: 'renamed' })).modified_at
      vault().now -= 1_000
      assert.equal(await rename(), created_at)
      vault().now += 3_000
      const later = await rename()
      assert.equal(later, instant(vault().now))
      vault().now -= 1_000
      assert.equal(await rename(), later)
      vault().now += 1_000
    })
  })

  const refusedUpdates = [
    ...refusedGrants,
    { name: 'no name (C29.2)', send: { name: undefined }, errors: ['name'] },
    { name: 'a change to another type (C28.1)', send: { type: 'public' }, errors: ['type'] },
    { name: 'a change to a stronger type (C28.1)', send: { type: 'management' }, errors: ['type'] },
  ]
  aboveStorage(() => {
    for (const { name, type, send, errors } of refusedUpdates as typeof refusedGrants)
      test(`${name}: the update is refused and changes nothing`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const { id } = await newApplication(vault(), keys.manager, { type: type ?? 'private' })
        const before = (await vault().get(`/applications/${id}`, keys.manager)).text
        const reply = await put(keys.manager, id, { name: 'renamed', ...send })
        assert.equal(reply.status, 400)
        assert.deepEqual(Object.keys(reply.body.errors).sort(), errors)
        assert.equal((await vault().get(`/applications/${id}`, keys.manager)).text, before)
      })
  })

  test('a changed rule takes effect with the next request (C27.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const body = { type: 'token', data: 'Sensitive Value', mask: '{{ data | reveal_last: 4 }}' }
    const { id: token } = granted(await vault().post('/tokens', keys.owner, body))
    const { id, key } = await newApplication(vault(), keys.manager, { permissions: ['token:read'] })
    const look = async () => {
      const { status, body } = await vault().get(`/tokens/${token}`, key)
      return status === 200 ? body.data : status
    }
    assert.equal(await look(), 'XXXXXXXXXXXalue')
    const rules = (transform: string, container = '/') => ({ rules: [{ ...rule, transform, container }] })
    granted(await put(keys.manager, id, { name: 'x', ...rules('reveal') }))
    assert.equal(await look(), 'Sensitive Value')
    granted(await put(keys.manager, id, { name: 'x', ...rules('redact') }))
    assert.equal(await look(), undefined)
    granted(await put(keys.manager, id, { name: 'x', ...rules('reveal', '/elsewhere/') }))
    assert.equal(await look(), 404)
    granted(await put(keys.manager, id, { name: 'x', permissions: [] }))
    assert.equal(await look(), 403)
    granted(await vault().delete(`/applications/${id}`, keys.manager))
    assert.equal(await look(), 401)
  })

  test('a deleted application is gone with all its keys, and the tokens it created stay (C29.2, C27.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { id, key } = await newApplication(vault(), keys.manager, { permissions: ['token:create'] })
    const further = granted(await vault().post(`/applications/${id}/keys`, keys.manager, {})).key
    const token = granted(await vault().post('/tokens', key, { type: 'token', data: 'x' })).id
    granted(await vault().get('/applications/key', further))
    const reply = await vault().delete(`/applications/${id}`, keys.manager)
    assert.deepEqual([reply.status, reply.text], [204, ''])
    for (const gone of [key, further])
      assert.equal((await vault().get('/applications/key', gone)).status, 401)
    assert.equal((await vault().get(`/applications/${id}`, keys.manager)).status, 404)
    assert.equal((await vault().delete(`/applications/${id}`, keys.manager)).status, 404)
    assert.equal(granted(await vault().get(`/tokens/${token}`, keys.owner)).created_by, id)
    await vault().restart()
    assert.equal((await vault().get('/applications/key', key)).status, 401)
  })

  test('sixty applications made at the same time are all kept, in a few rounds each (C29.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const names = Array.from({ length: 60 }, (_, at) => `n${at}`)
    const commits = await countCommits(vault(), () =>
      Promise.all(names.map(name => newApplication(vault(), keys.manager, { name }))),
    )
    const { data } = granted(await vault().get('/applications?size=100', keys.manager))
    const kept = new Set(data.map(({ name }: { name: string }) => name))
    assert.deepEqual(
      names.filter(name => !kept.has(name)),
      [],
    )
    assert.ok(commits <= 3 * names.length, `${commits} commits`)
  })

  test('changes to applications that reach storage together are all kept (C29.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const [one, two] = [
      await newApplication(vault(), keys.manager, { name: 'one' }),
      await newApplication(vault(), keys.manager, { name: 'two' }),
    ]
    const gate = commitGate(vault())
    const all = [
      put(keys.manager, one.id, { name: 'first', permissions: ['token:read'] }),
      put(keys.manager, one.id, { name: 'second' }),
      vault().delete(`/applications/${two.id}`, keys.manager),
      vault().post('/applications', keys.manager, { name: 'three', type: 'private' }),
    ]
    await gate.waiting(4)
    gate.open()
    assert.deepEqual(
      (await Promise.all(all)).map(({ status }) => status),
      [200, 200, 204, 201],
    )
    const { data } = granted(await vault().get('/applications', keys.manager))
    const names = data.map(({ name }: { name: string }) => name)
    assert.ok(names.includes('three') && !names.includes('two'))
    const after = data.find(({ id }: { id: string }) => id === one.id)
    assert.deepEqual(
      after.permissions,
      ['token:read'],
      'the update without permissions kept those of the other',
    )
  })

  /** What a caller with application:* and report:read, but no tenant:delete, tries. */
  const climbs: readonly {
    name: string
    try: (key: string, strong: string, own: string) => Promise<TestReply>
  }[] = [
    {
      name: 'creating an application that has it',
      try: key =>
        vault().post('/applications', key, {
          name: 'x',
          type: 'management',
          permissions: ['report:read', 'tenant:delete'],
        }),
    },
    {
      name: 'giving it to its own application',
      try: (key, _strong, own) =>
        put(key, own, { name: 'x', permissions: ['application:update', 'tenant:delete'] }),
    },
    {
      name: 'giving another application one more permission',
      try: (key, strong) => put(key, strong, { name: 'x', permissions: ['tenant:delete', 'tenant:read'] }),
    },
    {
      name: 'creating a key for an application that has it',
      try: (key, strong) => vault().post(`/applications/${strong}/keys`, key, {}),
    },
  ]
  aboveStorage(() => {
    test('a caller with fewer permissions may rename an application but not set its permissions (C29.8)', async () => {
      const { keys } = await vault().tenant({
        ...ownerAndManager,
        clerk: { type: 'management', permissions: ['application:update', 'application:read'] },
      })
      const { id, permissions } = granted(await vault().get('/applications/key', keys.manager))
      const renamed = granted(await put(keys.clerk, id, { name: 'renamed' }))
      assert.deepEqual([renamed.name, renamed.permissions], ['renamed', permissions])
      assert.equal((await put(keys.clerk, id, { name: 'renamed', permissions })).status, 403)
    })

    for (const climb of climbs)
      test(`a caller cannot gain a management permission it lacks by ${climb.name} (C29.8)`, async () => {
        const { keys } = await vault().tenant({
          ...ownerAndManager,
          climber: {
            type: 'management',
            permissions: [
              'application:create',
              'application:read',
              'application:update',
              'application:delete',
              'report:read',
            ],
          },
          strong: { type: 'management', permissions: ['tenant:delete', 'report:read'] },
        })
        const idOf = async (key: string) => granted(await vault().get('/applications/key', key)).id
        const [strong, own] = [await idOf(keys.strong), await idOf(keys.climber)]
        const look = async () => [
          granted(await vault().get('/applications', keys.manager)),
          granted(await vault().get(`/applications/${strong}/keys`, keys.manager)).length,
        ]
        const before = await look()
        const reply = await climb.try(keys.climber, strong, own)
        assert.equal(reply.status, 403)
        assertAbsent({ answer: reply.text }, ['key_management_'])
        assert.deepEqual(await look(), before)
        granted(await climb.try(keys.manager, strong, own))
      })

    test('a caller may grant the management permissions it holds, and any token permissions (C29.8)', async () => {
      const { keys } = await vault().tenant({
        ...ownerAndManager,
        weak: {
          type: 'management',
          permissions: ['application:create', 'application:update', 'report:read'],
        },
      })
      const equal = await newApplication(vault(), keys.weak, {
        type: 'management',
        permissions: ['report:read', 'application:update', 'application:create'],
      })
      granted(await vault().post(`/applications/${equal.id}/keys`, keys.weak, {}))
      granted(await put(keys.weak, equal.id, { name: 'less', permissions: ['report:read'] }))
      const { key } = await newApplication(vault(), keys.weak, { rules: [{ ...rule, container: '/' }] })
      granted(await vault().get('/tokens', key))
    })
  })

  test('applications survive a restart (C34.7)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { id, key } = await newApplication(vault(), keys.manager, { rules: [rule] })
    const before = granted(await vault().get(`/applications/${id}`, keys.manager))
    await vault().restart()
    assert.deepEqual(granted(await vault().get('/applications/key', key)), before)
  })

  aboveStorage(() => {
    test('the description of a rule has at most 200 characters (C8.15)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const make = (length: number): Promise<TestReply> =>
        vault().post('/applications', keys.manager, {
          name: 'x',
          type: 'private',
          rules: [{ ...rule, description: 'é'.repeat(length) }],
        })
      assert.equal((await make(200)).status, 201)
      assert.deepEqual(Object.keys((await make(201)).body.errors), ['rules[0].description'])
    })
  })
})
