import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { SQLInputValue } from 'node:sqlite'
import { test } from 'node:test'
import { newApiKeyText } from '../../src/crypto/api-key.ts'
import { appearance, granted, type TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { storedRows } from '../rig/stored-rows.ts'
import { isRefusedByType, tamper } from '../rig/tamper.ts'
import type { TestVault } from '../rig/test-vault.ts'
import { untilGrantsHeard } from '../rig/until-grants-heard.ts'

const players = {
  ...ownerAndManager,
  /** The intruder holds this application's key. */
  weak: { permissions: ['token:create'] },
  neighbour: { permissions: ['token:create'] },
} as const
type Name = keyof typeof players

type KeyRow = {
  hash: Uint8Array
  tenant: number
  key_id: string
  application_id: string
  expires_at: number | null
  sealed: Uint8Array
}
type Row = { sealed: Uint8Array }
type Side = {
  tenant: number
  tenantId: string
  keys: Record<Name, string>
  apiKeys: Record<Name, KeyRow>
  applications: Record<Name, Row & { application_id: string }>
}
type World = { ours: Side; theirs: Side; expired: { key: string; row: KeyRow }; token: string }

const changed = (bytes: Uint8Array, at: number): Uint8Array => {
  const copy = Buffer.from(bytes)
  const place = at < 0 ? copy.length + at : at
  copy.writeUInt8(copy.readUInt8(place) ^ 1, place)
  return copy
}

/** What an attacker does who can write to storage and holds the key of `weak`; `names` is the row that the log must name. */
const attacks: readonly {
  name: string
  do: (vault: TestVault, world: World) => Promise<void>
  /** Whose keys must be refused afterwards; the others must go on working. */
  refused: readonly Name[]
  names?: (world: World) => string
}[] = [
  ...(['owner', 'manager'] as const).flatMap(strong => [
    {
      name: `the key row is given the application of ${strong}`,
      do: (vault: TestVault, { ours }: World) =>
        tamper(
          vault,
          'UPDATE api_keys SET application_id = ? WHERE hash = ?',
          ours.apiKeys[strong].application_id,
          ours.apiKeys.weak.hash,
        ),
      refused: ['weak'] as const,
      names: ({ ours }: World) => `api-key ${ours.apiKeys.weak.key_id}`,
    },
    {
      name: `the key row of ${strong} is given the hash of the intruder's key`,
      do: async (vault: TestVault, { ours }: World) => {
        await tamper(vault, 'DELETE FROM api_keys WHERE hash = ?', ours.apiKeys.weak.hash)
        await tamper(
          vault,
          'UPDATE api_keys SET hash = ? WHERE hash = ?',
          ours.apiKeys.weak.hash,
          ours.apiKeys[strong].hash,
        )
      },
      refused: ['weak', strong] as const,
      names: ({ ours }: World) => `api-key ${ours.apiKeys[strong].key_id}`,
    },
    {
      name: `the key row is given the application and the seal of ${strong}`,
      do: (vault: TestVault, { ours }: World) =>
        tamper(
          vault,
          'UPDATE api_keys SET application_id = ?, sealed = ? WHERE hash = ?',
          ours.apiKeys[strong].application_id,
          ours.apiKeys[strong].sealed,
          ours.apiKeys.weak.hash,
        ),
      refused: ['weak'] as const,
      names: ({ ours }: World) => `api-key ${ours.apiKeys.weak.key_id}`,
    },
    {
      name: `the application is given the seal of ${strong}`,
      do: (vault: TestVault, { ours }: World) =>
        tamper(
          vault,
          'UPDATE applications SET sealed = ? WHERE application_id = ?',
          ours.applications[strong].sealed,
          ours.applications.weak.application_id,
        ),
      refused: ['weak'] as const,
      names: ({ ours }: World) => `application ${ours.applications.weak.application_id}`,
    },
    {
      name: `the applications of the intruder and of ${strong} swap their ids`,
      do: async (vault: TestVault, { ours }: World) => {
        const [weak, other] = [
          ours.applications.weak.application_id,
          ours.applications[strong].application_id,
        ]
        const set = 'UPDATE applications SET application_id = ? WHERE application_id = ?'
        await tamper(vault, set, 'in between', weak)
        await tamper(vault, set, weak, other)
        await tamper(vault, set, other, 'in between')
      },
      refused: ['weak', strong] as const,
      names: ({ ours }: World) => `application ${ours.applications.weak.application_id}`,
    },
  ]),
  {
    name: 'the key row is moved to another tenant',
    do: (vault, { ours, theirs }) =>
      tamper(vault, 'UPDATE api_keys SET tenant = ? WHERE hash = ?', theirs.tenant, ours.apiKeys.weak.hash),
    refused: ['weak'],
  },
  {
    name: "the key row is moved to another tenant's owner",
    do: (vault, { ours, theirs }) =>
      tamper(
        vault,
        'UPDATE api_keys SET tenant = ?, application_id = ? WHERE hash = ?',
        theirs.tenant,
        theirs.apiKeys.owner.application_id,
        ours.apiKeys.weak.hash,
      ),
    refused: ['weak'],
    names: ({ ours }) => `api-key ${ours.apiKeys.weak.key_id}`,
  },
  {
    name: "the key row becomes that of another tenant's owner, except for its hash",
    do: async (vault, { ours, theirs }) => {
      const { tenant, application_id, sealed } = theirs.apiKeys.owner
      await tamper(
        vault,
        'UPDATE api_keys SET tenant = ?, application_id = ?, sealed = ? WHERE hash = ?',
        tenant,
        application_id,
        sealed,
        ours.apiKeys.weak.hash,
      )
    },
    refused: ['weak'],
    names: ({ ours }) => `api-key ${ours.apiKeys.weak.key_id}`,
  },
  {
    name: 'the key row gets another id',
    do: (vault, { ours }) =>
      tamper(
        vault,
        'UPDATE api_keys SET key_id = ? WHERE hash = ?',
        '019ac000-0000-7000-8000-000000000000',
        ours.apiKeys.weak.hash,
      ),
    refused: ['weak'],
    names: () => 'api-key 019ac000-0000-7000-8000-000000000000',
  },
  ...([0, 3, 8, 20, -1] as const).map(at => ({
    name: `one bit of the key's seal is flipped, at byte ${at}`,
    do: (vault: TestVault, { ours }: World) =>
      tamper(
        vault,
        'UPDATE api_keys SET sealed = ? WHERE hash = ?',
        changed(ours.apiKeys.weak.sealed, at),
        ours.apiKeys.weak.hash,
      ),
    refused: ['weak'] as const,
    names: ({ ours }: World) => `api-key ${ours.apiKeys.weak.key_id}`,
  })),
  ...([0, 3, 8, 20, -1] as const).map(at => ({
    name: `one bit of the application's seal is flipped, at byte ${at}`,
    do: async (vault: TestVault, { ours }: World) => {
      const { sealed, application_id } = ours.applications.weak
      await tamper(
        vault,
        'UPDATE applications SET sealed = ? WHERE application_id = ?',
        changed(sealed, at),
        application_id,
      )
    },
    refused: ['weak'] as const,
    names: ({ ours }: World) => `application ${ours.applications.weak.application_id}`,
  })),
  ...Object.entries<(sealed: Uint8Array) => SQLInputValue>({
    empty: () => new Uint8Array(0),
    zeros: () => new Uint8Array(200),
    'a text': () => 'text',
    'only its beginning': sealed => sealed.subarray(0, 16),
    'all but its last byte': sealed => sealed.subarray(0, -1),
    'a number': () => 7,
  }).map(([name, value]) => ({
    name: `the key's seal becomes ${name}`,
    do: (vault: TestVault, { ours }: World) =>
      tamper(
        vault,
        'UPDATE api_keys SET sealed = ? WHERE hash = ?',
        value(ours.apiKeys.weak.sealed),
        ours.apiKeys.weak.hash,
      ),
    refused: ['weak'] as const,
    names: ({ ours }: World) => `api-key ${ours.apiKeys.weak.key_id}`,
  })),
  {
    name: 'the seals of two keys with equal rights are swapped',
    do: async (vault, { ours }) => {
      const { weak, neighbour } = ours.apiKeys
      await tamper(vault, 'UPDATE api_keys SET sealed = ? WHERE hash = ?', neighbour.sealed, weak.hash)
      await tamper(vault, 'UPDATE api_keys SET sealed = ? WHERE hash = ?', weak.sealed, neighbour.hash)
    },
    refused: ['weak', 'neighbour'],
    names: ({ ours }) => `api-key ${ours.apiKeys.neighbour.key_id}`,
  },
  {
    name: 'the application row is deleted',
    do: (vault, { ours }) =>
      tamper(
        vault,
        'DELETE FROM applications WHERE application_id = ?',
        ours.applications.weak.application_id,
      ),
    refused: ['weak'],
  },
  {
    name: "the application is replaced by another tenant's, under the old id",
    do: (vault, { ours, theirs }) =>
      tamper(
        vault,
        'UPDATE applications SET sealed = ? WHERE tenant = ? AND application_id = ?',
        theirs.applications.weak.sealed,
        ours.tenant,
        ours.applications.weak.application_id,
      ),
    refused: ['weak'],
    names: ({ ours }) => `application ${ours.applications.weak.application_id}`,
  },
  {
    name: "the tenant is given another tenant's seal",
    do: (vault, { ours, theirs }) =>
      tamper(
        vault,
        'UPDATE tenants SET sealed = (SELECT sealed FROM tenants WHERE tenant = ?) WHERE tenant = ?',
        theirs.tenant,
        ours.tenant,
      ),
    refused: ['weak', 'owner', 'manager', 'neighbour'],
    names: ({ ours }) => `tenant ${ours.tenantId}`,
  },
  {
    name: "one bit of the tenant's seal is flipped",
    do: async (vault, { ours }) => {
      const row = (await storedRows(vault, 'tenants')).find(({ tenant }) => tenant === ours.tenant)
      await tamper(
        vault,
        'UPDATE tenants SET sealed = ? WHERE tenant = ?',
        changed(row?.sealed as Uint8Array, 40),
        ours.tenant,
      )
    },
    refused: ['weak', 'owner', 'manager', 'neighbour'],
    names: ({ ours }) => `tenant ${ours.tenantId}`,
  },
  {
    name: 'the tenant row is deleted',
    do: (vault, { ours }) => tamper(vault, 'DELETE FROM tenants WHERE tenant = ?', ours.tenant),
    refused: ['weak', 'owner', 'manager', 'neighbour'],
  },
  {
    name: 'the tenant gets another id',
    do: (vault, { ours }) =>
      tamper(
        vault,
        'UPDATE tenants SET tenant_id = ? WHERE tenant = ?',
        '019ac000-0000-7000-8000-000000000000',
        ours.tenant,
      ),
    refused: ['weak', 'owner', 'manager', 'neighbour'],
  },
]

onOneEngine('tampered grants', 'what is sealed is checked above storage', (vault, aboveStorage) => {
  const lookAt = async (made: { tenantId: string; keys: Record<Name, string> }): Promise<Side> => {
    const tenant = Number(
      (await storedRows(vault(), 'tenants')).find(row => row.tenant_id === made.tenantId)?.tenant,
    )
    const names = Object.keys(players) as Name[]
    const ids = Object.fromEntries(
      await Promise.all(
        names.map(async name => [name, granted(await vault().get('/applications/key', made.keys[name])).id]),
      ),
    )
    const pick = async <T>(table: string): Promise<Record<Name, T>> => {
      const rows = await storedRows(vault(), table)
      return Object.fromEntries(
        names.map(name => [name, rows.find(row => row.application_id === ids[name])]),
      ) as Record<Name, T>
    }
    return { ...made, tenant, apiKeys: await pick('api_keys'), applications: await pick('applications') }
  }

  const start = async (): Promise<World> => {
    const [ours, theirs] = [
      await lookAt(await vault().tenant(players)),
      await lookAt(await vault().tenant(players)),
    ]
    const { id: token } = granted(
      await vault().post('/tokens', ours.keys.owner, { type: 'token', data: 'secret' }),
    )
    const weakId = ours.apiKeys.weak.application_id
    const expires_at = new Date(vault().now + 1_000).toISOString()
    const made = granted(
      await vault().post(`/applications/${weakId}/keys`, ours.keys.manager, { expires_at }),
    )
    const row = (await storedRows(vault(), 'api_keys')).find(({ key_id }) => key_id === made.id)
    return { ours, theirs, expired: { key: made.key, row: row as KeyRow }, token }
  }

  const use = (key: string, token: string): Promise<TestReply[]> =>
    Promise.all([
      vault().get('/applications/key', key),
      vault().get(`/tokens/${token}`, key),
      vault().get('/tokens', key),
      vault().post('/tokens', key, { type: 'token', data: 'x' }),
      vault().get('/tenants/self', key),
      vault().get('/applications', key),
    ])

  const refusedKeys: [string, string][] = []
  aboveStorage(() => {
    for (const { name, do: act, refused, names } of attacks)
      test(`${name}: the affected keys get 401, and the log names the row (C30.2, C2.11)`, async () => {
        const world = await start()
        const { ours, theirs, token } = world
        const unknown = appearance(await vault().get('/applications/key', newApiKeyText('private')))
        await act(vault(), world)
        const logged = vault().log.length
        for (const who of refused)
          for (const reply of await use(ours.keys[who], token)) {
            assert.equal(reply.status, 401, `${who}: ${reply.text}`)
            assert.deepEqual(appearance(reply), unknown, 'no more is told than of an unknown key')
          }
        const lines = vault()
          .log.slice(logged)
          .filter(line => JSON.parse(line).level === 'error')
        if (names !== undefined) {
          assert.ok(
            lines.some(line => line.includes(names(world))),
            `the log names ${names(world)}: ${lines[0]}`,
          )
          for (const line of lines) assert.ok(JSON.parse(line).trace_id)
        }
        for (const who of Object.keys(players) as Name[]) {
          const path = who === 'manager' ? '/permissions' : '/tokens'
          const status = who === 'manager' || who === 'owner' ? 200 : 403
          if (!refused.includes(who))
            assert.equal((await vault().get(path, ours.keys[who])).status, status, who)
          assert.equal((await vault().get(path, theirs.keys[who])).status, status, `their ${who}`)
        }
        for (const who of refused) refusedKeys.push([`${name}: ${who}`, ours.keys[who]])
      })

    test('all of these keys are refused after a restart too (C30.2, C2.11)', async () => {
      assert.ok(refusedKeys.length >= attacks.length, 'each attack came before')
      await vault().restart()
      for (const [whose, key] of refusedKeys)
        assert.equal((await vault().get('/applications/key', key)).status, 401, whose)
    })
  })

  test('an unannounced change of grants is noticed all the same (C27.2)', async () => {
    const { ours } = await start()
    const { engine, folder } = vault()
    assert.equal((await vault().get('/applications/key', ours.keys.weak)).status, 200)
    await untilGrantsHeard(vault(), async () => {
      await engine.reach(folder.path, 'DELETE FROM api_keys WHERE hash = ?', ours.apiKeys.weak.hash)
      await engine.reach(folder.path, 'UPDATE grants_epoch SET epoch = epoch + 1')
    })
    assert.equal((await vault().get('/applications/key', ours.keys.weak)).status, 401)
  })

  for (const [what, value] of Object.entries({
    'a later date': 4_000_000_000_000,
    'no date': null,
    'a text': 'never',
    'an impossible number': 1e300,
    'a blob': new Uint8Array(8),
  }))
    test(`an expired key whose row is given ${what} stays expired (C29.7, C30.2)`, async t => {
      const { ours, expired, token } = await start()
      assert.equal((await vault().get('/applications/key', expired.key)).status, 200)
      try {
        await tamper(vault(), 'UPDATE api_keys SET expires_at = ? WHERE hash = ?', value, expired.row.hash)
      } catch (error) {
        if (isRefusedByType(error)) return t.skip('the engine does not take such a value')
        throw error
      }
      const logged = vault().log.length
      // Refused even before it expires: the row is not the one that was written.
      for (const reply of await use(expired.key, token)) assert.equal(reply.status, 401)
      vault().now += 1_000
      for (const reply of await use(expired.key, token)) assert.equal(reply.status, 401)
      assert.ok(
        vault()
          .log.slice(logged)
          .some(line => line.includes(`api-key ${expired.row.key_id}`)),
      )
      assert.equal((await vault().get('/tokens', ours.keys.weak)).status, 403, 'the other key goes on')
    })

  aboveStorage(() => {
    test('a made-up key does not work, whatever row is written for it (C30.2)', async () => {
      const { ours, token } = await start()
      const { owner } = ours.apiKeys
      const text = newApiKeyText('private')
      const hashes = [
        Buffer.from(text),
        createHash('sha256').update(text).digest(),
        createHash('sha256').update(createHash('sha256').update(text).digest()).digest(),
        randomBytes(32),
      ]
      for (const [at, hash] of hashes.entries())
        await tamper(
          vault(),
          'INSERT INTO api_keys (hash, tenant, key_id, application_id, expires_at, sealed) VALUES (?,?,?,?,NULL,?)',
          hash,
          ours.tenant,
          `${owner.key_id}-${at}`,
          owner.application_id,
          owner.sealed,
        )
      for (const reply of await use(text, token)) assert.equal(reply.status, 401)
      granted(await vault().get(`/tokens/${token}`, ours.keys.owner))
    })
  })

  test('last_used_at and the revision grant nothing and may hold anything (C29.7)', async () => {
    const { ours, token } = await start()
    await vault().service.jobTimer.runAll()
    for (const value of [-7, 'never'])
      await tamper(
        vault(),
        `UPDATE ${vault().engine.keyUses} SET last_used_at = ? WHERE hash = ?`,
        value,
        ours.apiKeys.owner.hash,
      ).catch(error => assert.ok(isRefusedByType(error)))
    await tamper(vault(), 'UPDATE tenants SET revision = revision + 7 WHERE tenant = ?', ours.tenant)
    granted(await vault().get(`/tokens/${token}`, ours.keys.owner))
    assert.equal((await vault().get('/tenants/self', ours.keys.weak)).status, 403)
    granted(await vault().send('PUT', '/tenants/self', { key: ours.keys.manager, body: { name: 'x' } }))
  })

  for (const revision of ['9007199254740992', '9223372036854775807', '-1', '1.5', "'x'"])
    test(`a key can be revoked, and its tenant changed, if the revision of the tenant is ${revision} (C27.2, C29.4)`, async () => {
      const { ours, token } = await start()
      await tamper(vault(), `UPDATE tenants SET revision = ${revision} WHERE tenant = ${ours.tenant}`).catch(
        error => assert.ok(isRefusedByType(error)),
      )
      const { application_id, key_id } = ours.apiKeys.owner
      const path = `/applications/${application_id}/keys/${key_id}`
      assert.equal((await vault().delete(path, ours.keys.manager)).status, 204)
      assert.equal((await vault().get(`/tokens/${token}`, ours.keys.owner)).status, 401)
      granted(await vault().send('PUT', '/tenants/self', { key: ours.keys.manager, body: { name: 'x' } }))
    })

  test("the keys of a tenant do not open under another tenant's name (C31.7, C31.9)", async () => {
    const { ours, theirs, token } = await start()
    const { column } = vault().engine.keyBytes
    await tamper(
      vault(),
      `UPDATE tenant_keys SET ${column} = (SELECT ${column} FROM tenant_keys other WHERE other.tenant = ?
         AND other.purpose = tenant_keys.purpose AND other.version = tenant_keys.version) WHERE tenant = ?`,
      theirs.tenant,
      ours.tenant,
    )
    await vault().restart()
    for (const reply of await use(ours.keys.owner, token)) assert.equal(reply.status, 503)
    granted(await vault().get('/tokens', theirs.keys.owner))
  })

  aboveStorage(() => {
    test('the list of applications fails if one row does not open, and the log names the row (C2.17)', async () => {
      const { ours } = await start()
      await tamper(
        vault(),
        'UPDATE applications SET sealed = ? WHERE application_id = ?',
        ours.applications.owner.sealed,
        ours.applications.weak.application_id,
      )
      const logged = vault().log.length
      const reply = await vault().get('/applications', ours.keys.manager)
      assert.equal(reply.status, 500)
      assert.ok(
        vault()
          .log.slice(logged)
          .some(line => line.includes(`application ${ours.applications.weak.application_id}`)),
      )
    })
  })
})
