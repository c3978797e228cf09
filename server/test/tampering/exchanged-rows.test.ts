import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { newTenantKeys } from '../../src/keys/make-keys.ts'
import { apiKeyName } from '../../src/operations/keys/authenticate.ts'
import { noteKeyUse } from '../../src/operations/maintenance/note-key-use.ts'
import { rotateDataKeys } from '../../src/operations/maintenance/rotate-data-keys.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import { verifyTenant } from '../../src/operations/verify/verify-tenant.ts'
import type { Store } from '../../src/store/port.ts'
import { backUpSqlite } from '../../src/store/sqlite/back-up.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import type { StoredRow } from '../rig/engines.ts'
import { onEveryEngine, onSqliteAlone } from '../rig/every-engine.ts'
import { tamper } from '../rig/tamper.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

const weak = { permissions: ['token:create'] } as const
const manager = {
  type: 'management',
  permissions: ['tenant:read', 'application:read', 'application:update'],
} as const
const reporter = { type: 'management', permissions: ['application:read', 'report:read'] } as const
const secret = 'a value that is not to be seen'

/**
 * Storage that returns a sound row in place of the one it was asked for. An attacker who can change its schema can make
 * it do so, with a view or a custom operator.
 */
const answering = async (
  vault: TestVault,
  calls: Partial<Store>,
  work: () => Promise<void>,
): Promise<void> => {
  const whole = { ...vault.store }
  Object.assign(vault.store, calls, { grantsEpoch: () => whole.grantsEpoch() + 0.5 })
  try {
    await work()
  } finally {
    Object.assign(vault.store, whole)
  }
}

/** The numbers from one to `last`, as the table n (i). */
const upTo = (last: number): string =>
  `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${last})`

onSqliteAlone('storage that answers with another row', 'the row is exchanged at the port', vault => {
  test('the row of one API key lets no other key in (C30.2, §1.3)', async () => {
    const ours = await vault().tenant({ owner })
    const theirs = await vault().tenant({ weak })
    const { id } = await vault().create(ours.keys.owner, { type: 'token', data: secret })
    const rows = await vault().store.listApiKeys(await vault().tenantNumber(ours.tenantId))
    const row = rows[0]
    assert.ok(row)
    await answering(vault(), { findApiKey: async () => row }, async () => {
      const reply = await vault().get(`/tokens/${id}`, theirs.keys.weak)
      assert.equal(reply.status, 401)
    })
  })

  test('the row of one application lends its rights to no other (C28.1, C30.2)', async () => {
    const { keys, tenantId } = await vault().tenant({ owner, weak })
    const { id } = await vault().create(keys.owner, { type: 'token', data: secret })
    const strong = granted(await vault().get('/applications/key', keys.owner)).id
    const number = await vault().tenantNumber(tenantId)
    const row = (await vault().store.listApplications(number)).find(application => application.id === strong)
    await answering(vault(), { getApplication: async () => row }, async () => {
      assert.equal((await vault().get(`/tokens/${id}`, keys.weak)).status, 401)
    })
  })

  test('the row of one token is not shown, changed or deleted as another (§4.4.2, §4.6.1)', async () => {
    const { keys, tenantId } = await vault().tenant({ owner })
    const [asked, brought] = [
      await vault().create(keys.owner, { type: 'token', data: 'x' }),
      await vault().create(keys.owner, { type: 'token', data: secret }),
    ]
    const row = await vault().store.getToken(await vault().tenantNumber(tenantId), brought.id)
    await answering(vault(), { getToken: async () => row }, async () => {
      const path = `/tokens/${asked.id}`
      assert.equal((await vault().get(path, keys.owner)).status, 500)
      assert.equal((await vault().delete(path, keys.owner)).status, 500)
      assert.equal((await vault().patch(path, keys.owner, { data: 'y' })).status, 500)
    })
    assert.equal((await vault().get(`/tokens/${brought.id}`, keys.owner)).body.data, secret)
  })

  test('the row of an expired token does not free the id of another (C16.4, C17.4)', async () => {
    const { keys, tenantId } = await vault().tenant({ owner })
    const taken = await vault().create(keys.owner, { type: 'token', data: secret })
    const expires_at = new Date(vault().now + 1_000).toISOString()
    const expired = await vault().create(keys.owner, { type: 'token', data: 'x', expires_at })
    vault().now += 1_000
    const number = await vault().tenantNumber(tenantId)
    const row = await vault().store.getToken(number, expired.id)
    await answering(vault(), { getToken: async () => row }, async () => {
      const reply = await vault().post('/tokens', keys.owner, { id: taken.id, type: 'token', data: 'y' })
      assert.equal(reply.status, 500)
    })
    assert.ok(await vault().store.getToken(number, expired.id))
    assert.equal((await vault().get(`/tokens/${taken.id}`, keys.owner)).body.data, secret)
  })

  test('the kept answer to one request answers no other (C33.1)', async () => {
    const { keys } = await vault().tenant({ owner, weak })
    const send = (key: string, data: string): ReturnType<TestVault['send']> =>
      vault().send('POST', '/tokens', {
        key,
        body: { type: 'token', data, metadata: { data } },
        headers: { 'svc-idempotency-key': 'one' },
      })
    const { getResult } = vault().store
    let row: Awaited<ReturnType<Store['getResult']>>
    await send(keys.owner, 'theirs')
    const remember = async (...asked: Parameters<Store['getResult']>): ReturnType<Store['getResult']> => {
      row = await getResult(...asked)
      return row
    }
    await answering(vault(), { getResult: remember }, async () => {
      assert.equal((await send(keys.owner, 'theirs')).headers.get('idempotent-replayed'), 'true')
    })
    assert.ok(row)
    await answering(vault(), { getResult: async () => row }, async () => {
      const reply = await send(keys.weak, 'ours')
      assert.equal(reply.status, 500)
      assert.ok(!reply.text.includes('theirs'))
    })
  })
})

onEveryEngine('tenants whose numbers were exchanged', vault => {
  test('a tenant under the number of another gets none of its tokens (§1.3, C28.1)', async () => {
    const [ours, theirs] = [await vault().tenant({ owner }), await vault().tenant({ owner })]
    const [a, b] = [await vault().tenantNumber(ours.tenantId), await vault().tenantNumber(theirs.tenantId)]
    const { id } = await vault().create(ours.keys.owner, { type: 'token', data: secret })
    await vault().create(theirs.keys.owner, { type: 'token', data: 'x' })
    const [row] = await vault().engine.reach(
      vault().folder.path,
      'SELECT tenant_id, sealed FROM tenants WHERE tenant = ?',
      b,
    )
    assert.ok(row?.tenant_id && row.sealed)
    await tamper(vault(), 'DELETE FROM tenants WHERE tenant = ?', b)
    const put = 'UPDATE tenants SET tenant_id = ?, sealed = ? WHERE tenant = ?'
    await tamper(vault(), put, row.tenant_id, row.sealed, a)
    await tamper(vault(), 'UPDATE applications SET tenant = ? WHERE tenant = ?', a, b)
    await tamper(vault(), 'UPDATE api_keys SET tenant = ? WHERE tenant = ?', a, b)
    for (const reply of [
      await vault().get(`/tokens/${id}`, theirs.keys.owner),
      await vault().get('/tokens', theirs.keys.owner),
      await vault().delete(`/tokens/${id}`, theirs.keys.owner),
    ]) {
      assert.ok(reply.status >= 400, String(reply.status))
      assert.ok(!reply.text.includes(secret))
    }
  })

  test('a remembered manager is shown no grants of another tenant put under the same number (§1.3, C29.1)', async () => {
    const [ours, theirs] = [await vault().tenant({ manager }), await vault().tenant({ manager })]
    const [a, b] = [await vault().tenantNumber(ours.tenantId), await vault().tenantNumber(theirs.tenantId)]
    const [row] = await vault().engine.reach(
      vault().folder.path,
      'SELECT tenant_id, sealed FROM tenants WHERE tenant = ?',
      a,
    )
    assert.ok(row?.tenant_id && row.sealed)
    assert.equal((await vault().get('/tenants/self', theirs.keys.manager)).status, 200)
    const reach = (sql: string, ...values: (string | number | Uint8Array)[]): Promise<unknown> =>
      vault().engine.reach(vault().folder.path, sql, ...values)
    await reach('DELETE FROM tenants WHERE tenant = ?', a)
    const put = 'UPDATE tenants SET tenant_id = ?, sealed = ? WHERE tenant = ?'
    await reach(put, String(row.tenant_id), row.sealed as Uint8Array, b)
    for (const path of ['/tenants/self', '/applications']) {
      const reply = await vault().get(path, theirs.keys.manager)
      assert.equal(reply.status, 401, path)
      assert.ok(!reply.text.includes(ours.tenantId))
    }
  })

  test('the keys of a deleted tenant are not used for the tenant that gets its number (C31.7)', async () => {
    const { keyring, store, keyProvider } = vault().service.vault
    const [number, gone, next] = [4711, crypto.randomUUID(), crypto.randomUUID()]
    const rows = {
      [gone]: await newTenantKeys(keyProvider, gone),
      [next]: await newTenantKeys(keyProvider, next),
    }
    const { listTenantKeys: stored } = store
    try {
      store.listTenantKeys = async () => (rows[gone] ?? []).map(row => ({ ...row }))
      const before = await keyring.of(number, gone)
      store.listTenantKeys = async () => (rows[next] ?? []).map(row => ({ ...row }))
      const after = await keyring.of(number, next)
      assert.equal(after.tenantId, next)
      assert.ok(!after.index.equals(before.index))
    } finally {
      store.listTenantKeys = stored
      keyring.forget(number)
    }
  })
})

onEveryEngine('rows that lead nowhere', vault => {
  const reach = (sql: string, ...values: (string | number | bigint)[]): Promise<unknown> =>
    vault().engine.reach(vault().folder.path, sql, ...values)

  test('a deleted tenant whose number no double can hold is purged once and for all (C31.6, C17.6)', async () => {
    await reach('INSERT INTO dead_tenants (tenant) VALUES (9007199254740993)')
    assert.equal(await vault().store.purgeDeadTenants(100), 1)
    assert.equal(await vault().store.purgeDeadTenants(100), 0)
  })

  test('a search that opens tokens ends even if index entries lead back (C26)', async () => {
    const redacted = {
      rules: [
        { priority: 1, container: '/', transform: 'redact', permissions: ['token:read', 'token:search'] },
      ],
    } as const
    const { keys, tenantId } = await vault().tenant({ owner, redacted })
    await vault().create(keys.owner, { type: 'token', data: 'x' })
    const number = await vault().tenantNumber(tenantId)
    await reach(
      `${upTo(1_000)} INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
       SELECT tenant, term, i, token_id, expires_at, tag, signature FROM terms, n WHERE tenant = ?`,
      number,
    )
    const body = { query: 'type:token AND NOT data:zz' }
    assert.equal((await vault().post('/tokens/search', keys.redacted, body)).status, 500)
  })

  test('the keys of a tenant deleted by another process leave the memory of a process that gets no requests (C31.7)', async () => {
    const { vault: opened } = vault().service
    const { tenantId, keys } = await vault().tenant({ owner })
    const number = await vault().tenantNumber(tenantId)
    await vault().create(keys.owner, { type: 'token', data: 'x' })
    assert.ok(opened.callers.get(apiKeyName(keys.owner)))
    await tamper(vault(), 'DELETE FROM tenants WHERE tenant = ?', number)
    let forgets = 0
    const { forgetIfChanged } = opened.callers
    opened.callers.forgetIfChanged = () => {
      forgets++
      forgetIfChanged()
    }
    await rotateDataKeys(opened)
    opened.callers.forgetIfChanged = forgetIfChanged
    assert.equal(forgets, 1)
    assert.ok(!opened.keyring.loaded().some(tenant => tenant.tenantNumber === number))
  })

  test('a tenant with incomplete keys does not keep another from its new data key (C17.6)', async () => {
    const [broken, sound] = [await vault().tenant({ owner }), await vault().tenant({ owner })]
    const [a, b] = [await vault().tenantNumber(broken.tenantId), await vault().tenantNumber(sound.tenantId)]
    for (const { keys } of [broken, sound]) await vault().create(keys.owner, { type: 'token', data: 'x' })
    await tamper(vault(), "DELETE FROM tenant_keys WHERE tenant = ? AND purpose = 'fingerprint'", a)
    await assert.rejects(rotateDataKeys(vault().service.vault, 1), { name: 'KeyProviderError' })
    const versions = (await vault().store.listTenantKeys(b)).filter(({ purpose }) => purpose === 'data')
    assert.equal(versions.length, 2)
  })

  test('a time that no date can hold is left out of what a manager is shown (C29.7, C32.1)', async () => {
    const { keys, tenantId } = await vault().tenant({ owner, reporter })
    await vault().create(keys.owner, { type: 'token', data: 'x' })
    const { id } = granted(await vault().get('/applications/key', keys.owner))
    const number = await vault().tenantNumber(tenantId)
    for (const time of [2n ** 53n - 1n, 1n - 2n ** 53n]) {
      await noteKeyUse(vault().service.vault)
      await reach('UPDATE counters SET at = ? WHERE tenant = ?', time, number)
      await reach(
        `UPDATE ${vault().engine.name === 'sqlite' ? 'api_keys' : 'key_uses'} SET last_used_at = ? WHERE tenant = ?`,
        time,
        number,
      )
      const usage = await vault().get('/tenants/self/reports/usage', keys.reporter)
      assert.deepEqual(usage.body.token_report?.metrics_by_type, { token: { count: 1 } })
      const [key] = granted(await vault().get(`/applications/${id}/keys`, keys.reporter))
      assert.equal(key.last_used_at, undefined)
    }
  })

  test('the text null in a column does not count as an empty column (C5.1, §2.1.15)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, { type: 'token', data: 'x' })
    await reach("UPDATE tokens SET modified_by = 'null' WHERE token_id = ?", id)
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).status, 500)
  })
})

onSqliteAlone(
  'a file that holds what the vault did not put there',
  'PostgreSQL has types and roles',
  vault => {
    const reach = (sql: string): Promise<StoredRow[]> => vault().engine.reach(vault().folder.path, sql)

    for (const [what, epoch] of [
      ['a number too large to count up', '1e300'],
      ['a number that no double can hold', '9007199254740993'],
      ['text', "'x'"],
    ])
      test(`a revoked key is refused at once, even if the grants epoch is ${what} (C27.2)`, async () => {
        const { keys } = await vault().tenant({ owner, manager })
        const application = granted(await vault().get('/applications/key', keys.owner)).id
        const path = `/applications/${application}/keys`
        const [{ id: keyId }] = (await vault().get(path, keys.manager)).body
        await reach(`UPDATE grants_epoch SET epoch = ${epoch}`)
        try {
          assert.equal((await vault().get('/tokens', keys.owner)).status, 200)
          assert.equal((await vault().delete(`${path}/${keyId}`, keys.manager)).status, 204)
          assert.equal((await vault().get('/tokens', keys.owner)).status, 401)
        } finally {
          await reach('UPDATE grants_epoch SET epoch = 1000')
        }
      })

    test('a deep check ends even if nothing can follow the ids and times it meets (C24)', async () => {
      const { keys, tenantId } = await vault().tenant({ owner })
      await vault().create(keys.owner, { type: 'token', data: 'x' })
      const tenantNumber = await vault().tenantNumber(tenantId)
      const { keyring } = vault().service.vault
      const tenant = { tenantNumber, keys: await keyring.of(tenantNumber, tenantId) }
      const columns =
        'type, version, created_at, created_by, modified_at, modified_by, expires_at, transient_until, active_month, sealed'
      await reach(`${upTo(600)} INSERT INTO tokens (tenant, token_id, ${columns})
      SELECT tenant, CAST('id' || i AS BLOB), ${columns} FROM tokens, n WHERE tenant = ${tenantNumber}`)
      await reach(`${upTo(600)} INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
      SELECT tenant, term, 1152921504606846976, 'id' || i, expires_at, tag, signature FROM terms, n
      WHERE tenant = ${tenantNumber}`)
      const { unreadable } = await verifyTenant(vault().service.vault, tenant)
      assert.ok(!unreadable.isEmpty)
    })

    test('no new vault keys are made for a vault that has tenants (C30.2, C31.6)', async () => {
      await vault().tenant({ owner })
      const { store, service } = vault()
      const { listVaultKeys } = store
      store.listVaultKeys = async () => []
      try {
        await assert.rejects(openVault({ ...service.vault, store }), { name: 'KeyProviderError' })
      } finally {
        store.listVaultKeys = listVaultKeys
      }
    })

    test('a list with filters ends even if index entries have impossible times (C24)', async () => {
      const { keys, tenantId } = await vault().tenant({ owner })
      await vault().create(keys.owner, { type: 'token', data: 'x', metadata: { k: 'v' } })
      const number = await vault().tenantNumber(tenantId)
      await reach(
        `${upTo(6_000)} INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
       SELECT tenant, term, -1152921504606846976, i, expires_at, tag, signature FROM terms, n
       WHERE tenant = ${number}`,
      )
      assert.equal((await vault().get('/tokens?type=token&metadata.k=v', keys.owner)).status, 500)
    })

    /** Keeps a table with all that belongs to it, and puts it back to the letter. */
    const setAside = async (table: string): Promise<() => Promise<void>> => {
      const parts = await reach(
        `SELECT sql FROM sqlite_schema WHERE tbl_name = '${table}' AND sql IS NOT NULL ORDER BY type = 'table' DESC`,
      )
      await reach(`CREATE TABLE aside AS SELECT * FROM ${table}`)
      return async () => {
        const [there] = await reach(`SELECT type FROM sqlite_schema WHERE name = '${table}'`)
        if (there !== undefined) await reach(`DROP ${there.type} ${table}`)
        for (const [at, { sql }] of parts.entries()) {
          await reach(String(sql))
          if (at === 0) await reach(`INSERT INTO ${table} SELECT * FROM aside`)
        }
        await reach('DROP TABLE aside')
      }
    }

    test('a planted schema keeps no key alive: nothing is revoked that the answer does not say (C29.4, C27.2)', async () => {
      const { keys, tenantId } = await vault().tenant(ownerAndManager)
      const number = await vault().tenantNumber(tenantId)
      const { id } = granted(await vault().get('/applications/key', keys.owner))
      const [{ id: keyId }] = granted(await vault().get(`/applications/${id}/keys`, keys.manager))
      const revoke = () => vault().delete(`/applications/${id}/keys/${keyId}`, keys.manager)
      const own = await reach("SELECT sql FROM sqlite_schema WHERE name = 'tenant_keys_wiped'")
      await reach('DROP TRIGGER tenant_keys_wiped')
      await reach(
        'CREATE TRIGGER tenant_keys_wiped BEFORE DELETE ON api_keys BEGIN SELECT RAISE(IGNORE); END',
      )
      assert.equal((await revoke()).status, 503)
      assert.equal((await vault().get('/tokens', keys.owner)).status, 200)
      await reach('DROP TRIGGER tenant_keys_wiped')
      await reach(String(own[0]?.sql))
      assert.equal((await revoke()).status, 204)
      assert.equal((await vault().get('/tokens', keys.owner)).status, 401)
      assert.deepEqual(
        await reach(`SELECT 1 FROM api_keys WHERE tenant = ${number} AND key_id = '${keyId}'`),
        [],
      )
      assert.ok(vault().log.some(line => line.includes('the schema was changed by something else')))
    })

    test('a planted table whose foreign keys point at the vault keeps no key alive and no cvc (C11.3, C27.2)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }
      const [kept, deleted] = [await vault().create(keys.owner, card), await vault().create(keys.owner, card)]
      const { id } = granted(await vault().get('/applications/key', keys.owner))
      const [{ id: keyId }] = granted(await vault().get(`/applications/${id}/keys`, keys.manager))
      await reach(`CREATE TABLE notes (h BLOB REFERENCES api_keys (hash), a INTEGER, b TEXT, c TEXT,
        FOREIGN KEY (a, b, c) REFERENCES transients (tenant, token_id, field))`)
      await reach('INSERT INTO notes (h) SELECT hash FROM api_keys')
      await reach('INSERT INTO notes (a, b, c) SELECT tenant, token_id, field FROM transients')
      try {
        const file = (name: string): string => join(vault().folder.path, name)
        await backUpSqlite({ path: file('vault.db'), to: file('copy.db') })
        assert.equal((await vault().delete(`/tokens/${deleted.id}`, keys.owner)).status, 204)
        vault().now += 2 * 3_600_000
        await vault().service.jobTimer.runAll()
        assert.deepEqual(await reach('SELECT 1 FROM transients'), [])
        assert.equal((await vault().get(`/tokens/${kept.id}`, keys.owner)).status, 200)
        assert.equal((await vault().delete(`/applications/${id}/keys/${keyId}`, keys.manager)).status, 204)
        assert.equal((await vault().get('/tokens', keys.owner)).status, 401)
      } finally {
        await reach('DROP TABLE notes')
      }
    })

    const planted: { name: string; table: string; plant: string[]; method: 'DELETE' | 'GET' }[] = [
      {
        name: 'a trigger that keeps what is deleted',
        table: 'slots',
        plant: [
          'CREATE TABLE IF NOT EXISTS kept (bytes)',
          'CREATE TRIGGER keeps BEFORE UPDATE ON slots BEGIN INSERT INTO kept VALUES (old.bytes); END',
        ],
        method: 'DELETE',
      },
      {
        name: 'a view in place of a table',
        table: 'transients',
        plant: ['DROP TABLE transients', 'CREATE VIEW transients AS SELECT * FROM aside'],
        method: 'GET',
      },
      {
        name: 'a trigger under the name of one of ours',
        table: 'transients',
        plant: [
          'CREATE TABLE IF NOT EXISTS kept (bytes)',
          'DROP TRIGGER transients_wiped',
          `CREATE TRIGGER transients_wiped BEFORE DELETE ON transients BEGIN
             INSERT INTO kept SELECT bytes FROM slots WHERE slot = old.slot; END`,
        ],
        method: 'DELETE',
      },
      {
        name: 'a schema that lacks one of our triggers',
        table: 'transients',
        plant: ['DROP TRIGGER transients_wiped'],
        method: 'DELETE',
      },
      {
        name: 'a table that turns some writes into nothing',
        table: 'dead_tenants',
        plant: [
          'DROP TABLE dead_tenants',
          'CREATE TABLE dead_tenants (tenant INTEGER PRIMARY KEY ON CONFLICT IGNORE)',
        ],
        method: 'DELETE',
      },
      {
        name: 'an index that makes different rows meet',
        table: 'dead_tenants',
        plant: ['CREATE UNIQUE INDEX one_each ON dead_tenants (tenant > 0)'],
        method: 'DELETE',
      },
    ]
    for (const { name, table, plant, method } of planted)
      test(`nothing is written or read through ${name} (C11.3, C31.7)`, async () => {
        const { keys } = await vault().tenant({ owner })
        const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }
        const { id } = await vault().create(keys.owner, card)
        const undo = await setAside(table)
        for (const statement of plant) await reach(statement)
        try {
          assert.equal((await vault().send(method, `/tokens/${id}`, { key: keys.owner })).status, 503)
          assert.equal((await vault().send('GET', '/ready')).status, 503)
          // A second engine on the file, as after a restart.
          const again = () => openSqlite({ path: join(vault().folder.path, 'vault.db'), writing: 'inline' })
          assert.throws(again, /has a schema that no release made: strongroom doctor says what differs/)
        } finally {
          await undo()
        }
        // Records of what was refused wait for the next try; until then nothing is revealed.
        await vault().service.vault.acts.flush()
        assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).body.data.cvc, '123')
        assert.equal((await vault().delete(`/tokens/${id}`, keys.owner)).status, 204)
      })
  },
)
