import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newApiKeyText } from '../../src/crypto/api-key.ts'
import { deleteApiKey } from '../../src/operations/keys/delete-api-key.ts'
import type { Store } from '../../src/store/port.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { operatorOf } from '../rig/caller-of.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { storedRows } from '../rig/stored-rows.ts'
import { assertAbsent } from '../rig/traces.ts'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const instant = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00')
const base58 = '[1-9A-HJ-NP-Za-km-z]'

onOneEngine('API keys', 'every store keeps grants as its contract says', (vault, aboveStorage) => {
  const makeKey = (manager: string, id: string, body: unknown = {}): Promise<TestReply> =>
    vault().post(`/applications/${id}/keys`, manager, body)
  const listKeys = async (manager: string, id: string) =>
    granted(await vault().get(`/applications/${id}/keys`, manager))
  const revoke = (manager: string, id: string, keyId: string): Promise<TestReply> =>
    vault().delete(`/applications/${id}/keys/${keyId}`, manager)
  const works = async (key: string): Promise<number> => (await vault().get('/applications/key', key)).status
  const idOf = async (key: string): Promise<string> => granted(await vault().get('/applications/key', key)).id
  const start = async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const application = await newApplication(vault(), keys.manager, { permissions: ['token:create'] })
    return { ...keys, ...application }
  }

  test('a new key shows its text, and the list never does (C29.4, C29.6, C1.5, C5.1)', async () => {
    const { manager, id, key: first } = await start()
    const madeAt = instant(vault().now)
    vault().now += 1
    const reply = await makeKey(manager, id)
    assert.equal(reply.status, 201)
    const { key, ...rest } = reply.body
    assert.match(rest.id, uuid)
    assert.deepEqual(rest, { id: rest.id, created_by: await idOf(manager), created_at: instant(vault().now) })
    const list = await vault().get(`/applications/${id}/keys`, manager)
    assert.equal(list.status, 200)
    assert.deepEqual(
      list.body,
      [{ ...rest, id: list.body[0].id, created_at: madeAt }, rest],
      'the first came with the application',
    )
    assert.equal(await works(key), 200)
    const one = await vault().get(`/applications/${id}/keys/${rest.id}`, manager)
    assert.equal(one.status, 200)
    assert.deepEqual(one.body, { ...rest, last_used_at: instant(vault().now) })
    const others = await newApplication(vault(), manager, {})
    assert.equal((await vault().get(`/applications/${others.id}/keys/${rest.id}`, manager)).status, 404)
    for (const path of [`/applications/${id}`, '/applications', '/tenants/self', '/permissions'])
      assertAbsent({ [path]: (await vault().get(path, manager)).text, list: list.text }, [key, first])
  })

  aboveStorage(() => {
    test('a key names its kind and has at least 190 random bits and a checksum (C30.1, C30.4)', async () => {
      const { manager } = await start()
      const search = { priority: 1, container: '/a/', transform: 'redact', permissions: ['token:search'] }
      for (const { kind, ...application } of [
        { kind: 'public', type: 'public', permissions: ['token:create'] },
        { kind: 'general', type: 'private', permissions: ['token:create', 'token:update', 'token:delete'] },
        { kind: 'private', type: 'private', permissions: ['token:create', 'token:read'] },
        { kind: 'private', type: 'private', rules: [search] },
        { kind: 'management', type: 'management', permissions: ['tenant:read'] },
      ]) {
        const { id, key } = await newApplication(vault(), manager, application)
        const made = [key, granted(await makeKey(manager, id)).key]
        for (const text of made) assert.match(text, new RegExp(`^key_${kind}_${base58}{42}$`))
        // Six of the 42 characters are the checksum; 33 characters of base 58 already carry 193 bits.
        assert.ok(Math.log2(58) * 36 >= 190)
        assert.notEqual(made[0], made[1])
        // Changing any one character leaves a text that is not a key.
        const { store } = vault()
        const { findApiKey } = store
        let lookUps = 0
        store.findApiKey = (...asked) => {
          lookUps++
          return findApiKey(...asked)
        }
        for (let at = 0; at < key.length; at++) {
          const other = key[at] === '2' ? '3' : '2'
          assert.equal(await works(key.slice(0, at) + other + key.slice(at + 1)), 401)
        }
        assert.equal(lookUps, 0, 'the checksum alone tells')
        store.findApiKey = findApiKey
      }
    })
  })

  test('the text of a key is never stored or logged (C29.6, C30.2)', async () => {
    const { manager, id, key } = await start()
    const further = granted(await makeKey(manager, id)).key
    await works(key)
    await works(further)
    await works(`${further.slice(0, -1)}x`)
    await vault().service.jobTimer.runAll()
    const content = await vault().engine.content(vault().folder.path)
    assert.ok(content.size > 0)
    const parts = [key, further, manager].flatMap(text => [text, text.slice(-42), text.slice(-42, -6)])
    assertAbsent({ ...Object.fromEntries(content), log: vault().log.join('\n') }, parts)
  })

  aboveStorage(() => {
    test('the body is optional, and unknown fields and bad values are refused (C29.4)', async () => {
      const { manager, id } = await start()
      const path = `/applications/${id}/keys`
      assert.equal((await vault().send('POST', path, { key: manager })).status, 201)
      assert.equal(
        (await vault().send('POST', path, { key: manager, body: { expires_at: null } })).status,
        201,
      )
      // As curl -X POST sends it: neither a body nor its length. The second field has Node read the request.
      for (const fields of ['', 'TE: trailers\r\n']) {
        const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: ${manager}\r\n${fields}\r\n`
        assert.equal((await sendRaw(vault().baseUrl, head))[0]?.status, 201)
      }
      const before = (await vault().get(path, manager)).text
      const refused: [unknown, string[]][] = [
        [{ expire_at: '2030-01-01' }, ['expire_at']],
        [{ key: 'key_private_x' }, ['key']],
        [{ expires_at: 7 }, ['expires_at']],
        [{ expires_at: 'tomorrow' }, ['expires_at']],
        [{ expires_at: '' }, ['expires_at']],
        [{ expires_at: '2/30/2030' }, ['expires_at']],
        [{ expires_at: instant(vault().now) }, ['expires_at']],
        [{ expires_at: '2001-01-01' }, ['expires_at']],
        [[], ['$']],
        ['x', ['$']],
      ]
      for (const [body, errors] of refused) {
        const reply = await makeKey(manager, id, body)
        assert.equal(reply.status, 400, JSON.stringify(body))
        assert.deepEqual(Object.keys(reply.body.errors), errors)
      }
      assert.equal(
        (await vault().send('POST', path, { key: manager, raw: '{', type: 'application/json' })).status,
        400,
      )
      assert.equal(
        (await vault().send('POST', path, { key: manager, raw: '{}', type: 'text/plain' })).status,
        415,
      )
      const chunks = `Transfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n2\r\n{}\r\n0\r\n\r\n`
      const inChunks = `POST ${path} HTTP/1.1\r\nHost: x\r\nSVC-API-KEY: ${manager}\r\n${chunks}`
      assert.equal((await sendRaw(vault().baseUrl, inChunks))[0]?.status, 415)
      assert.equal((await vault().get(path, manager)).text, before)
    })
  })

  const expiries = [
    {
      send: '3/2/2026 1:00:00 AM +02:00',
      at: '2026-03-01T23:00:00Z',
      shows: '2026-03-02T01:00:00.000+02:00',
    },
    { send: '3/2/2026', at: '2026-03-02T00:00:00Z', shows: '2026-03-02T00:00:00.000+00:00' },
    {
      send: '2026-03-02T06:00:00.500-05:00',
      at: '2026-03-02T11:00:00.500Z',
      shows: '2026-03-02T06:00:00.500-05:00',
    },
  ]
  aboveStorage(() => {
    for (const { send, at, shows } of expiries)
      test(`a key that expires at "${send}" works until that millisecond (C29.7, C17.1, C5.6)`, async () => {
        vault().now = Date.parse('2026-03-01T12:00:00Z')
        const { manager, id } = await start()
        const made = granted(await makeKey(manager, id, { expires_at: send }))
        assert.equal(made.expires_at, shows)
        const [, listed] = await listKeys(manager, id)
        assert.equal(listed.expires_at, shows)
        // Used once, to put what the vault caches of the key to the test.
        assert.equal(await works(made.key), 200)
        vault().now = Date.parse(at) - 1
        assert.equal(await works(made.key), 200)
        vault().now += 1
        const refused = await vault().get('/applications/key', made.key)
        assert.equal(refused.status, 401)
        assert.equal(refused.headers.get('www-authenticate'), 'ApiKey header="SVC-API-KEY"')
        await vault().restart()
        assert.equal(await works(made.key), 401)
        assert.equal((await listKeys(manager, id)).length, 2, 'it is still listed, until it is revoked')
        assert.equal((await revoke(manager, id, made.id)).status, 204)
      })
  })

  test('an application has at most ten live keys; an eleventh is refused until one expires or is revoked (C8.17)', async () => {
    const { manager, id } = await start()
    const expires_at = instant(vault().now + 60_000)
    const made = [granted(await makeKey(manager, id, { expires_at }))]
    for (let count = 2; count < 10; count++) made.push(granted(await makeKey(manager, id)))
    const eleventh = await makeKey(manager, id)
    assert.equal(eleventh.status, 400)
    assert.deepEqual(eleventh.body.errors, {
      $: ['the application has 10 live keys already; revoke one first'],
    })
    assert.equal((await listKeys(manager, id)).length, 10)
    for (const { key } of made) assert.equal(await works(key), 200)

    vault().now += 60_000
    made.push(granted(await makeKey(manager, id)))
    assert.equal((await makeKey(manager, id)).status, 400, 'an expired one makes room for one')
    granted(await revoke(manager, id, made[3].id))
    granted(await makeKey(manager, id))
    assert.equal((await makeKey(manager, id)).status, 400)
    const another = await newApplication(vault(), manager, {})
    granted(await makeKey(manager, another.id))
  })

  test('of two tenth keys created at once, one is refused (C8.17)', async () => {
    const { manager, id } = await start()
    for (let count = 1; count < 9; count++) granted(await makeKey(manager, id))
    const gate = commitGate(vault())
    const both = [makeKey(manager, id), makeKey(manager, id)]
    await gate.waiting(2)
    gate.open()
    const statuses = (await Promise.all(both)).map(({ status }) => status).sort()
    assert.deepEqual(statuses, [201, 400])
    assert.equal((await listKeys(manager, id)).length, 10)
  })

  test('keys are listed oldest first, those of one moment by their ids (C29.4)', async () => {
    const { manager, id } = await start()
    for (const passed of [0, 0, 0, 1, 0, 0, 1, 0, 0]) {
      vault().now += passed
      granted(await makeKey(manager, id))
    }
    const list: { id: string; created_at: string }[] = await listKeys(manager, id)
    assert.equal(list.length, 10)
    const places = list.map(key => `${key.created_at} ${key.id}`)
    assert.deepEqual(places, places.toSorted())
  })

  test('keys are rotated without a gap (C29.4)', async () => {
    const { manager, id, key: old } = await start()
    const [{ id: oldId }] = await listKeys(manager, id)
    const next = granted(await makeKey(manager, id)).key
    const token = { type: 'token', data: 'x' }
    granted(await vault().post('/tokens', old, token))
    const made = granted(await vault().post('/tokens', next, token))
    granted(await revoke(manager, id, oldId))
    assert.equal((await vault().post('/tokens', old, token)).status, 401)
    assert.equal(granted(await vault().post('/tokens', next, token)).created_by, made.created_by)
    assert.equal(made.created_by, id, 'both keys are one and the same application')
  })

  test('a revoked key gets 401 at once, and revoking it again gets 404 (C29.4, C27.2)', async () => {
    const { manager, id, key } = await start()
    const [{ id: keyId }] = await listKeys(manager, id)
    assert.equal(await works(key), 200)
    const reply = await revoke(manager, id, keyId)
    assert.deepEqual([reply.status, reply.text], [204, ''])
    assert.equal(await works(key), 401)
    assert.deepEqual(await listKeys(manager, id), [])
    assert.equal((await revoke(manager, id, keyId)).status, 404)
    await vault().restart()
    assert.equal(await works(key), 401)
  })

  aboveStorage(() => {
    for (const read of ['findApiKey', 'getTenant', 'getApplication'] as const)
      test(`a key revoked while its first request is being looked up (${read}) is not cached (C27.2)`, async () => {
        const { manager, id, key } = await start()
        const [{ id: keyId }] = await listKeys(manager, id)
        await vault().restart()
        const { store } = vault()
        const original = store[read] as (...asked: never[]) => Promise<unknown>
        const reached = Promise.withResolvers<void>()
        const goOn = Promise.withResolvers<void>()
        Object.assign(store, {
          [read]: async (...asked: never[]) => {
            Object.assign(store, { [read]: original })
            const row = await original(...asked)
            reached.resolve()
            await goOn.promise
            return row
          },
        })
        const slow = works(key)
        await reached.promise
        granted(await revoke(manager, id, keyId))
        goOn.resolve()
        await slow
        assert.equal(await works(key), 401)
      })
  })

  test('a key can be revoked only through its own application (C29.4, C2.13)', async () => {
    const { manager, id, key } = await start()
    const [{ id: keyId }] = await listKeys(manager, id)
    const another = await newApplication(vault(), manager, {})
    for (const [application, keyName] of [
      [another.id, keyId],
      [id, '019ac000-0000-7000-8000-000000000000'],
      [id, 'x'],
      [id, encodeURIComponent(key)],
    ] as const)
      assert.equal((await revoke(manager, application, keyName)).status, 404)
    assert.equal(await works(key), 200)
  })

  test('last_used_at is shown at once, recorded by the job timer, and never goes back (C29.7)', async () => {
    const { manager, id, key } = await start()
    const used = async () => (await listKeys(manager, id))[0].last_used_at
    const stored = async () => {
      const tenants = await vault().store.listTenants()
      const rows = await Promise.all(tenants.map(({ tenant }) => vault().store.listApiKeys(tenant)))
      return rows.flat().find(row => row.applicationId === id)?.lastUsedAt
    }
    vault().now += 1_000
    assert.equal(await works(key), 200)
    assert.equal(await used(), instant(vault().now))
    const [{ id: keyId }] = await listKeys(manager, id)
    const one = await vault().get(`/applications/${id}/keys/${keyId}`, manager)
    assert.equal(one.body.last_used_at, instant(vault().now))
    assert.equal(await stored(), null, 'a request does not wait for it')
    await vault().service.jobTimer.runAll()
    assert.equal(await stored(), vault().now)
    assert.equal(await used(), instant(vault().now))

    const latest = vault().now + 5_000
    vault().now = latest
    assert.equal((await vault().get('/tokens', key)).status, 403, 'a refused request is a use')
    await vault().service.jobTimer.runAll()
    vault().now -= 3_000
    await works(key)
    await vault().service.jobTimer.runAll()
    assert.equal(await used(), instant(latest))

    vault().now = latest + 9_000
    await works(key)
    await vault().restart()
    assert.equal(await used(), instant(latest + 9_000), 'an orderly end writes it down, too')
  })

  test('an unused key has no last_used_at, and using one key does not count for another (C29.7)', async () => {
    const { manager, id, key } = await start()
    granted(await makeKey(manager, id))
    await works(key)
    await vault().service.jobTimer.runAll()
    const [used, unused] = await listKeys(manager, id)
    assert.ok(used.last_used_at)
    assert.equal('last_used_at' in unused, false)
  })

  aboveStorage(() => {
    test('unknown, revoked and expired keys take the same path; a malformed one is never looked up (C30.3)', async () => {
      const { manager, id, key: revoked } = await start()
      const [{ id: keyId }] = await listKeys(manager, id)
      const expired = granted(await makeKey(manager, id, { expires_at: instant(vault().now + 1_000) })).key
      const other = await newApplication(vault(), manager, {})
      granted(await vault().delete(`/applications/${other.id}`, manager))
      granted(await revoke(manager, id, keyId))
      // A key from another vault: well-formed, but unknown here.
      const elsewhere = newApiKeyText('private')
      vault().now += 1_000

      const { store } = vault()
      const asked: string[] = []
      const spied: Partial<Record<keyof Store, unknown>> = {}
      for (const [name, method] of Object.entries(store) as [
        keyof Store,
        (...input: unknown[]) => unknown,
      ][]) {
        spied[name] = method
        Object.assign(store, {
          [name]: (...input: unknown[]) => {
            // Records of earlier requests are stored when their moment comes.
            if (name !== 'grantsEpoch' && name !== 'commit') asked.push(name)
            return method(...input)
          },
        })
      }
      const traffic = async (key: string) => {
        asked.length = 0
        const { status, body } = await vault().get('/tokens', key)
        return { status, body: { ...body, trace_id: '' }, asked: [...asked] }
      }
      const unknown = await traffic(elsewhere)
      assert.deepEqual([unknown.status, unknown.asked], [401, ['findApiKey']])
      for (const key of [revoked, expired, other.key]) {
        assert.deepEqual(await traffic(key), unknown)
        assert.deepEqual(await traffic(key), unknown, 'the second time, too')
      }
      for (const key of ['', 'x', elsewhere.slice(0, -1), 'key_private_', 'Bearer x'])
        assert.deepEqual(await traffic(key), { ...unknown, asked: [] })
      Object.assign(store, spied)
    })

    test('a missing, empty, doubled or misplaced key is refused (§5.1, C2.11)', async () => {
      const { key } = await start()
      for (const headers of [
        {},
        { 'svc-api-key': '' },
        { 'svc-api-key': `${key}, ${key}` },
        { authorization: key },
      ]) {
        const reply = await vault().send('GET', '/applications/key', {
          headers: headers as Record<string, string>,
        })
        assert.equal(reply.status, 401)
        assert.equal(reply.headers.get('www-authenticate'), 'ApiKey header="SVC-API-KEY"')
        assert.equal(reply.body.detail, 'Send a valid API key in the header SVC-API-KEY.')
      }
    })
  })

  /** A management application whose only key has expired. */
  const newExpired = async (manager: string, permissions: readonly string[]): Promise<void> => {
    const wish = { name: 'expired', type: 'management', permissions, create_key: false }
    const { id } = granted(await vault().post('/applications', manager, wish))
    granted(await makeKey(manager, id, { expires_at: instant(vault().now + 1_000) }))
    vault().now += 1_000
  }
  /** What must not happen to a tenant with one management application and one key. */
  const lockOuts: readonly {
    name: string
    prepare?: (manager: string, id: string) => Promise<unknown>
    act: (manager: string, id: string, keyId: string) => Promise<TestReply>
  }[] = [
    { name: 'revoking it', act: revoke },
    {
      name: 'deleting its application',
      act: (manager, id) => vault().delete(`/applications/${id}`, manager),
    },
    {
      name: 'revoking it when the only other management key has expired',
      prepare: async (manager, id) => {
        granted(await makeKey(manager, id, { expires_at: instant(vault().now + 1_000) }))
        vault().now += 1_000
      },
      act: revoke,
    },
    {
      name: 'deleting its application when the other management application has no live key',
      prepare: async manager => {
        const other = await newApplication(vault(), manager, { type: 'management' })
        const [{ id }] = await listKeys(manager, other.id)
        granted(await revoke(manager, other.id, id))
      },
      act: (manager, id) => vault().delete(`/applications/${id}`, manager),
    },
    {
      name: 'deleting its application when the only key of the other management application has expired',
      prepare: manager => newExpired(manager, []),
      act: (manager, id) => vault().delete(`/applications/${id}`, manager),
    },
    {
      name: 'revoking it when only applications of other types have keys',
      prepare: manager => newApplication(vault(), manager, { permissions: ['token:read'] }),
      act: revoke,
    },
  ]
  for (const { name, prepare, act } of lockOuts)
    test(`the last management key stays: ${name} is 409 (C2.18)`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const id = await idOf(keys.manager)
      const [{ id: keyId }] = await listKeys(keys.manager, id)
      await prepare?.(keys.manager, id)
      const before = (await vault().get('/applications', keys.manager)).text
      const reply = await act(keys.manager, id, keyId)
      assert.equal(reply.status, 409)
      assert.match(reply.body.detail, /last management key/)
      assert.equal((await vault().get('/applications', keys.manager)).text, before)
      // Once there is another living key, it may be removed.
      const other = await newApplication(vault(), keys.manager, {
        type: 'management',
        permissions: ['application:read'],
      })
      granted(await act(keys.manager, id, keyId))
      assert.equal(await works(keys.manager), 401)
      assert.equal(await works(other.key), 200)
    })

  aboveStorage(() => {
    test('the last key that can grant permissions keeps that right: taking it away is 409 (C2.18)', async () => {
      const { manager } = (await vault().tenant(ownerAndManager)).keys
      const id = await idOf(manager)
      const { name } = (await vault().get(`/applications/${id}`, manager)).body
      const narrow = () =>
        vault().send('PUT', `/applications/${id}`, {
          key: manager,
          body: { name, permissions: ['application:read'] },
        })
      await newExpired(manager, ['application:update'])
      const before = (await vault().get('/applications', manager)).text
      const reply = await narrow()
      assert.equal(reply.status, 409)
      assert.match(reply.body.detail, /last management key/)
      assert.equal((await vault().get('/applications', manager)).text, before)
      // Once another application can do so, it may be narrowed.
      await newApplication(vault(), manager, { type: 'management', permissions: ['application:update'] })
      granted(await narrow())
      assert.equal((await narrow()).status, 403)
    })

    test('an expired management key may be revoked, and so may any key of another type (C2.18)', async () => {
      const { manager, owner } = (await vault().tenant(ownerAndManager)).keys
      const id = await idOf(manager)
      const { id: keyId } = granted(await makeKey(manager, id, { expires_at: instant(vault().now + 1_000) }))
      vault().now += 1_000
      granted(await revoke(manager, id, keyId))
      const owned = await idOf(owner)
      const [{ id: ownerKey }] = await listKeys(manager, owned)
      granted(await revoke(manager, owned, ownerKey))
      granted(await vault().delete(`/applications/${owned}`, manager))
    })
  })

  test('the operator can revoke a key of a tenant that has no management key left to keep (C2.18, C29.4)', async () => {
    const { keys, tenantId } = await vault().tenant(ownerAndManager)
    const [managed, owned] = [await idOf(keys.manager), await idOf(keys.owner)]
    const [{ id: keyId }] = await listKeys(keys.manager, owned)
    const brief = granted(await makeKey(keys.manager, managed, { expires_at: instant(vault().now + 1_000) }))
    const [{ id: lasting }] = await listKeys(keys.manager, managed)
    granted(await revoke(brief.key, managed, lasting))
    vault().now += 1_000
    const { vault: whole } = vault().service
    await deleteApiKey(whole, await operatorOf(whole, tenantId), owned, keyId)
    assert.equal(await works(keys.owner), 401)
  })

  const pairs: readonly {
    name: string
    second: 'another key' | 'another application'
    with: 'keys' | 'applications'
  }[] = [
    { name: 'two keys of one application', second: 'another key', with: 'keys' },
    { name: 'the keys of two applications', second: 'another application', with: 'keys' },
    { name: 'two applications', second: 'another application', with: 'applications' },
  ]
  for (const { name, second, with: what } of pairs)
    test(`deleting ${name} at once leaves one management key (C2.18, C29.4)`, async () => {
      const { manager } = (await vault().tenant(ownerAndManager)).keys
      const id = await idOf(manager)
      const other =
        second === 'another key'
          ? { id, key: granted(await makeKey(manager, id)).key }
          : await newApplication(vault(), manager, {
              type: 'management',
              permissions: ['application:update', 'application:delete', 'application:read'],
            })
      const [first] = await listKeys(manager, id)
      const last = (await listKeys(manager, other.id)).at(-1)
      const gate = commitGate(vault())
      const both =
        what === 'keys'
          ? [revoke(manager, id, first.id), revoke(other.key, other.id, last.id)]
          : [
              vault().delete(`/applications/${id}`, manager),
              vault().delete(`/applications/${other.id}`, other.key),
            ]
      await gate.waiting(2)
      gate.open()
      const statuses = (await Promise.all(both)).map(({ status }) => status)
      assert.deepEqual(statuses.sort(), [204, 409])
      assert.deepEqual([await works(manager), await works(other.key)].sort(), [200, 401])
    })

  test('storage holds a hash of the right length and nothing that could be a key (C30.2)', async () => {
    const { id } = await start()
    for (const row of (await storedRows(vault(), 'api_keys')).filter(row => row.application_id === id)) {
      assert.equal((row.hash as Uint8Array).length, 32)
      const { last_used_at, ...columns } = row
      assert.deepEqual(Object.keys(columns).sort(), [
        'application_id',
        'expires_at',
        'hash',
        'key_id',
        'sealed',
        'tenant',
      ])
    }
  })
})
