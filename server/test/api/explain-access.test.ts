import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { tries } from '../rig/long-run.ts'
import { fc } from '../rig/properties.ts'
import { storedRowsOf } from '../rig/stored-rows.ts'

const rules = [
  {
    description: 'cards',
    priority: 1,
    container: '/pci/',
    transform: 'mask',
    permissions: ['token:read', 'token:create'],
  },
  { priority: 2, container: '/pci/high/', transform: 'reveal', permissions: ['token:read'] },
  {
    priority: 3,
    container: '/general/',
    transform: 'redact',
    permissions: ['token:read', 'token:update', 'token:delete'],
  },
]

onOneEngine('explain access', 'explained above storage', vault => {
  const start = async (body: Record<string, unknown> = { rules }) => {
    const { keys } = await vault().tenant(ownerAndManager)
    return { ...keys, ...(await newApplication(vault(), keys.manager, body)) }
  }
  const explain = (manager: string, id: string, body: unknown): Promise<TestReply> =>
    vault().post(`/applications/${id}/explain`, manager, body)

  /** Questions about an application with the rules above, and the answers. */
  const told: readonly {
    name: string
    ask: object
    outcome: string
    reason: RegExp
    rules: (number | null)[]
  }[] = [
    {
      name: 'the first rule by priority decides, not the closest (C28.7)',
      ask: { permission: 'token:read', containers: ['/pci/high/'] },
      outcome: 'mask',
      reason: /least revealing/,
      rules: [1],
    },
    {
      name: 'a type stands for its own container (C9.2)',
      ask: { permission: 'token:read', type: 'card' },
      outcome: 'mask',
      reason: /least revealing/,
      rules: [1],
    },
    {
      name: 'the least revealing of several containers decides (C28.8)',
      ask: { permission: 'token:read', containers: ['/pci/x/', '/general/high/'] },
      outcome: 'redact',
      reason: /least revealing/,
      rules: [1, 3],
    },
    {
      name: 'a container without a rule counts as redact (C28.8)',
      ask: { permission: 'token:read', containers: ['/pci/x/', '/bank/high/'] },
      outcome: 'redact',
      reason: /without a rule counts as redact: \/bank\/high\//,
      rules: [1, null],
    },
    {
      name: 'a read that no rule covers is refused (C28.9)',
      ask: { permission: 'token:read', containers: ['/bank/', '/p/'] },
      outcome: 'refused',
      reason: /^404/,
      rules: [null, null],
    },
    {
      name: 'a permission held nowhere is refused (C2.12)',
      ask: { permission: 'token:search', containers: ['/pci/'] },
      outcome: 'refused',
      reason: /^403: .*nowhere/,
      rules: [null],
    },
    {
      name: 'a create with a rule for every destination is allowed (C28.10)',
      ask: { permission: 'token:create', type: 'card' },
      outcome: 'allowed',
      reason: /answers show mask/,
      rules: [1],
    },
    {
      name: 'a create with one destination that no rule covers is refused (C28.10)',
      ask: { permission: 'token:create', containers: ['/pci/', '/bank/'] },
      outcome: 'refused',
      reason: /^403: .*\/bank\//,
      rules: [1, null],
    },
    {
      name: 'a create with no destination that a rule covers is refused (C28.10)',
      ask: { permission: 'token:create', containers: ['/bank/'] },
      outcome: 'refused',
      reason: /^403/,
      rules: [null],
    },
    {
      name: 'an update whose answer is redacted is allowed (C12.3)',
      ask: { permission: 'token:update', type: 'token' },
      outcome: 'allowed',
      reason: /answers show redact/,
      rules: [3],
    },
    {
      name: 'an update that no rule covers is refused (C28.9)',
      ask: { permission: 'token:update', containers: ['/pci/'] },
      outcome: 'refused',
      reason: /^404/,
      rules: [null],
    },
    {
      name: 'a delete that rules cover only in part is refused (C28.10)',
      ask: { permission: 'token:delete', containers: ['/general/', '/pci/'] },
      outcome: 'refused',
      reason: /^403/,
      rules: [3, null],
    },
    {
      name: 'containers are matched in lower case (C19.2)',
      ask: { permission: 'token:read', containers: ['/General/High/'] },
      outcome: 'redact',
      reason: /least revealing/,
      rules: [3],
    },
  ]
  const here = 'https://api.example.com/v1/charges'
  const using: readonly { ask: object; outcome: string; reason: RegExp; reasons?: RegExp }[] = [
    {
      ask: { type: 'token' },
      outcome: 'allowed',
      reason: /the proxy sends the whole value; it may not be read/,
    },
    { ask: { containers: ['/b/'] }, outcome: 'allowed', reason: /token:read shows it under reveal/ },
    {
      ask: { type: 'card' },
      outcome: 'refused',
      reason: /^destination_forbidden, unless/,
      reasons: /the rule of priority 1 on \/pci\/ holds token:use, but only for its destinations/,
    },
    { ask: { type: 'card', destination: here }, outcome: 'allowed', reason: /every container/ },
    {
      ask: { type: 'card', destination: 'https://api.example.com/v1' },
      outcome: 'refused',
      reason: /^destination_forbidden: .* other destinations$/,
      reasons: /only for its destinations/,
    },
    {
      ask: { containers: ['/pci/', '/c/'], destination: here },
      outcome: 'refused',
      reason: /^token_not_found: .* on \/c\/$/,
    },
  ]
  for (const { ask, outcome, reason, reasons } of using)
    test(`how a token may be used is explained: ${JSON.stringify(ask)} (U11.3, U11.5)`, async () => {
      const { manager, id } = await start({
        rules: [
          {
            priority: 1,
            container: '/pci/',
            transform: 'mask',
            permissions: ['proxy:invoke'],
            destinations: ['https://API.example.com/v1/', 'https://*.example.org/'],
          },
          { priority: 2, container: '/general/', transform: 'mask', permissions: ['token:use'] },
          { priority: 3, container: '/b/', transform: 'reveal', permissions: ['token:use', 'token:read'] },
        ],
      })
      const { body } = await explain(manager, id, { permission: 'token:use', ...ask })
      assert.equal(body.outcome, outcome, body.reason)
      assert.match(body.reason, reason)
      const [container] = body.containers
      if (reasons) assert.match(container.reason, reasons)
      if (container.rule?.priority === 1) {
        assert.deepEqual(container.rule.permissions, ['token:use'])
        assert.deepEqual(container.rule.destinations, [
          'https://api.example.com/v1/',
          'https://*.example.org/',
        ])
      }
    })

  for (const { name, ask, outcome, reason, rules: deciding } of told)
    test(`${name}: ${JSON.stringify(ask)}`, async () => {
      const { manager, id } = await start()
      const reply = await explain(manager, id, ask)
      assert.equal(reply.status, 200, reply.text)
      assert.equal(reply.body.application_id, id)
      assert.equal(reply.body.outcome, outcome)
      assert.match(reply.body.reason, reason)
      assert.deepEqual(
        reply.body.containers.map((entry: { rule?: { priority: number } }) => entry.rule?.priority ?? null),
        deciding,
      )
      for (const { rule, outcome } of reply.body.containers) {
        assert.equal(outcome, rule?.transform ?? 'none')
        if (rule) assert.deepEqual(rule, rules[rule.priority - 1], 'the rule as it was given')
      }
    })

  test('flat permissions cover every container under mask (C28.6)', async () => {
    const { manager, id } = await start({ permissions: ['token:read', 'token:create'] })
    const { body } = await explain(manager, id, {
      permission: 'token:read',
      containers: ['/any/', '/where/'],
    })
    assert.equal(body.outcome, 'mask')
    assert.deepEqual(
      body.containers.map((entry: { outcome: string; rule?: unknown }) => [entry.outcome, entry.rule]),
      [
        ['mask', undefined],
        ['mask', undefined],
      ],
    )
    assert.equal(
      (await explain(manager, id, { permission: 'token:delete', type: 'card' })).body.outcome,
      'refused',
    )
  })

  test('no answer to a write shows more than the mask, nor more than the caller may read (C13) (C12.2)', async () => {
    const all = ['token:create', 'token:read', 'token:update', 'token:delete']
    const revealing = await start({
      rules: [{ priority: 1, container: '/', transform: 'reveal', permissions: all }],
    })
    const ask = { permission: 'token:create', type: 'token' }
    assert.match((await explain(revealing.manager, revealing.id, ask)).body.reason, /answers show mask$/)
    const redacted = await start({
      rules: [
        { priority: 1, container: '/', transform: 'redact', permissions: ['token:read'] },
        { priority: 2, container: '/', transform: 'mask', permissions: ['token:create', 'token:delete'] },
      ],
    })
    assert.match((await explain(redacted.manager, redacted.id, ask)).body.reason, /answers show redact$/)
    const deletion = await explain(redacted.manager, redacted.id, { ...ask, permission: 'token:delete' })
    assert.doesNotMatch(deletion.body.reason, /show/)
  })

  test('a search shows what a read would, and finds nothing that a read would not (C26.1, C26.2)', async () => {
    const { manager, id } = await start({
      rules: [
        { priority: 1, container: '/a/', transform: 'reveal', permissions: ['token:search'] },
        { priority: 2, container: '/a/b/', transform: 'mask', permissions: ['token:read'] },
        { priority: 3, container: '/c/', transform: 'reveal', permissions: ['token:read'] },
      ],
    })
    for (const [containers, outcome] of [
      [['/a/b/'], 'mask'],
      [['/a/'], 'refused'],
      [['/c/'], 'refused'],
      [['/a/', '/c/'], 'redact'],
      [['/a/b/', '/c/'], 'mask'],
    ] as const) {
      const { body } = await explain(manager, id, { permission: 'token:search', containers })
      assert.equal(body.outcome, outcome, `${containers}: ${body.reason}`)
    }
  })

  const refused: readonly { ask: unknown; errors: readonly string[] }[] = [
    { ask: {}, errors: ['permission'] },
    { ask: { permission: 'token:read' }, errors: ['containers'] },
    { ask: { permission: 'tenant:read', type: 'card' }, errors: ['permission'] },
    { ask: { permission: 'token:steal', type: 'cards' }, errors: ['permission', 'type'] },
    { ask: { permission: 'token:read', containers: [] }, errors: ['containers'] },
    { ask: { permission: 'token:read', containers: ['/a/', 'b'] }, errors: ['containers[1]'] },
    { ask: { permission: 'token:read', containers: ['/a/', '/A/'] }, errors: ['containers[1]'] },
    {
      ask: { permission: 'token:read', containers: Array.from({ length: 11 }, (_, at) => `/${at}/`) },
      errors: ['containers'],
    },
    { ask: { permission: 'token:read', type: 'card', container: '/' }, errors: ['container'] },
    { ask: { permission: 'event:read', type: 'card' }, errors: ['permission'] },
    {
      ask: { permission: 'token:use', type: 'card', destination: 'http://x.example/' },
      errors: ['destination'],
    },
    { ask: { permission: 'token:read', type: 'card', destination: here }, errors: ['destination'] },
    { ask: 'token:read', errors: ['$'] },
  ]
  for (const { ask, errors } of refused)
    test(`${JSON.stringify(ask)} is refused as a question (C2.2, C6.1, C19.4)`, async () => {
      const { manager, id } = await start()
      const reply = await explain(manager, id, ask)
      assert.equal(reply.status, 400)
      assert.deepEqual(Object.keys(reply.body.errors).sort(), errors)
    })

  test('explaining is a read: it writes nothing, and the caller needs none of the permissions it asks about (C33.11)', async () => {
    const { keys } = await vault().tenant({
      ...ownerAndManager,
      asker: { type: 'management', permissions: ['application:read'] },
    })
    const { id } = await newApplication(vault(), keys.manager, { rules })
    const tables = ['tenants', 'applications', 'api_keys', 'tokens', 'counters', 'results']
    const look = async () => JSON.stringify(await storedRowsOf(vault(), tables))
    const before = await look()
    granted(await explain(keys.asker, id, { permission: 'token:read', type: 'card' }))
    assert.equal(await look(), before)
    assert.equal((await explain(keys.owner, id, { permission: 'token:read', type: 'card' })).status, 403)
  })

  test('what is explained is what happens (C28.7, C28.8, C28.9, C28.10)', async () => {
    const segments = ['a', 'b', 'ab']
    const path = fc
      .array(fc.constantFrom(...segments), { minLength: 1, maxLength: 3 })
      .map(names => `/${names.join('/')}/`)
    const permissions = [
      'token:create',
      'token:read',
      'token:update',
      'token:delete',
      'token:search',
    ] as const
    const anyRule = fc.record({
      container: fc.oneof({ arbitrary: path, weight: 4 }, { arbitrary: fc.constant('/'), weight: 1 }),
      transform: fc.constantFrom('reveal', 'mask', 'redact'),
      permissions: fc.subarray([...permissions], { minLength: 1 }),
    })
    const { keys } = await vault().tenant(ownerAndManager)
    const { id, key } = await newApplication(vault(), keys.manager, {})
    const value = { type: 'token', data: 'Sensitive Value', mask: '{{ data | reveal_last: 4 }}' }
    const masked = 'XXXXXXXXXXXalue'
    const shows = (data: unknown): string =>
      data === undefined
        ? 'redact'
        : data === masked
          ? 'mask'
          : data === value.data
            ? 'reveal'
            : 'something else'

    await fc.assert(
      fc.asyncProperty(
        fc.array(anyRule, { minLength: 1, maxLength: 5 }),
        fc.uniqueArray(path, { minLength: 1, maxLength: 3 }),
        async (drawn, containers) => {
          const body = { name: 'x', rules: drawn.map((rule, priority) => ({ ...rule, priority })) }
          granted(await vault().send('PUT', `/applications/${id}`, { key: keys.manager, body }))
          const told = async (permission: string) =>
            granted(await explain(keys.manager, id, { permission, containers }))
          const make = async (where: string[]) =>
            granted(await vault().post('/tokens', keys.owner, { ...value, containers: where })).id

          const token = await make(containers)
          const read = await vault().get(`/tokens/${token}`, key)
          const reading = await told('token:read')
          if (read.status === 200) assert.equal(reading.outcome, shows(read.body.data))
          else assert.equal(`${reading.outcome} ${reading.reason.slice(0, 3)}`, `refused ${read.status}`)
          for (const { container, outcome } of reading.containers) {
            const { status, body } = await vault().get(`/tokens/${await make([container])}`, key)
            assert.equal(outcome, status === 200 ? shows(body.data) : 'none')
          }

          const search = await vault().post('/tokens/search', key, { query: `id:${token}` })
          const searching = await told('token:search')
          if (search.status === 200 && search.body.data.length === 1)
            assert.equal(searching.outcome, shows(search.body.data[0].data), searching.reason)
          else {
            const status = search.status === 200 ? 404 : search.status
            assert.equal(`${searching.outcome} ${searching.reason.slice(0, 3)}`, `refused ${status}`)
          }

          const writes: Record<string, () => Promise<TestReply>> = {
            'token:create': () => vault().post('/tokens', key, { ...value, containers }),
            'token:update': () => vault().patch(`/tokens/${token}`, key, { metadata: { a: 'b' } }),
            'token:delete': () => vault().delete(`/tokens/${token}`, key),
          }
          for (const [permission, send] of Object.entries(writes)) {
            const telling = await told(permission)
            const happened = await send()
            if (happened.status >= 300)
              assert.equal(`${telling.outcome} ${telling.reason.slice(0, 3)}`, `refused ${happened.status}`)
            else {
              assert.equal(telling.outcome, 'allowed')
              if (permission !== 'token:delete')
                assert.ok(
                  telling.reason.endsWith(`answers show ${shows(happened.body.data)}`),
                  telling.reason,
                )
            }
          }
        },
      ),
      { numRuns: tries(15) },
    )
  })
})
