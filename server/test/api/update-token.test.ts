import assert from 'node:assert/strict'
import { test } from 'node:test'
import { granted, type TestReply } from '../rig/answers.ts'
import { countCommits } from '../rig/count-commits.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { assertHolds } from '../rig/scenario.ts'
import { devApplications, owner } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

type Body = Readonly<Record<string, unknown>>

const number = '4242424242424242'
const card = { type: 'card', data: { number, expiration_month: 1, expiration_year: 2030, cvc: '123' } }
const bank = { type: 'bank', data: { routing_number: '021000021', account_number: '123456789' } }
const ssn = { type: 'social_security_number', data: '078-05-1120' }
const token = (data: unknown, more: Body = {}): Body => ({ type: 'token', data, ...more })

/** A token, a patch, and what a caller with reveal reads afterwards. */
const changes: readonly { name: string; given: Body; patch: Body; after: Body; lacks?: readonly string[] }[] =
  [
    {
      name: 'members of data are added, changed and removed (§4.5.4, §4.5.12, C18.4)',
      given: token({ a: 1, b: { c: 1, d: 2 }, e: [1, { f: 1 }] }),
      patch: { data: { a: null, b: { d: 3, x: null }, e: [{ f: null }], g: 'new' } },
      after: { data: { b: { c: 1, d: 3 }, e: [{ f: null }], g: 'new' } },
    },
    {
      name: 'a value replaces an object (§4.5.4, C18.4)',
      given: token({ a: 1 }),
      patch: { data: 'text' },
      after: { data: 'text' },
    },
    {
      name: 'an object replaces a value, without its nulls (§4.5.4, C18.4)',
      given: token('text'),
      patch: { data: { a: { b: null }, c: 1 } },
      after: { data: { a: {}, c: 1 } },
    },
    {
      name: 'an array is replaced whole (§4.5.4, C18.4)',
      given: token([1, 2, 3]),
      patch: { data: [null] },
      after: { data: [null] },
    },
    {
      name: 'an empty object changes no data (§4.5.4)',
      given: token({ a: null }),
      patch: { data: {} },
      after: { data: { a: null } },
    },
    {
      name: '__proto__ is a member like any other (C18.4)',
      given: token({ a: 1 }),
      patch: JSON.parse('{"data":{"__proto__":{"b":2}}}'),
      after: { data: JSON.parse('{"a":1,"__proto__":{"b":2}}') },
    },
    {
      name: 'one field of a card is changed (§4.5.4, C10.2)',
      given: card,
      patch: { data: { expiration_month: '07' } },
      after: {
        data: { ...card.data, expiration_month: 7 },
        mask: { number: 'XXXXXXXXXXXX4242', expiration_month: 7, expiration_year: 2030 },
      },
    },
    {
      name: 'optional fields of a card can be removed (§4.5.4)',
      given: card,
      patch: { data: { expiration_month: null, expiration_year: null, cvc: null } },
      after: { data: { number } },
    },
    {
      name: 'the number of a card is changed (§4.5.4)',
      given: card,
      patch: { data: { number: '4012888888881881' } },
      after: { data: { ...card.data, number: '4012888888881881' } },
    },
    {
      name: 'leading zeros are kept (§4.5.4)',
      given: bank,
      patch: { data: { account_number: '007' } },
      after: { data: { ...bank.data, account_number: '007' } },
    },
    {
      name: 'members of the mask are added and removed (§4.5.5, C18.4)',
      given: token({ a: 'aaaaaa', b: 'bbbbbb' }, { mask: { a: '{{ data.a }}', b: '{{ data.b }}' } }),
      patch: { mask: { a: null, c: 'new' } },
      after: { mask: { b: '{{ data.b }}', c: 'new' } },
    },
    {
      name: 'a mask is replaced (§4.5.5)',
      given: token('abcdef', { mask: '{{ data }}' }),
      patch: { mask: '{{ data | last4 }}' },
      after: { mask: '{{ data | last4 }}' },
    },
    {
      name: 'a first mask is set (§4.5.5)',
      given: token('abcdef'),
      patch: { mask: 'hidden' },
      after: { mask: 'hidden' },
    },
    {
      name: 'a patch merges into the mask of the type (§4.5.5)',
      given: card,
      patch: { mask: { expiration_year: null, brand: 'visa' } },
      after: {
        mask: {
          number: '{{ data.number | reveal_last: 4 }}',
          expiration_month: '{{ data.expiration_month }}',
          brand: 'visa',
        },
      },
    },
    {
      name: 'the mask is removed (C18.1)',
      given: token('abcdef', { mask: 'hidden' }),
      patch: { mask: null },
      after: { data: 'abcdef' },
      lacks: ['mask'],
    },
    {
      name: 'the mask of a card is removed (C18.1)',
      given: card,
      patch: { mask: null },
      after: { data: card.data },
      lacks: ['mask'],
    },
    {
      name: 'members of metadata are added, changed and removed (§4.5.6, C18.4)',
      given: token(1, { metadata: { a: '1', b: '2', C: '3' } }),
      patch: { metadata: { a: null, b: 'two', c: 'three', x: null } },
      after: { metadata: { b: 'two', C: '3', c: 'three' } },
    },
    {
      name: 'first metadata is set (§4.5.6)',
      given: token(1),
      patch: { metadata: { a: '1', b: null } },
      after: { metadata: { a: '1' } },
    },
    {
      name: 'metadata is removed (C18.1)',
      given: token(1, { metadata: { a: '1' } }),
      patch: { metadata: null },
      after: {},
      lacks: ['metadata'],
    },
    {
      name: 'the containers are replaced (§4.5.7, C19.2)',
      given: token(1, { containers: ['/a/', '/b/'] }),
      patch: { containers: ['/C/'] },
      after: { containers: ['/c/'] },
    },
    {
      name: 'the default containers are restored (C18.2)',
      given: { ...card, containers: ['/a/', '/b/'] },
      patch: { containers: null },
      after: { containers: ['/pci/high/'] },
    },
    {
      name: 'the search indexes are replaced (§4.5.8)',
      given: token('abc', { search_indexes: ['{{ data }}', '{{ data | last4 }}'] }),
      patch: { search_indexes: ['{{ data | upcase }}'] },
      after: { search_indexes: ['{{ data | upcase }}'] },
    },
    {
      name: 'the search indexes are removed (C18.1)',
      given: token('abc', { search_indexes: ['{{ data }}'] }),
      patch: { search_indexes: null },
      after: {},
      lacks: ['search_indexes'],
    },
    {
      name: 'an empty list removes the search indexes (§4.5.8)',
      given: token('abc', { search_indexes: ['{{ data }}'] }),
      patch: { search_indexes: [] },
      after: {},
      lacks: ['search_indexes'],
    },
    {
      name: 'the default search indexes of a type are removed (C18.1)',
      given: ssn,
      patch: { search_indexes: null },
      after: { data: ssn.data },
      lacks: ['search_indexes'],
    },
    {
      name: 'the fingerprint expression is changed (§4.5.9)',
      given: token('abc'),
      patch: { fingerprint_expression: '{{ data | upcase }}' },
      after: { fingerprint_expression: '{{ data | upcase }}' },
    },
    {
      name: 'the default fingerprint expression is restored (C18.2)',
      given: { ...card, fingerprint_expression: '{{ data.expiration_year }}' },
      patch: { fingerprint_expression: null },
      after: { fingerprint_expression: '{{ data.number }}' },
    },
    {
      name: 'the expiry is changed (§4.5.11)',
      given: token(1, { expires_at: '2030-01-01' }),
      patch: { expires_at: '2/2/2031 1:00:00 PM +01:00' },
      after: { expires_at: '2031-02-02T13:00:00.000+01:00' },
    },
    {
      name: 'the expiry is removed (C18.1)',
      given: token(1, { expires_at: '2030-01-01' }),
      patch: { expires_at: null },
      after: {},
      lacks: ['expires_at'],
    },
    {
      name: 'the flag is reset, and no answer shows it (§4.5.10, C18.2)',
      given: token(1, { deduplicate_token: true }),
      patch: { deduplicate_token: null },
      after: {},
      lacks: ['deduplicate_token'],
    },
    {
      name: 'every field is changed at once (§4.5.3)',
      given: token({ a: 'abcdef' }, { metadata: { k: 'v' } }),
      patch: {
        data: { b: 1 },
        mask: 'm',
        metadata: { l: 'w' },
        containers: ['/x/'],
        search_indexes: ['{{ data.a }}'],
        fingerprint_expression: '{{ data.a }}',
        deduplicate_token: false,
        expires_at: '2030-01-01',
      },
      after: {
        data: { a: 'abcdef', b: 1 },
        mask: 'm',
        metadata: { k: 'v', l: 'w' },
        containers: ['/x/'],
        search_indexes: ['{{ data.a }}'],
        fingerprint_expression: '{{ data.a }}',
        expires_at: '2030-01-01T00:00:00.000+00:00',
      },
    },
  ]

onEveryEngine('update a token', (vault, aboveStorage) => {
  aboveStorage(() => {
    for (const { name, given, patch, after, lacks = [] } of changes)
      test(`${name}: ${JSON.stringify(patch).slice(0, 50)}`, async () => {
        const { keys } = await vault().tenant({ owner })
        const made = await vault().create(keys.owner, given)
        vault().now += 1_000
        const reply = await vault().patch(`/tokens/${made.id}`, keys.owner, patch)
        assert.equal(reply.status, 200, reply.text)
        const { body: read } = await vault().get(`/tokens/${made.id}`, keys.owner)
        assertHolds(read, { id: made.id, type: given.type, created_at: made.created_at, ...after })
        for (const field of lacks) assert.ok(!(field in read), field)
        // §4.5.12, C12.2: the answer is the token as it is now, with its data masked.
        const { data: _shown, ...answered } = reply.body
        const { data: _read, ...stored } = read
        assert.deepEqual(answered, stored)
      })

    test('an empty patch records who changed the token last and when (§3.2, §2.1.15, §2.1.16, C18.7)', async () => {
      const { keys } = await vault().tenant({ owner, other: owner })
      const made = await vault().create(keys.owner, token('abc', { metadata: { k: 'v' } }))
      assert.ok(!('modified_at' in made))
      vault().now += 1_234
      const first = await vault().patch(`/tokens/${made.id}`, keys.other, {})
      const { _extras, ...before } = made
      assert.deepEqual(first.body, {
        ...before,
        modified_by: first.body.modified_by,
        modified_at: new Date(vault().now).toISOString().replace('Z', '+00:00'),
      })
      assert.notEqual(first.body.modified_by, made.created_by)
      vault().now += 1_234
      const second = await vault().patch(`/tokens/${made.id}`, keys.owner, {})
      assert.equal(second.body.modified_by, made.created_by)
      assert.notEqual(second.body.modified_at, first.body.modified_at)
      assert.equal(second.body.created_at, made.created_at)
    })

    test('a clock set back never dates a change before the creation or before an earlier change (§2.1.16, §3.2)', async () => {
      const { keys } = await vault().tenant({ owner })
      const made = await vault().create(keys.owner, token('abc'))
      const change = async (): Promise<string> =>
        granted(await vault().patch(`/tokens/${made.id}`, keys.owner, {})).modified_at
      vault().now -= 1_000
      assert.equal(await change(), made.created_at)
      vault().now += 3_000
      const later = await change()
      assert.equal(Date.parse(later), vault().now)
      vault().now -= 1_000
      assert.equal(await change(), later)
      vault().now += 1_001
      assert.equal(Date.parse(await change()), vault().now)
    })

    test('the answer shows data only under the mask, never in the clear (§2.1.22, C12.2, C12.4)', async () => {
      const { keys } = await vault().tenant({ ...devApplications, owner })
      const { id } = await vault().create(keys.owner, token('abcdef'))
      const bare = await vault().patch(`/tokens/${id}`, keys.owner, {})
      assert.ok(!('data' in bare.body))
      const masked = await vault().patch(`/tokens/${id}`, keys.owner, { mask: '{{ data | reveal_last: 2 }}' })
      assert.equal(masked.body.data, 'XXXXef')
      const changed = await vault().patch(`/tokens/${id}`, keys.general, { data: 'ghijkl' })
      assert.equal(changed.body.data, 'XXXXkl')
    })

    test('a card without a mask shows no data until it has a mask again (C13.1, C18.1)', async () => {
      const { keys } = await vault().tenant({ owner, masked: { permissions: ['token:read'] } })
      const { id } = await vault().create(keys.owner, card)
      await vault().patch(`/tokens/${id}`, keys.owner, { mask: null })
      const { body } = await vault().get(`/tokens/${id}`, keys.masked)
      assert.ok(!('data' in body) && !('mask' in body))
      await vault().patch(`/tokens/${id}`, keys.owner, { mask: { last: '{{ data.number | last4 }}' } })
      assert.deepEqual((await vault().get(`/tokens/${id}`, keys.masked)).body.data, { last: '4242' })
    })

    test('any other Content-Type is 415, and the detail names the right one (§4.5.2, §7.1, C2.20)', async () => {
      const { keys } = await vault().tenant({ owner })
      const { id } = await vault().create(keys.owner, token('abc'))
      for (const type of [
        'application/json',
        'text/plain',
        'application/json-patch+json',
        'application/merge-patch',
        'application/merge-patch+json2',
        '',
        'merge-patch+json',
      ]) {
        const reply = await vault().send('PATCH', `/tokens/${id}`, {
          key: keys.owner,
          raw: '{"data":"changed"}',
          type,
        })
        assert.equal(reply.status, 415, type)
        assert.match(reply.body.detail, /application\/merge-patch\+json/)
      }
      const bare = await vault().send('PATCH', `/tokens/${id}`, { key: keys.owner })
      assert.equal(bare.status, 415)
      assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).body.data, 'abc')
    })

    test('parameters and letter case of the Content-Type do not matter (§4.5.2, C2.20)', async () => {
      const { keys } = await vault().tenant({ owner })
      const { id } = await vault().create(keys.owner, token('abc'))
      for (const type of [
        'application/merge-patch+json',
        'application/merge-patch+json; charset=utf-8',
        'APPLICATION/Merge-Patch+JSON ;charset="UTF-8"; x=y',
      ]) {
        const reply = await vault().send('PATCH', `/tokens/${id}`, { key: keys.owner, raw: '{}', type })
        assert.equal(reply.status, 200, type)
      }
    })
  })

  test('every token that cannot be changed gets the same 404 (§4.5.13, C2.13, C2.14)', async () => {
    const { keys } = await vault().tenant({
      owner,
      elsewhere: {
        rules: [
          { priority: 1, container: '/elsewhere/', transform: 'reveal', permissions: ['token:update'] },
        ],
      },
    })
    const other = await vault().tenant({ owner })
    await vault().create(keys.owner, token(1, { id: 'here' }))
    await vault().create(other.keys.owner, token(1, { id: 'theirs' }))
    await vault().create(keys.owner, token(1, { id: 'gone' }))
    await vault().delete('/tokens/gone', keys.owner)
    const replies = [
      await vault().patch('/tokens/unknown', keys.owner, {}),
      await vault().patch('/tokens/gone', keys.owner, { data: 2 }),
      await vault().patch('/tokens/theirs', keys.owner, { data: 2 }),
      await vault().patch('/tokens/here', keys.elsewhere, { data: 2 }),
    ]
    for (const { status, body } of replies) {
      assert.equal(status, 404)
      assert.deepEqual({ ...body, trace_id: '' }, { ...replies[0]?.body, trace_id: '' })
    }
  })

  aboveStorage(() => {
    test('updating without token:update is 403 (§4.5.1, §5.6, C2.12)', async () => {
      const { keys } = await vault().tenant(devApplications)
      const { id } = await vault().create(keys.general, token(1))
      assert.equal((await vault().patch(`/tokens/${id}`, keys.private, { data: 2 })).status, 403)
    })
  })

  test('patches at the same time are all kept (C18.8)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token({}, { metadata: {} }))
    const names = Array.from({ length: 25 }, (_, at) => `k${at}`)
    const replies = await Promise.all(
      names.map(name =>
        vault().patch(`/tokens/${id}`, keys.owner, { data: { [name]: name }, metadata: { [name]: name } }),
      ),
    )
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
    const { body } = await vault().get(`/tokens/${id}`, keys.owner)
    assert.deepEqual(Object.keys(body.data).sort(), [...names].sort())
    assert.deepEqual(Object.keys(body.metadata).sort(), [...names].sort())
  })

  test('two hundred patches at the same time are all kept, in a few rounds each (C18.8)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token({}))
    const names = Array.from({ length: 200 }, (_, at) => `k${at}`)
    /** On a machine that is busy with other things, some wait too long and are told to come again. */
    const patched = async (data: object): Promise<TestReply> => {
      const reply = await vault().patch(`/tokens/${id}`, keys.owner, { data })
      return reply.status === 503 ? patched(data) : reply
    }
    const commits = await countCommits(vault(), async () => {
      const replies = await Promise.all(names.map((name, at) => patched({ [name]: at })))
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
    })
    const { body } = await vault().get(`/tokens/${id}`, keys.owner)
    assert.deepEqual(body.data, Object.fromEntries(names.map((name, at) => [name, at])))
    assert.ok(commits <= 3 * names.length, `${commits} commits`)
  })

  test('a patch and a delete at the same time leave no token and nothing half-done (C18.8)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token('abc', { metadata: { k: 'v' } }))
    const [patched, deleted] = await Promise.all([
      vault().patch(`/tokens/${id}`, keys.owner, { data: 'changed' }),
      vault().delete(`/tokens/${id}`, keys.owner),
    ])
    assert.ok(patched.status === 200 || patched.status === 404)
    assert.equal(deleted.status, 204)
    const { body } = await vault().get('/tokens?metadata.k=v', keys.owner)
    assert.deepEqual([body.data, body.pagination.total_items], [[], 0])
  })

  test('lists find a token by what an update made of it, and no longer by what it was (§4.5.7, §4.3.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id, fingerprint } = await vault().create(
      keys.owner,
      token('abc', { containers: ['/a/'], metadata: { k: 'old' } }),
    )
    const found = async (query: string): Promise<number> => {
      const { body } = await vault().get(`/tokens?${query}`, keys.owner)
      assert.equal(body.data.length, body.pagination.total_items)
      return body.pagination.total_items
    }
    await vault().patch(`/tokens/${id}`, keys.owner, {
      data: 'def',
      containers: ['/b/'],
      metadata: { k: 'new' },
    })
    for (const query of ['container=/a/', 'metadata.k=old', `fingerprint=${fingerprint}`])
      assert.equal(await found(query), 0, query)
    for (const query of ['container=/b/', 'metadata.k=new', 'type=token', ''])
      assert.equal(await found(query), 1, query)
  })

  test('metadata that an update adds is found together with what was there before (§4.5.6, C24.7)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token('abc', { metadata: { old: 'x' } }))
    // Many, because for a few the old signature might happen to have the right bits already.
    const added = Array.from({ length: 8 }, (_, at) => `k${at}`)
    const metadata = Object.fromEntries(added.map(name => [name, 'y']))
    await vault().patch(`/tokens/${id}`, keys.owner, { metadata })
    for (const name of added)
      for (const query of [`metadata.old=x&metadata.${name}=y`, `metadata.${name}=y&metadata.old=x`])
        assert.equal((await vault().get(`/tokens?${query}`, keys.owner)).body.data.length, 1, query)
  })

  aboveStorage(() => {
    test('a mask set blindly that would show a card number shows nothing to callers who read under it (C13.1, C13.2, C13.6)', async () => {
      const { keys } = await vault().tenant({
        owner,
        writer: { permissions: ['token:update'] },
        reader: { permissions: ['token:read'] },
      })
      const { id } = await vault().create(keys.owner, card)
      const leaf = '{{ data.number | split: "000001" | first }}'
      // The second takes too long to be judged.
      for (const mask of [leaf, { leaf, slow: "{{ 'x' | pad_left: 20000 | pad_left: 20001 | size }}" }]) {
        const reply = granted(await vault().patch(`/tokens/${id}`, keys.writer, { mask }))
        const read = granted(await vault().get(`/tokens/${id}`, keys.reader))
        assert.deepEqual([reply.data, read.data], [undefined, undefined])
        assertAbsent({ reply: JSON.stringify(reply), read: JSON.stringify(read) }, [number])
      }
    })

    test('a mask that data from a caller who cannot read turned into one that shows a card number shows nothing until a caller with reveal sets data or mask (C13.1, C13.6)', async () => {
      const { keys } = await vault().tenant({
        owner,
        writer: { permissions: ['token:update'] },
        reader: { permissions: ['token:read'] },
      })
      const mask = { number: "{{ data.number | split: '9' | first }}" }
      const other = { number: '4929000000000000' }
      const shown = async (id: string) => granted(await vault().get(`/tokens/${id}`, keys.reader)).data
      for (const repair of [{ mask: { number: '{{ data.number | last4 }}' } }, { data: other }]) {
        const { id } = await vault().create(keys.owner, { type: 'card', data: other, mask })
        assert.deepEqual(await shown(id), { number: '4' })
        const patch = async (by: string, body: object): Promise<unknown> =>
          granted(await vault().patch(`/tokens/${id}`, by, body)).data
        await patch(keys.writer, { data: { number } })
        assert.equal(await shown(id), undefined)
        for (const change of [
          {},
          { metadata: { a: 'b' } },
          { expires_at: '2031-01-01' },
          { containers: ['/a/'] },
          { search_indexes: ['{{ data.number | last4 }}'] },
          { fingerprint_expression: '{{ data | stringify }}' },
        ]) {
          assert.equal(await patch(keys.owner, change), undefined, JSON.stringify(change))
          assert.equal(await shown(id), undefined, JSON.stringify(change))
        }
        // Neither is set: the mask would still show too much.
        for (const change of [{ mask }, { data: { expiration_month: 7 } }]) {
          assert.equal((await vault().patch(`/tokens/${id}`, keys.owner, change)).status, 400)
          assert.equal(await shown(id), undefined, JSON.stringify(change))
        }
        assert.notEqual(await patch(keys.owner, repair), undefined)
        assert.notEqual(await shown(id), undefined)
      }
    })

    test('a caller who may read the token sees it under a mask set blindly (C13.2)', async () => {
      const { keys } = await vault().tenant({
        owner,
        writer: { permissions: ['token:update'] },
        reader: { permissions: ['token:read', 'token:update'] },
      })
      const { id } = await vault().create(keys.owner, token('abcdefgh'))
      const mask = '{{ data | reveal_last: 2 }}'
      assert.equal(granted(await vault().patch(`/tokens/${id}`, keys.writer, { mask })).data, undefined)
      assert.equal(granted(await vault().patch(`/tokens/${id}`, keys.writer, {})).data, undefined)
      assert.equal(granted(await vault().patch(`/tokens/${id}`, keys.reader, {})).data, 'XXXXXXgh')
    })
  })

  test('a container that an update adds is counted (C24.5)', async () => {
    const { keys } = await vault().tenant({
      owner,
      other: {
        rules: [{ priority: 1, container: '/b/', transform: 'mask', permissions: ['token:read'] }],
      },
    })
    const { id } = await vault().create(keys.owner, token('x', { containers: ['/a/'] }))
    await vault().create(keys.owner, token('y', { containers: ['/b/'] }))
    const counted = async (): Promise<number> =>
      granted(await vault().get('/tokens?size=1', keys.other)).pagination.total_items
    await vault().patch(`/tokens/${id}`, keys.owner, { containers: ['/a/', '/b/'] })
    assert.equal(await counted(), 2)
    await vault().patch(`/tokens/${id}`, keys.owner, { containers: ['/a/'] })
    assert.equal(await counted(), 1)
  })

  test('a token that leaves the outer of two nested containers is not found there, and matches without it (C19.3, C26.1, C15.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const body = token('x', { deduplicate_token: true })
    const { id } = await vault().create(keys.owner, { ...body, containers: ['/u/', '/u/v/'] })
    granted(await vault().patch(`/tokens/${id}`, keys.owner, { containers: ['/u/v/'] }))
    const found = granted(await vault().post('/tokens/search', keys.owner, { query: 'container:/u/' }))
    assert.deepEqual([found.pagination.total_items, found.data], [0, []])
    assert.equal((await vault().create(keys.owner, { ...body, containers: ['/u/v/'] })).id, id)
  })

  aboveStorage(() => {
    test('the answer to a move shows no more than an answer before it (C13.5)', async () => {
      const { keys } = await vault().tenant({
        owner,
        mover: {
          rules: [
            { priority: 1, container: '/', transform: 'reveal', permissions: ['token:read'] },
            { priority: 2, container: '/a/', transform: 'redact', permissions: ['token:update'] },
            { priority: 3, container: '/b/', transform: 'mask', permissions: ['token:update'] },
          ],
        },
      })
      const given = token('secret', { mask: '{{ data }}', containers: ['/a/'] })
      const { id } = await vault().create(keys.owner, given)
      assert.equal(
        granted(await vault().patch(`/tokens/${id}`, keys.mover, { containers: ['/b/'] })).data,
        undefined,
      )
    })
  })
})
