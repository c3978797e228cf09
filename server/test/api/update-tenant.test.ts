import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted, type TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { assertAbsent } from '../rig/traces.ts'

type Setting = 'fingerprint_tokens' | 'deduplicate_tokens' | 'disable_ephemeral_proxy'
type Settings = Record<Setting, 'true' | 'false'>
const asBorn: Settings = {
  fingerprint_tokens: 'true',
  deduplicate_tokens: 'false',
  disable_ephemeral_proxy: 'true',
}

/** What is sent to a tenant with default settings, and what its settings are then. */
const accepted: readonly { name: string; send: unknown; settings: Settings }[] = [
  { name: 'leaving settings out keeps them all (C31.2)', send: {}, settings: asBorn },
  { name: 'null settings keep them all (C5.3)', send: { settings: null }, settings: asBorn },
  { name: 'empty settings keep them all (C31.2)', send: { settings: {} }, settings: asBorn },
  {
    name: 'changing deduplicate_tokens leaves fingerprint_tokens (C31.2)',
    send: { settings: { deduplicate_tokens: 'true' } },
    settings: { ...asBorn, deduplicate_tokens: 'true' },
  },
  {
    name: 'changing fingerprint_tokens leaves deduplicate_tokens (C31.2)',
    send: { settings: { fingerprint_tokens: 'false' } },
    settings: { ...asBorn, fingerprint_tokens: 'false' },
  },
  {
    name: 'allowing ephemeral proxies leaves the others (U11.6, C31.2)',
    send: { settings: { disable_ephemeral_proxy: 'false' } },
    settings: { ...asBorn, disable_ephemeral_proxy: 'false' },
  },
  {
    name: 'both settings as strings (C31.3, §2.4.9)',
    send: { settings: { fingerprint_tokens: 'false', deduplicate_tokens: 'true' } },
    settings: { ...asBorn, fingerprint_tokens: 'false', deduplicate_tokens: 'true' },
  },
  {
    name: 'both settings as booleans (C31.3, §2.4.9)',
    send: { settings: { fingerprint_tokens: false, deduplicate_tokens: true } },
    settings: { ...asBorn, fingerprint_tokens: 'false', deduplicate_tokens: 'true' },
  },
]

const longest = '\u{1F511}'.repeat(200)

/** What is refused, and at which places; nothing changes. */
const refused: readonly { name: string; send: unknown; errors: readonly string[]; absent?: string }[] = [
  { name: 'a missing name (§4.8.2)', send: {}, errors: ['name'] },
  { name: 'a null name (§4.8.2)', send: { name: null }, errors: ['name'] },
  { name: 'an empty name (C8.15)', send: { name: '' }, errors: ['name'] },
  {
    name: 'a name of 201 characters (§4.8.2, §8.1, C8.15)',
    send: { name: `${longest}s` },
    errors: ['name'],
    absent: longest,
  },
  { name: 'a name that is not a string (§4.8.2)', send: { name: 7 }, errors: ['name'] },
  {
    name: 'an unknown setting (C31.4)',
    send: { name: 'x', settings: { colour: 'true' } },
    errors: ['settings.colour'],
  },
  {
    name: 'a misspelt setting (C31.4, C6.2)',
    send: { name: 'x', settings: { deduplicate_token: 'true' } },
    errors: ['settings.deduplicate_token'],
  },
  {
    name: 'any other spelling of a boolean (C31.3)',
    send: { name: 'x', settings: { fingerprint_tokens: 'True', deduplicate_tokens: 'yes-4242' } },
    errors: ['settings.deduplicate_tokens', 'settings.fingerprint_tokens'],
    absent: 'yes-4242',
  },
  {
    name: 'a number in place of a boolean (C31.3)',
    send: { name: 'x', settings: { fingerprint_tokens: 1, deduplicate_tokens: 0 } },
    errors: ['settings.deduplicate_tokens', 'settings.fingerprint_tokens'],
  },
  {
    name: 'a null setting (C31.3)',
    send: { name: 'x', settings: { fingerprint_tokens: null } },
    errors: ['settings.fingerprint_tokens'],
  },
  {
    name: 'a string in place of settings (§4.8.3)',
    send: { name: 'x', settings: 'true' },
    errors: ['settings'],
  },
  { name: 'a list in place of settings (§4.8.3)', send: { name: 'x', settings: [] }, errors: ['settings'] },
  { name: 'an unknown field (C6.1)', send: { name: 'x', owner_id: 'x' }, errors: ['owner_id'] },
  {
    name: 'a field that only the answer has (C6.1)',
    send: { name: 'x', id: 'x', created_by: 'x' },
    errors: ['created_by', 'id'],
  },
  { name: 'a body that is not an object (§4.8.5)', send: ['x'], errors: ['$'] },
  {
    name: 'a body with several faults (§4.8.5)',
    send: { settings: { a: 1 }, b: 2 },
    errors: ['b', 'name', 'settings.a'],
  },
]

onOneEngine('update the tenant', 'every store keeps tenants as its contract says', (vault, aboveStorage) => {
  const put = (key: string, body: unknown): Promise<TestReply> =>
    vault().send('PUT', '/tenants/self', { key, body })
  const read = async (key: string) => granted(await vault().get('/tenants/self', key))

  for (const { name, send, settings } of accepted)
    test(`${name}: ${JSON.stringify(send)}`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const reply = await put(keys.manager, { name: 'New name', ...(send as object) })
      assert.equal(reply.status, 200)
      assert.equal(reply.body.name, 'New name')
      assert.deepEqual(reply.body.settings, settings)
      assert.deepEqual(await read(keys.manager), reply.body, 'the answer is the tenant as it is now (§4.8.4)')
    })

  test('settings from earlier updates are kept too (C31.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    await put(keys.manager, { name: 'x', settings: { deduplicate_tokens: true } })
    await put(keys.manager, { name: 'x', settings: { fingerprint_tokens: false } })
    assert.deepEqual((await put(keys.manager, { name: 'y' })).body.settings, {
      ...asBorn,
      fingerprint_tokens: 'false',
      deduplicate_tokens: 'true',
    })
  })

  aboveStorage(() => {
    test('a name has 1 to 200 characters, however they are encoded (§4.8.2, §8.1, C8.15, C8.18)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      for (const name of ['x', ' ', longest, 'a'.repeat(200), 'e\u0301'.repeat(100)])
        assert.equal(granted(await put(keys.manager, { name })).name, name)
    })

    for (const { name, send, errors, absent } of refused)
      test(`${name} is refused, and nothing changes`, async () => {
        const { keys } = await vault().tenant(ownerAndManager)
        const before = await read(keys.manager)
        const logged = vault().log.length
        const reply = await put(keys.manager, send)
        assert.equal(reply.status, 400)
        assert.equal(reply.body.title, 'One or more validation errors occurred.')
        assert.deepEqual(Object.keys(reply.body.errors).sort(), errors)
        if (absent !== undefined)
          assertAbsent({ answer: reply.text, log: vault().log.slice(logged).join('\n') }, [absent])
        assert.deepEqual(await read(keys.manager), before, '§7.3')
      })

    test('the refusal of a misspelt setting suggests the right name (C6.2)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const { body } = await put(keys.manager, { name: 'x', settings: { deduplicate_token: 'true' } })
      assert.deepEqual(body.errors['settings.deduplicate_token'], [
        'is not a known field (did you mean deduplicate_tokens?)',
      ])
    })

    test('an update needs tenant:update and application/json (§4.8.1, §5.9)', async () => {
      const { keys } = await vault().tenant({
        ...ownerAndManager,
        updater: { type: 'management', permissions: ['tenant:update'] },
        other: { type: 'management', permissions: ['tenant:read', 'tenant:delete', 'application:update'] },
      })
      const before = await read(keys.manager)
      assert.equal((await put(keys.other, { name: 'x' })).status, 403)
      assert.equal((await put(keys.owner, { name: 'x' })).status, 403)
      assert.equal((await vault().send('PUT', '/tenants/self', { body: { name: 'x' } })).status, 401)
      const text = { key: keys.updater, body: { name: 'x' }, type: 'text/plain' }
      assert.equal((await vault().send('PUT', '/tenants/self', text)).status, 415)
      assert.equal((await vault().send('PUT', '/tenants/self', { key: keys.updater })).status, 415)
      assert.deepEqual(await read(keys.manager), before)
      assert.equal((await put(keys.updater, { name: 'x' })).status, 200)
    })
  })

  test('neither of two updates computed from the same state of the tenant loses its changes (C31.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const gate = commitGate(vault())
    const updates = [
      put(keys.manager, { name: 'one', settings: { deduplicate_tokens: 'true' } }),
      put(keys.manager, { name: 'two', settings: { fingerprint_tokens: 'false' } }),
    ]
    await gate.waiting(2)
    gate.open()
    const replies = await Promise.all(updates)
    const after = await read(keys.manager)
    assert.deepEqual(after.settings, {
      ...asBorn,
      fingerprint_tokens: 'false',
      deduplicate_tokens: 'true',
    })
    assert.deepEqual(
      replies.map(({ status }) => status),
      [200, 200],
    )
    assert.ok(replies.some(({ body }) => JSON.stringify(body) === JSON.stringify(after)))
  })

  test('many updates at once all succeed, and the tenant matches the answer to one of them (§4.8.4)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const gate = commitGate(vault())
    const updates = Array.from({ length: 32 }, (_, index) => put(keys.manager, { name: `name ${index}` }))
    await gate.waiting(32)
    gate.open()
    const replies = await Promise.all(updates)
    const after = await read(keys.manager)
    replies.forEach(({ status, body }, index) => {
      assert.deepEqual([status, body.name], [200, `name ${index}`])
    })
    assert.ok(replies.some(({ body }) => JSON.stringify(body) === JSON.stringify(after)))
  })

  test('fingerprint_tokens takes effect with the next write (§2.4.10, §2.4.11, C14.5, C14.6, C27.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const create = async (body: object) => granted(await vault().post('/tokens', keys.owner, body))
    const token = { type: 'token', data: 'value' }
    const first = await create(token)
    assert.ok(first.fingerprint)
    granted(await put(keys.manager, { name: 'x', settings: { fingerprint_tokens: 'false' } }))
    const without = await create(token)
    assert.equal('fingerprint' in without, false)
    const byExpression = await create({ ...token, fingerprint_expression: '{{ data }}' })
    assert.ok(byExpression.fingerprint)
    granted(await put(keys.manager, { name: 'x', settings: { fingerprint_tokens: 'true' } }))
    assert.equal((await create(token)).fingerprint, first.fingerprint)
    assert.equal('fingerprint' in granted(await vault().get(`/tokens/${without.id}`, keys.owner)), false)
  })

  test('deduplicate_tokens takes effect with the next write (§2.4.12, C15.1, C27.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const create = async () =>
      granted(await vault().post('/tokens', keys.owner, { type: 'token', data: 'v' }))
    const first = await create()
    const second = await create()
    assert.notEqual(second.id, first.id)
    granted(await put(keys.manager, { name: 'x', settings: { deduplicate_tokens: true } }))
    assert.equal((await create()).id, first.id)
    granted(await put(keys.manager, { name: 'x', settings: { deduplicate_tokens: false } }))
    assert.notEqual((await create()).id, first.id)
  })

  test('another tenant keeps its name and settings (C31.9)', async () => {
    const [ours, theirs] = [await vault().tenant(ownerAndManager), await vault().tenant(ownerAndManager)]
    const before = await read(theirs.keys.manager)
    granted(await put(ours.keys.manager, { name: 'ours', settings: { fingerprint_tokens: false } }))
    assert.deepEqual(await read(theirs.keys.manager), before)
  })

  test('name and settings survive a restart (C34.7)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { body } = await put(keys.manager, { name: 'kept', settings: { deduplicate_tokens: true } })
    await vault().restart()
    assert.deepEqual(await read(keys.manager), body)
  })
})
