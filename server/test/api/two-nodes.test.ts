import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { computeIndexReports } from '../../src/operations/maintenance/compute-index-reports.ts'
import { rotateDataKeys } from '../../src/operations/maintenance/rotate-data-keys.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { newApplication, ownerAndManager } from '../rig/applications.ts'
import { commitGate } from '../rig/commit-gate.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { secondNode } from '../rig/second-node.ts'
import { untilGrantsHeard } from '../rig/until-grants-heard.ts'

const body = { type: 'token', data: 'Sensitive Value', mask: '{{ data | reveal_last: 4 }}' }

onEveryEngine('two nodes on one storage', vault => {
  let node: Awaited<ReturnType<typeof secondNode>>
  before(async () => {
    node = await secondNode(vault())
  })
  after(() => node.stop())

  const there = (method: string, path: string, key: string, sent?: unknown): Promise<TestReply> =>
    node.send(method, path, { key, ...(sent !== undefined && { body: sent }) })
  const here: typeof there = (method, path, key, sent) =>
    vault().send(method, path, { key, ...(sent !== undefined && { body: sent }) })

  test('each node sees at once what the other has written (C27.1)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { id } = granted(await here('POST', '/tokens', keys.owner, body))
    assert.equal(granted(await there('GET', `/tokens/${id}`, keys.owner)).data, body.data)
    granted(await there('PATCH', `/tokens/${id}`, keys.owner, { data: 'Another Value' }))
    assert.equal(granted(await here('GET', `/tokens/${id}`, keys.owner)).data, 'Another Value')
    assert.equal(granted(await here('GET', '/tokens', keys.owner)).pagination.total_items, 1)
    const usage = granted(await there('GET', '/tenants/self/reports/usage', keys.manager)).token_report
    assert.equal(usage.metrics_by_type.token.count, 1)
    assert.equal(usage.monthly_active_tokens, 1)
    granted(await there('DELETE', `/tokens/${id}`, keys.owner))
    assert.equal((await here('GET', `/tokens/${id}`, keys.owner)).status, 404)
    assert.equal(granted(await here('GET', '/tokens', keys.owner)).pagination.total_items, 0)
  })

  test('a node reads what was sealed with a key it has not heard of yet (C27.1, C2.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    granted(await there('GET', '/tokens', keys.owner))
    const { grantsEpoch } = node.store
    const epoch = grantsEpoch()
    granted(await here('POST', '/tokens', keys.owner, body))
    node.store.grantsEpoch = () => epoch
    try {
      assert.ok((await rotateDataKeys(vault().service.vault, 1)) > 0)
      const { id } = granted(await here('POST', '/tokens', keys.owner, { ...body, data: 'New' }))
      granted(await there('GET', '/tokens', keys.owner))
      assert.equal(granted(await there('GET', `/tokens/${id}`, keys.owner)).data, 'New')
      const search = granted(await there('POST', '/tokens/search', keys.owner, { query: 'type:token' }))
      assert.equal(search.data.length, 2)
      granted(await there('PATCH', `/tokens/${id}`, keys.owner, { metadata: { a: 'b' } }))
    } finally {
      node.store.grantsEpoch = grantsEpoch
    }
  })

  test('a tenant deleted on another node does not stop the reports of the others (C27.2, C26)', async () => {
    const [gone, living] = [await vault().tenant(ownerAndManager), await vault().tenant(ownerAndManager)]
    for (const { keys } of [gone, living]) granted(await there('POST', '/tokens', keys.owner, body))
    granted(await here('DELETE', '/tenants/self', gone.keys.manager))
    assert.ok((await computeIndexReports(node.service.vault)) > 0)
    const { tokens } = granted(await there('GET', '/tenants/self/reports/indexes', living.keys.manager))
    assert.equal(tokens, 1)
  })

  /** What one node does to an application or its tenant, and what its key can do on the other node right after. */
  const grants: readonly {
    name: string
    act: (manager: string, id: string, keyId: string) => Promise<TestReply>
    reads: number
    creates: number
  }[] = [
    {
      name: 'a key is revoked',
      act: (manager, id, keyId) => here('DELETE', `/applications/${id}/keys/${keyId}`, manager),
      reads: 401,
      creates: 401,
    },
    {
      name: 'an application is deleted',
      act: (manager, id) => here('DELETE', `/applications/${id}`, manager),
      reads: 401,
      creates: 401,
    },
    {
      name: 'a permission is taken away',
      act: (manager, id) =>
        here('PUT', `/applications/${id}`, manager, { name: 'x', permissions: ['token:create'] }),
      reads: 403,
      creates: 201,
    },
    {
      name: 'a rule is narrowed',
      act: (manager, id) =>
        here('PUT', `/applications/${id}`, manager, {
          name: 'x',
          rules: [
            { priority: 1, container: '/a/', transform: 'mask', permissions: ['token:create', 'token:read'] },
          ],
        }),
      reads: 404,
      creates: 403,
    },
    {
      name: 'the tenant is deleted',
      act: manager => here('DELETE', '/tenants/self', manager),
      reads: 401,
      creates: 401,
    },
  ]
  for (const { name, act, reads, creates } of grants)
    test(`once ${name} on one node, the other knows it with its next request (C27.2)`, async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const { id, key } = await newApplication(vault(), keys.manager, {
        permissions: ['token:create', 'token:read'],
      })
      const [{ id: keyId }] = granted(await here('GET', `/applications/${id}/keys`, keys.manager))
      const { id: token } = granted(await there('POST', '/tokens', key, body))
      granted(await there('GET', `/tokens/${token}`, key))
      granted(await untilGrantsHeard(node, () => act(keys.manager, id, keyId)))
      assert.equal((await there('GET', `/tokens/${token}`, key)).status, reads)
      assert.equal((await there('POST', '/tokens', key, body)).status, creates)
    })

  test('a new key and a changed setting take effect on the other node at once (C27.2)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const { id } = await newApplication(vault(), keys.manager, { permissions: ['token:create'] })
    const { key } = granted(await there('POST', `/applications/${id}/keys`, keys.manager, {}))
    const first = granted(await here('POST', '/tokens', key, body))
    assert.ok(first.fingerprint)
    const settings = { fingerprint_tokens: false, deduplicate_tokens: false }
    granted(
      await untilGrantsHeard(vault(), () =>
        there('PUT', '/tenants/self', keys.manager, { name: 'x', settings }),
      ),
    )
    assert.equal('fingerprint' in granted(await here('POST', '/tokens', key, body)), false)
  })

  /** Holds a request on one node just before storage, while the other node does the same or something else. */
  const race = async (
    slow: () => Promise<TestReply>,
    fast: () => Promise<TestReply>,
  ): Promise<[TestReply, TestReply]> => {
    const gate = commitGate(vault())
    const slowly = slow()
    await gate.waiting(1)
    const quickly = await fast()
    gate.open()
    return [await slowly, quickly]
  }

  test('a write under way on one node when the other deletes the tenant gets 401 (C27.3)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const [slow, fast] = await race(
      () => here('POST', '/tokens', keys.owner, body),
      () => there('DELETE', '/tenants/self', keys.manager),
    )
    assert.deepEqual([slow.status, fast.status], [401, 204])
  })

  test('when two nodes each revoke one of the last two management keys, one key stays (C29.4, C2.18)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const own = granted(await here('GET', '/applications/key', keys.manager)).id
    const other = granted(await here('POST', `/applications/${own}/keys`, keys.manager, {}))
    const [first] = granted(await here('GET', `/applications/${own}/keys`, keys.manager))
    const [slow, fast] = await race(
      () => here('DELETE', `/applications/${own}/keys/${first.id}`, keys.manager),
      () => there('DELETE', `/applications/${own}/keys/${other.id}`, keys.manager),
    )
    assert.deepEqual([slow.status, fast.status], [409, 204])
    granted(await here('GET', '/applications', keys.manager))
  })

  test('settings and the limit on keys hold in a race between nodes (C31.2, C8.17)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const [one, two] = await race(
      () =>
        here('PUT', '/tenants/self', keys.manager, { name: 'one', settings: { deduplicate_tokens: true } }),
      () =>
        there('PUT', '/tenants/self', keys.manager, { name: 'two', settings: { fingerprint_tokens: false } }),
    )
    assert.deepEqual([one.status, two.status], [200, 200])
    const { name, settings } = granted(await there('GET', '/tenants/self', keys.manager))
    assert.equal(name, 'one', 'the later one')
    assert.deepEqual(settings, {
      fingerprint_tokens: 'false',
      deduplicate_tokens: 'true',
      disable_ephemeral_proxy: 'true',
    })

    const { id } = await newApplication(vault(), keys.manager, {})
    for (let count = 1; count < 9; count++)
      granted(await here('POST', `/applications/${id}/keys`, keys.manager, {}))
    const [ninth, tenth] = await race(
      () => here('POST', `/applications/${id}/keys`, keys.manager, {}),
      () => there('POST', `/applications/${id}/keys`, keys.manager, {}),
    )
    assert.deepEqual([ninth.status, tenth.status], [400, 201])
    assert.equal(granted(await here('GET', `/applications/${id}/keys`, keys.manager)).length, 10)
  })

  test('tokens stay consistent in a race between nodes (C15.9, C18.8, C16.4)', async () => {
    const { keys } = await vault().tenant(ownerAndManager)
    const twin = { ...body, deduplicate_token: true }
    const [one, two] = await race(
      () => here('POST', '/tokens', keys.owner, twin),
      () => there('POST', '/tokens', keys.owner, twin),
    )
    assert.equal(granted(one).id, granted(two).id)
    const path = `/tokens/${two.body.id}`
    await race(
      () => here('PATCH', path, keys.owner, { metadata: { here: 'yes' } }),
      () => there('PATCH', path, keys.owner, { metadata: { there: 'yes' } }),
    )
    assert.deepEqual(granted(await here('GET', path, keys.owner)).metadata, { here: 'yes', there: 'yes' })
    const [late, early] = await race(
      () => here('POST', '/tokens', keys.owner, { ...body, id: 'mine' }),
      () => there('POST', '/tokens', keys.owner, { ...body, id: 'mine' }),
    )
    assert.deepEqual([late.status, early.status], [409, 201])
    const gone = await race(
      () => here('PATCH', path, keys.owner, { metadata: { late: 'yes' } }),
      () => there('DELETE', path, keys.owner),
    )
    assert.deepEqual(
      gone.map(({ status }) => status),
      [404, 204],
    )
    assert.equal(granted(await there('GET', '/tokens', keys.owner)).pagination.total_items, 1)
  })

  test('a token read on both nodes counts as active once (C32.2)', async () => {
    vault().now = Date.parse('2026-03-31T23:59:59Z')
    const { keys } = await vault().tenant(ownerAndManager)
    const { id } = granted(await here('POST', '/tokens', keys.owner, body))
    vault().now += 1_000
    granted(await here('GET', `/tokens/${id}`, keys.owner))
    granted(await there('GET', `/tokens/${id}`, keys.owner))
    const active = async (on: typeof here) =>
      granted(await on('GET', '/tenants/self/reports/usage', keys.manager)).token_report.monthly_active_tokens
    assert.deepEqual([await active(here), await active(there), await active(here)], [1, 1, 1])
  })
})
