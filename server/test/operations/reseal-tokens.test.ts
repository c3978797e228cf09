import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sealedKeyVersion } from '../../src/crypto/aead.ts'
import { openToken, sealToken } from '../../src/crypto/data-seal.ts'
import { newDataKey } from '../../src/operations/maintenance/new-data-key.ts'
import { resealTokens } from '../../src/operations/maintenance/reseal-tokens.ts'
import { sealsCounter } from '../../src/operations/vault/counters.ts'
import { verifyTenant } from '../../src/operations/verify/verify-tenant.ts'
import type { TokenRow } from '../../src/store/rows.ts'
import { granted } from '../rig/answers.ts'
import { someAct } from '../rig/caller-of.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { owner } from '../rig/test-vault.ts'

onEveryEngine('tokens under a new data key', vault => {
  /** A tenant with some tokens, and its keys as they are after a new data key was made. */
  const start = async (count: number) => {
    const { tenantId, keys } = await vault().tenant({ owner })
    const tenantNumber = await vault().tenantNumber(tenantId)
    const ids: string[] = []
    for (let at = 0; at < count; at++)
      ids.push(
        (
          await vault().create(keys.owner, {
            type: at % 2 ? 'token' : 'card',
            data: at % 2 ? { secret: at } : { number: '4242424242424242', cvc: '123' },
            metadata: { at: `${at}` },
          })
        ).id,
      )
    const open = vault().service.vault
    const before = { tenantNumber, keys: await open.keyring.of(tenantNumber, tenantId) }
    assert.equal(await newDataKey(open, before, someAct()), true)
    assert.equal(await newDataKey(open, before, someAct()), false, 'the next version is there already')
    const tenant = { tenantNumber, keys: await open.keyring.readAgain(tenantNumber, tenantId) }
    const shown = async () =>
      Promise.all(ids.map(async id => granted(await vault().get(`/tokens/${id}`, keys.owner))))
    const versions = async () => {
      const rows = await vault().store.scanTokens(tenantNumber, undefined, 1_000)
      return rows.map(({ sealed }) => sealedKeyVersion(sealed))
    }
    /** What a server had sealed before it heard of the new key, and storage kept waiting until now. */
    const writeLate = async (row: TokenRow, change: { id: string } | { version: number }) => {
      const record = openToken(tenant.keys, row).toString('utf8')
      const late = { ...row, ...change }
      const written = { ...late, sealed: sealToken(before.keys, late, record) }
      const outcome = await vault().store.commit({
        tenant: tenantNumber,
        guarded: [
          'id' in change
            ? { kind: 'insertToken', row: written }
            : { kind: 'updateToken', row: written, ifVersion: row.version },
        ],
        effects: [],
        counters: [],
        log: null,
      })
      assert.deepEqual(outcome, { committed: true })
    }
    return { open, tenant, tenantNumber, key: keys.owner, ids, shown, versions, writeLate }
  }

  test('every token is sealed again, and nothing else about it changes (C14.4, C11.1)', async () => {
    // More than share a commit.
    const count = 60
    const { open, tenant, tenantNumber, key, shown, versions } = await start(count)
    const later = await vault().create(key, { type: 'token', data: 'sealed with the new one' })
    const [before, rowsBefore] = [await shown(), await vault().store.scanTokens(tenantNumber, undefined, 100)]
    assert.deepEqual(await versions(), [...Array(count).fill(1), 2])
    assert.deepEqual(await resealTokens(open, tenant), {
      resealed: count,
      left: 0,
      unreadable: 0,
      unreadableNames: [],
    })
    assert.deepEqual(await versions(), Array(count + 1).fill(2))
    assert.deepEqual(await shown(), before, 'with the cvc, which has a seal of its own')
    const rowsAfter = await vault().store.scanTokens(tenantNumber, undefined, 100)
    for (const [at, { sealed, ...rest }] of rowsAfter.entries()) {
      const { sealed: old, ...restBefore } = rowsBefore[at] ?? { sealed: undefined }
      assert.deepEqual(rest, restBefore)
      if (rest.id !== later.id) assert.notDeepEqual(Buffer.from(sealed), Buffer.from(old ?? []))
    }
    assert.deepEqual(await resealTokens(open, tenant), {
      resealed: 0,
      left: 0,
      unreadable: 0,
      unreadableNames: [],
    })
    const counters = await vault().store.listCounters(tenantNumber)
    const seals = counters.find(({ name }) => name === sealsCounter(2))
    assert.equal(seals?.value, count + 1, 'each seal counts towards the end of its key')

    // The old key is of no use any more: only the cvc, for its hour, is still sealed with it.
    vault().now += 2 * 3_600_000
    await vault().service.jobTimer.runAll()
    await vault().engine.reach(
      vault().folder.path,
      `DELETE FROM tenant_keys WHERE tenant = ${tenantNumber} AND purpose = 'data' AND version = 1`,
    )
    await vault().restart()
    for (const { data, metadata } of await shown()) assert.ok(data && metadata)
  })

  test('a token that is changed or deleted meanwhile is left as that made it (C18.8)', async () => {
    const { open, tenant, tenantNumber, key, ids, versions } = await start(4)
    const [changed = '', deleted = '', remade = ''] = ids
    const { scanTokens } = open.store
    let isFirst = true
    const store = {
      ...open.store,
      scanTokens: async (...args: Parameters<typeof scanTokens>) => {
        const rows = await scanTokens(...args)
        if (isFirst) {
          isFirst = false
          await vault().patch(`/tokens/${changed}`, key, { metadata: { seen: 'yes' } })
          await vault().delete(`/tokens/${deleted}`, key)
          await vault().delete(`/tokens/${remade}`, key)
          await vault().create(key, { id: remade, type: 'token', data: 'another' })
        }
        return rows
      },
    }
    assert.equal((await resealTokens({ ...open, store }, tenant)).resealed, 1)
    assert.deepEqual(await versions(), [2, 2, 2])
    const read = (id: string) => vault().get(`/tokens/${id}`, key)
    assert.equal((await read(changed)).body.metadata.seen, 'yes')
    assert.equal((await read(deleted)).status, 404)
    assert.equal((await read(remade)).body.data, 'another')
    assert.equal(
      (await vault().store.listCounters(tenantNumber)).find(({ name }) => name === 'type:card')?.value,
      1,
    )
  })

  const lateWrites: { name: string; change: (row: TokenRow) => { id: string } | { version: number } }[] = [
    { name: 'a change', change: ({ version }) => ({ version: version + 1 }) },
    { name: 'a new token, whose id the scan has passed,', change: () => ({ id: '-' }) },
  ]
  for (const { name, change } of lateWrites)
    for (const moment of ['scanTokens', 'commit'] as const)
      test(`${name} that was sealed with the key before and comes ${moment === 'commit' ? 'just before' : 'just after'} its turn is sealed again (docs/keys.md)`, async () => {
        const { open, tenant, tenantNumber, versions, writeLate } = await start(4)
        const [row] = await vault().store.scanTokens(tenantNumber, undefined, 1)
        assert.ok(row)
        let isFirst = true
        const once = async (): Promise<void> => {
          if (!isFirst) return
          isFirst = false
          await writeLate(row, change(row))
        }
        const { commit, scanTokens } = open.store
        const store = {
          ...open.store,
          commit: async (...args: Parameters<typeof commit>) => {
            if (moment === 'commit') await once()
            return commit(...args)
          },
          scanTokens: async (...args: Parameters<typeof scanTokens>) => {
            const rows = await scanTokens(...args)
            // The end of a pass.
            if (moment === 'scanTokens' && rows.length === 0) await once()
            return rows
          },
        }
        const { left } = await resealTokens({ ...open, store }, tenant)
        assert.deepEqual([left, new Set(await versions())], [0, new Set([2])])
      })

  test('tokens that are changed again and again under the key before are counted, and the run ends (docs/keys.md)', async () => {
    const { open, tenant, tenantNumber, versions } = await start(3)
    const { commit } = open.store
    const [row] = await vault().store.scanTokens(tenantNumber, undefined, 1)
    const store = {
      ...open.store,
      commit: async (set: Parameters<typeof commit>[0]) => {
        const [change] = set.guarded
        const isTaken = change?.kind === 'updateToken' && change.row.id === row?.id
        return isTaken ? { committed: false as const, conflict: 'tokenChanged' as const } : commit(set)
      },
    }
    const { resealed, left } = await resealTokens({ ...open, store }, tenant)
    assert.deepEqual([resealed, left, await versions()], [2, 1, [1, 2, 2]])
  })

  test('a tenant that is deleted meanwhile ends the run (C31.8)', async () => {
    const { open, tenant } = await start(3)
    const store = {
      ...open.store,
      commit: async () => ({ committed: false as const, conflict: 'tenantGone' as const }),
    }
    await assert.rejects(resealTokens({ ...open, store }, tenant), /There is no such tenant any more/)
  })

  test('a key that is newer than those at hand is no damage, neither here nor to a verification (C11)', async () => {
    const { open, tenant, tenantNumber, key, versions } = await start(3)
    assert.equal(await newDataKey(open, tenant, someAct()), true)
    await open.keyring.readAgain(tenantNumber, tenant.keys.tenantId)
    await vault().create(key, { type: 'token', data: 'sealed with the newest' })
    assert.deepEqual(await versions(), [1, 1, 1, 3])
    const { unreadable } = await verifyTenant(open, tenant)
    assert.ok(unreadable.isEmpty)
    assert.deepEqual(await resealTokens(open, tenant), {
      resealed: 3,
      left: 0,
      unreadable: 0,
      unreadableNames: [],
    })
    assert.deepEqual(await versions(), [2, 2, 2, 3])
  })

  test('a row that does not open holds up no other, and is named (C11)', async () => {
    const { open, tenant, tenantNumber, ids, versions } = await start(3)
    await vault().engine.reach(
      vault().folder.path,
      `UPDATE tokens SET version = version + 1 WHERE tenant = ${tenantNumber} AND token_id = '${ids[1]}'`,
    )
    const { resealed, left, unreadable, unreadableNames } = await resealTokens(open, tenant)
    assert.deepEqual([resealed, left, unreadable], [2, 0, 1])
    assert.match(unreadableNames.join(), new RegExp(`token ${ids[1]}`))
    assert.deepEqual(await versions(), [2, 1, 2])
  })
})
