import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transform } from '../../src/domain/access/application.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { countTokens } from '../rig/scenario.ts'
import { devApplications, owner, type TestApplication } from '../rig/test-vault.ts'

const token = { id: 'a-token', type: 'token', data: 'Sensitive Value', metadata: { k: 'v' } }

const mayDelete = (container: string, transform: Transform = 'redact'): TestApplication => ({
  rules: [{ priority: 1, container, transform, permissions: ['token:delete'] }],
})

onEveryEngine('delete a token', (vault, aboveStorage) => {
  test('the token is gone from every path, and the answer is empty (§4.6.1, §3.3, C1.4)', async () => {
    const { keys } = await vault().tenant(devApplications)
    await vault().create(keys.general, token)
    await vault().create(keys.general, { ...token, id: 'another' })
    const reply = await vault().delete('/tokens/a-token', keys.private)
    assert.equal(reply.status, 204)
    assert.equal(reply.text, '')
    assert.equal(reply.headers.get('content-type'), null)
    assert.equal((await vault().get('/tokens/a-token', keys.private)).status, 404)
    assert.equal((await vault().patch('/tokens/a-token', keys.general, {})).status, 404)
    for (const path of [
      '/tokens',
      '/tokens?metadata.k=v',
      '/tokens?type=token',
      '/tokens?id=a-token&id=another',
    ]) {
      const { body } = await vault().get(path, keys.private)
      assert.deepEqual(
        body.data.map(({ id }: { id: string }) => id),
        ['another'],
        path,
      )
      assert.equal(body.pagination.total_items, 1, path)
    }
  })

  test('every token that cannot be deleted gets the same 404 (§4.6.2, C2.13, C2.14)', async () => {
    const { keys } = await vault().tenant({ owner, elsewhere: mayDelete('/elsewhere/') })
    const other = await vault().tenant({ owner })
    await vault().create(keys.owner, token)
    await vault().create(other.keys.owner, { ...token, id: 'theirs' })
    await vault().create(keys.owner, { ...token, id: 'gone' })
    assert.equal((await vault().delete('/tokens/gone', keys.owner)).status, 204)
    const replies = [
      await vault().delete('/tokens/unknown', keys.owner),
      await vault().delete('/tokens/gone', keys.owner),
      await vault().delete('/tokens/theirs', keys.owner),
      await vault().delete('/tokens/a-token', keys.elsewhere),
      await vault().delete('/tokens/A-TOKEN', keys.owner),
    ]
    for (const { status, body } of replies) {
      assert.equal(status, 404)
      assert.deepEqual({ ...body, trace_id: '' }, { ...replies[0]?.body, trace_id: '' })
    }
    assert.equal(await countTokens(vault(), keys.owner), 1)
    assert.equal((await vault().get('/tokens/theirs', other.keys.owner)).status, 200)
  })

  aboveStorage(() => {
    test('deleting without token:delete is 403, whether the token exists or not (§5.7, C2.12)', async () => {
      const { keys } = await vault().tenant(devApplications)
      await vault().create(keys.general, token)
      for (const id of ['a-token', 'unknown'])
        assert.equal((await vault().delete(`/tokens/${id}`, keys.general)).status, 403)
      assert.equal(await countTokens(vault(), keys.private), 1)
    })
  })

  /** For a token in these containers: may a rule on `container` delete it? */
  const rules: readonly { containers: readonly string[]; container: string; status: number }[] = [
    { containers: ['/a/b/'], container: '/', status: 204 },
    { containers: ['/a/b/'], container: '/a/', status: 204 },
    { containers: ['/a/b/'], container: '/a/b/', status: 204 },
    { containers: ['/a/b/'], container: '/a/b/c/', status: 404 },
    { containers: ['/a/b/'], container: '/a/bc/', status: 404 },
    { containers: ['/ab/'], container: '/a/', status: 404 },
    { containers: ['/a/', '/b/'], container: '/c/', status: 404 },
    { containers: ['/a/', '/b/'], container: '/a/', status: 403 },
    { containers: ['/a/x/', '/a/y/'], container: '/a/', status: 204 },
  ]
  aboveStorage(() => {
    for (const { containers, container, status } of rules)
      test(`deleting from ${containers} under a rule on ${container} is ${status} (C28.9, C28.10, C19.3)`, async () => {
        const { keys } = await vault().tenant({ owner, limited: mayDelete(container) })
        await vault().create(keys.owner, { ...token, containers })
        assert.equal((await vault().delete('/tokens/a-token', keys.limited)).status, status)
        assert.equal(await countTokens(vault(), keys.owner), status === 204 ? 0 : 1)
      })
  })

  test('of several deletes at once, exactly one finds the token (C27.1)', async () => {
    const { keys } = await vault().tenant({ owner })
    await vault().create(keys.owner, token)
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => vault().delete('/tokens/a-token', keys.owner)),
    )
    assert.deepEqual(replies.map(({ status }) => status).sort(), [204, ...Array(7).fill(404)])
    assert.equal(await countTokens(vault(), keys.owner), 0)
  })

  test('a change computed from a deleted token does not apply to the next token with its id (C16.5, C17.6)', async () => {
    const { keys, tenantId } = await vault().tenant({ owner })
    const tenant = await vault().tenantNumber(tenantId)
    const { store } = vault()
    await vault().create(keys.owner, token)
    const old = await store.getToken(tenant, token.id)
    assert.ok(old)
    await vault().delete(`/tokens/${token.id}`, keys.owner)
    await vault().create(keys.owner, { ...token, data: 'another value' })
    const late = { tenant, effects: [], counters: [], log: null }
    const conflict = { committed: false, conflict: 'tokenChanged' }
    // A sweep and an update that had read the old token.
    for (const change of [
      { kind: 'deleteToken', id: token.id, ifVersion: old.version },
      { kind: 'updateToken', row: { ...old, version: old.version + 1 }, ifVersion: old.version },
    ] as const)
      assert.deepEqual(await store.commit({ ...late, guarded: [change] }), conflict)
    assert.equal((await vault().get(`/tokens/${token.id}`, keys.owner)).body.data, 'another value')
  })
})
