import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { TestReply } from '../rig/answers.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { storedRows } from '../rig/stored-rows.ts'
import type { TestApplication, TestVault } from '../rig/test-vault.ts'

const everything = ['token:create', 'token:read', 'token:update', 'token:delete'] as const

const applications = {
  /** Sees everything in its own tenant. */
  full: { rules: [{ priority: 1, container: '/', transform: 'reveal', permissions: everything }] },
  flat: { permissions: everything },
  /** Sees nothing but a container without any token. */
  corner: { rules: [{ priority: 1, container: '/corner/', transform: 'reveal', permissions: everything }] },
  management: {
    type: 'management',
    permissions: [
      'tenant:read',
      'tenant:update',
      'application:create',
      'application:read',
      'application:update',
      'application:delete',
      'report:read',
    ],
  },
} as const satisfies Record<string, TestApplication>
type Name = keyof typeof applications
type Tenant = { tenantId: string; keys: Record<Name, string> }

const card = {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 },
}
const day = 86_400_000

/** Everything in an answer by which a caller could tell two ids apart. */
const appearance = ({ status, headers, text, body }: TestReply) => {
  const { trace_id: _trace, ...rest } = body ?? {}
  const kept = [...headers].filter(([name]) => name !== 'date' && name !== 'svc-trace-id')
  return {
    status,
    headers: [...headers.keys()].sort(),
    values: kept,
    body: rest,
    bytes: Buffer.byteLength(text),
  }
}

const percent = (id: string): string =>
  [...Buffer.from(id)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
const wide = (id: string): string =>
  id.replace(/[a-z0-9]/g, letter => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0))

/** Ways to write the path of a token that a router, a proxy or a database might take for another path. */
const tricks: Record<string, (id: string) => string> = {
  'as it is': id => `/tokens/${id}`,
  'every letter encoded': id => `/tokens/${percent(id)}`,
  'encoded twice': id => `/tokens/${percent(id).replaceAll('%', '%25')}`,
  'in capitals': id => `/tokens/${id.toUpperCase()}`,
  'under a route in capitals': id => `/Tokens/${id}`,
  'in another form of Unicode': id => `/tokens/${encodeURIComponent(wide(id))}`,
  'with a slash behind it': id => `/tokens/${id}/`,
  'with an encoded slash behind it': id => `/tokens/${id}%2F`,
  'with two slashes before it': id => `/tokens//${id}`,
  'by way of dots': id => `/tokens/../tokens/${id}`,
  'by way of encoded dots': id => `/tokens/%2e%2e/tokens/${id}`,
  'with a dot before it': id => `/tokens/./${id}`,
  'with NUL behind it': id => `/tokens/${id}%00`,
  'with a space behind it': id => `/tokens/${id}%20`,
  'with a parameter behind it': id => `/tokens/${id};a=b`,
  'with a query behind it': id => `/tokens/${id}?a=b`,
}

onEveryEngine('two tenants', (vaultOfSuite, aboveStorage) => {
  let vault: TestVault
  let ours: Tenant
  let theirs: Tenant
  before(async () => {
    vault = vaultOfSuite()
    ours = await vault.tenant(applications)
    theirs = await vault.tenant(applications)
  })

  const create = async (tenant: Tenant, body: object): Promise<TestReply> => {
    const reply = await vault.post('/tokens', tenant.keys.full, body)
    assert.equal(reply.status, 201, reply.text)
    return reply
  }
  const total = async (tenant: Tenant, query = ''): Promise<number> => {
    const { body } = await vault.get(`/tokens${query}`, tenant.keys.full)
    assert.equal(body.data.length, Math.min(body.pagination.total_items, 20))
    return body.pagination.total_items
  }

  /** Ids of tokens that `ours` must not be able to tell from an id that never existed. */
  const unknownKeys = async (): Promise<Record<string, string>> => {
    const dead = await create(ours, card)
    await vault.delete(`/tokens/${dead.body.id}`, ours.keys.full)
    const deadTheirs = await create(theirs, card)
    await vault.delete(`/tokens/${deadTheirs.body.id}`, theirs.keys.full)
    const expires_at = new Date(vault.now + day).toISOString()
    const [swept, sweptTheirs] = [
      await create(ours, { ...card, expires_at }),
      await create(theirs, { ...card, expires_at }),
    ]
    vault.now += day
    await vault.service.jobTimer.runAll()
    const again = new Date(vault.now + day).toISOString()
    const [expired, expiredTheirs] = [
      await create(ours, { ...card, expires_at: again }),
      await create(theirs, { ...card, expires_at: again }),
    ]
    vault.now += day
    const chosen = await create(theirs, { ...card, id: `theirs-${vault.now}` })
    return {
      'never was': '019ac000-0000-7000-8000-000000000000',
      'never was, chosen': 'never-was',
      deleted: dead.body.id,
      expired: expired.body.id,
      'expired and swept': swept.body.id,
      "another tenant's": (await create(theirs, card)).body.id,
      "another tenant's, chosen": chosen.body.id,
      "another tenant's, deleted": deadTheirs.body.id,
      "another tenant's, expired": expiredTheirs.body.id,
      "another tenant's, expired and swept": sweptTheirs.body.id,
    }
  }

  const requests: Record<string, (key: string, id: string) => Promise<TestReply>> = {
    GET: (key, id) => vault.get(`/tokens/${id}`, key),
    HEAD: (key, id) => vault.send('HEAD', `/tokens/${id}`, { key }),
    'PATCH {}': (key, id) => vault.patch(`/tokens/${id}`, key, {}),
    'PATCH data': (key, id) => vault.patch(`/tokens/${id}`, key, { data: { expiration_month: 1 } }),
    'PATCH that the whole would not stand': (key, id) =>
      vault.patch(`/tokens/${id}`, key, { data: { number: '1' } }),
    'PATCH of everything': (key, id) =>
      vault.patch(`/tokens/${id}`, key, {
        mask: null,
        metadata: { a: 'b' },
        containers: ['/corner/'],
        fingerprint_expression: '{{ data }}',
        deduplicate_token: true,
        expires_at: '2090-01-01',
      }),
    DELETE: (key, id) => vault.delete(`/tokens/${id}`, key),
  }

  test('every token that does not exist for the caller is missing in the same way (§1.3, C2.13, C2.14, C31.9)', async () => {
    const ids = await unknownKeys()
    const covered = (await create(ours, card)).body.id
    for (const name of ['full', 'flat', 'corner'] as const)
      for (const [request, send] of Object.entries(requests)) {
        const expected = appearance(await send(ours.keys[name], ids['never was'] ?? ''))
        assert.equal(expected.status, 404, `${name}: ${request}`)
        for (const [kind, id] of Object.entries(ids))
          assert.deepEqual(
            appearance(await send(ours.keys[name], id)),
            expected,
            `${name}: ${request} of one ${kind}`,
          )
        if (name === 'corner')
          assert.deepEqual(
            appearance(await send(ours.keys.corner, covered)),
            expected,
            `${request} of one not covered`,
          )
      }
    assert.equal(
      (await vault.get(`/tokens/${covered}`, ours.keys.full)).status,
      200,
      'and the others are there',
    )
    const chosen = ids["another tenant's, chosen"]
    assert.equal((await vault.get(`/tokens/${chosen}`, theirs.keys.full)).status, 200, 'none was touched')
  })

  aboveStorage(() => {
    test('no way of writing a path tells an id that never existed from one that does not exist for the caller (§1.3, C2.13, C31.9)', async () => {
      const ids = await unknownKeys()
      const [uuid = '', chosen = ''] = [ids['never was'], ids['never was, chosen']]
      const twins = Object.entries(ids).map(([kind, id]) => ({
        kind,
        id,
        twin: id.length === uuid.length ? uuid : chosen,
      }))
      const answer = async (method: string, target: string): Promise<unknown> => {
        const head = [`${method} ${target} HTTP/1.1`, 'Host: vault', `SVC-API-KEY: ${ours.keys.full}`, '', '']
        const [reply] = await sendRaw(vault.baseUrl, head.join('\r\n'))
        assert.ok(reply)
        return appearance(reply)
      }
      for (const [trick, write] of Object.entries(tricks))
        for (const method of ['GET', 'DELETE'])
          for (const { kind, id, twin } of twins)
            assert.deepEqual(
              await answer(method, write(id)),
              await answer(method, write(twin)),
              `${method} of one ${kind}, ${trick}`,
            )
      const theirsId = ids["another tenant's"]
      assert.equal((await vault.get(`/tokens/${theirsId}`, theirs.keys.full)).status, 200, 'none was touched')
      const own = await create(ours, { ...card, id: 'caf\u00e9' })
      assert.equal(
        (await vault.get(`/tokens/${encodeURIComponent(own.body.id)}`, ours.keys.full)).status,
        200,
      )
      const decomposed = encodeURIComponent(own.body.id.normalize('NFD'))
      assert.equal(
        (await vault.get(`/tokens/${decomposed}`, ours.keys.full)).status,
        404,
        'other code points, other id',
      )
    })
  })

  test('nothing of another tenant is listed or counted, whatever the filter (§1.3, C24.5, C24.10)', async () => {
    const before = await total(ours)
    const metadata = { customer: 'shared' }
    const data = { number: '5555555555554444' }
    const made = await create(theirs, { type: 'card', data, metadata, containers: ['/shared/'] })
    assert.equal(await total(ours), before)
    for (const query of [
      `?id=${made.body.id}`,
      '?metadata.customer=shared',
      `?metadata=${encodeURIComponent('{"customer":"shared"}')}`,
      '?container=/shared/',
      `?fingerprint=${made.body.fingerprint}`,
      `?id=${made.body.id}&type=card&container=/`,
    ]) {
      assert.equal(await total(ours, query), 0, query)
      assert.equal(await total(theirs, query), 1, query)
    }
  })

  test('equal values in two tenants are not deduplicated and have different fingerprints (C15.3, C14.1)', async () => {
    const value = { type: 'token', data: 'the same value', deduplicate_token: true }
    const [one, other, again] = [
      await create(ours, value),
      await create(theirs, value),
      await create(ours, value),
    ]
    assert.deepEqual(
      [one, other, again].map(({ body }) => body._extras.deduplicated),
      [false, false, true],
    )
    assert.equal(again.body.id, one.body.id)
    assert.notEqual(other.body.fingerprint, one.body.fingerprint)

    const third = await create(theirs, { ...value, data: 'another value' })
    const patched = await vault.patch(`/tokens/${third.body.id}`, theirs.keys.full, {
      data: 'the same value',
    })
    assert.equal(patched.body.id, other.body.id, 'a patch meets the own tenant only')
    const elements = await vault.post('/tokenize', theirs.keys.full, [value, value])
    assert.deepEqual(
      elements.body.map((token: { id: string }) => token.id),
      [other.body.id, other.body.id],
    )
  })

  test('an id taken in another tenant is still free (C16.4, C16.5)', async () => {
    const body = { ...card, id: 'chosen-by-both' }
    await create(theirs, body)
    await create(ours, body)
    await vault.delete('/tokens/chosen-by-both', ours.keys.full)
    assert.equal((await vault.get('/tokens/chosen-by-both', theirs.keys.full)).status, 200)
    await create(ours, body)
  })

  test('an idempotency key of one tenant means nothing in another (C33.1)', async () => {
    const send = (tenant: Tenant) =>
      vault.send('POST', '/tokens', {
        key: tenant.keys.full,
        body: card,
        headers: { 'svc-idempotency-key': 'one-key-for-both' },
      })
    const [first, second, replay] = [await send(ours), await send(theirs), await send(ours)]
    assert.notEqual(first.body.id, second.body.id)
    assert.equal(second.headers.get('idempotent-replayed'), null)
    assert.equal(replay.body.id, first.body.id)
  })

  test('applications, keys and reports of another tenant do not exist for the caller (§5.3, C29.2, C31.9)', async () => {
    const created = await vault.post('/applications', theirs.keys.management, {
      name: 'theirs',
      type: 'private',
      permissions: ['token:read'],
    })
    assert.equal(created.status, 201, created.text)
    const { id } = created.body
    const keys = await vault.get(`/applications/${id}/keys`, theirs.keys.management)
    const keyId = keys.body.data?.[0]?.id ?? keys.body[0]?.id
    assert.ok(keyId)
    const key = ours.keys.management
    const body = { name: 'taken over', type: 'private', permissions: ['token:read'] }
    const unknown = '019ac000-0000-7000-8000-000000000000'
    const sends: ((application: string, apiKey: string) => Promise<TestReply>)[] = [
      application => vault.get(`/applications/${application}`, key),
      application => vault.send('PUT', `/applications/${application}`, { key, body }),
      application => vault.delete(`/applications/${application}`, key),
      application => vault.get(`/applications/${application}/keys`, key),
      application => vault.post(`/applications/${application}/keys`, key, {}),
      (application, apiKey) => vault.get(`/applications/${application}/keys/${apiKey}`, key),
      (application, apiKey) => vault.delete(`/applications/${application}/keys/${apiKey}`, key),
    ]
    for (const send of sends) {
      const missing = appearance(await send(unknown, unknown))
      assert.equal(missing.status, 404)
      assert.deepEqual(appearance(await send(id, keyId)), missing)
    }
    assert.equal((await vault.get(`/applications/${id}`, theirs.keys.management)).body.name, 'theirs')
    assert.ok(!(await vault.get('/applications', key)).text.includes(id))
    assert.equal((await vault.get('/tenants/self', key)).body.id, ours.tenantId)

    const report = async (tenant: Tenant) =>
      (await vault.get('/tenants/self/reports/usage', tenant.keys.management)).text
    const before = await report(ours)
    await create(theirs, card)
    assert.equal(await report(ours), before)
  })

  test('storage shows no sign that two tenants hold the same value (C14.1, C31.9)', async () => {
    const body = {
      type: 'social_security_number',
      data: '123-45-6789',
      metadata: { customer: 'the same' },
      containers: ['/the/same/'],
    }
    const terms = async (id: string): Promise<string[]> =>
      (await storedRows(vault, 'terms'))
        .filter(row => row.token_id === id)
        .map(row => Buffer.from(row.term as Uint8Array).toString('hex'))
    const counters = async (tenant: unknown): Promise<unknown[]> =>
      (await storedRows(vault, 'counters'))
        .filter(row => row.tenant === tenant && String(row.name).startsWith('container:'))
        .map(row => row.name)
    const numbers = await storedRows(vault, 'tenants')
    const [one, other, twin] = [
      await create(ours, body),
      await create(theirs, body),
      await create(ours, body),
    ]
    const [mine, yours, mineAgain] = [
      await terms(one.body.id),
      await terms(other.body.id),
      await terms(twin.body.id),
    ]
    assert.ok(mine.length >= 8, 'container and its ancestors, type, fingerprint, match, metadata, indexes')
    assert.equal(yours.length, mine.length)
    assert.deepEqual(mineAgain, mine, 'within a tenant equal values have equal terms')
    assert.deepEqual(
      mine.filter(term => yours.includes(term)),
      [],
    )
    const [left, right] = await Promise.all(numbers.map(row => counters(row.tenant)))
    assert.ok(left && right && left.length > 0 && right.length > 0)
    assert.deepEqual(
      left.filter(name => right.includes(name)),
      [],
    )
  })
})
