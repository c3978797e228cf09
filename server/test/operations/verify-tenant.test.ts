import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'
import { isRekeyUnfinished } from '../../src/operations/maintenance/is-rekey-unfinished.ts'
import { newDataKey } from '../../src/operations/maintenance/new-data-key.ts'
import { resealTokens } from '../../src/operations/maintenance/reseal-tokens.ts'
import { sealsCounter } from '../../src/operations/vault/counters.ts'
import { repairTenant } from '../../src/operations/verify/repair-tenant.ts'
import {
  AffectedTokens,
  type DeadField,
  type Verification,
} from '../../src/operations/verify/verification.ts'
import { verifyTenant } from '../../src/operations/verify/verify-tenant.ts'
import type { Store } from '../../src/store/port.ts'
import { someAct } from '../rig/caller-of.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { isRefusedByType } from '../rig/tamper.ts'
import { owner } from '../rig/test-vault.ts'

const reads = [
  'scanTokens',
  'findAbsentTerms',
  'getTokens',
  'scanTerms',
  'scanMatches',
  'findMatchHolder',
] as const

const nothing = {
  ...{ unreadable: [], deadFields: [], missing: [], extra: [], matches: [] },
  ...{ wrongCounters: 0, notRekeyed: 0, wasWritten: false },
}
const told = (verification: Verification) =>
  Object.fromEntries(
    Object.entries(verification).map(([name, found]) => [
      name,
      found instanceof AffectedTokens ? found.ids : found,
    ]),
  )

onEveryEngine('the verification of a tenant', vault => {
  /** A new tenant, as its owner and as a verification sees it. */
  const verified = async (settings: { deduplicateTokens?: boolean } = {}) => {
    const { keys, tenantId } = await vault().tenant({ owner }, settings)
    const whole = vault().service.vault
    const tenantNumber = await vault().tenantNumber(tenantId)
    return { keys, whole, tenant: { tenantNumber, keys: await whole.keyring.of(tenantNumber, tenantId) } }
  }

  for (const read of reads)
    test(`a write just before or after ${read} is not reported as a difference (C24, C26, C27.1)`, async () => {
      const { keys, whole, tenant } = await verified({ deduplicateTokens: true })
      const create = (id: string) =>
        vault().create(keys.owner, { id, type: 'token', data: `data of ${id}`, containers: ['/a/b/'] })
      for (const id of ['moved', 'deleted', 'renewed']) await create(id)

      let round = 0
      const write = async (): Promise<void> => {
        round++
        const containers = [round % 2 === 0 ? '/a/b/' : '/a/']
        await vault().patch('/tokens/moved', keys.owner, { data: `round ${round}`, containers })
        await vault().delete('/tokens/deleted', keys.owner)
        await vault().delete('/tokens/renewed', keys.owner)
        vault().now++
        await create('renewed')
        await create(`new-${round}`)
      }
      /** The store, with writes made around each of these reads. */
      const busy: Store = {
        ...whole.store,
        [read]: async (...args: never[]) => {
          // Not for ever: where a term that all tokens share is the last of the index, each write gives the scan one entry more.
          if (round < 200) await write()
          const found = await (whole.store[read] as (...args: never[]) => Promise<unknown>)(...args)
          if (round < 20) await write()
          return found
        },
      }
      const found = await verifyTenant({ ...whole, store: busy }, tenant)
      assert.deepEqual(told(found), { ...nothing, wasWritten: round > 0 })
      const isWritten = read !== 'findMatchHolder' && read !== 'getTokens'
      if (isWritten) assert.ok(round > 0)
      assert.deepEqual(told(await verifyTenant(whole, tenant)), nothing)
    })

  test('a transient field that does not open is found, and repaired by removing it (C11.1)', async () => {
    const { keys, whole, tenant } = await verified()
    const number = '4242424242424242'
    const make = () => vault().create(keys.owner, { type: 'card', data: { number, cvc: '123' } })
    const [{ id }, other] = [await make(), await make()]
    const { engine, folder } = vault()
    const [place] = await engine.reach(folder.path, engine.transientBytes.read, id)
    const bytes = Buffer.from(place?.bytes as Uint8Array)
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    await engine.reach(folder.path, engine.transientBytes.write, bytes, place?.place ?? null)
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).status, 500)
    const dead: DeadField[] = []
    const verification = await verifyTenant(whole, tenant, async found => {
      dead.push(...(found.deadFields ?? []))
      await repairTenant(whole, tenant, found)
    })
    assert.deepEqual(
      dead.map(({ tokenId, field }) => [tokenId, field]),
      [[id, 'cvc']],
    )
    assert.deepEqual(verification.deadFields.ids, [id])
    assert.deepEqual(told(await verifyTenant(whole, tenant)), nothing)
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.owner)).body.data, { number })
    assert.equal((await vault().get(`/tokens/${other.id}`, keys.owner)).body.data.cvc, '123')
  })

  test('a transient field that is set anew between its verification and its repair stays (C11.1)', async () => {
    const { keys, whole, tenant } = await verified()
    const data = { number: '4242424242424242', cvc: '123' }
    const { id } = await vault().create(keys.owner, { type: 'card', data })
    const { engine, folder } = vault()
    const [place] = await engine.reach(folder.path, engine.transientBytes.read, id)
    const bytes = Buffer.from(place?.bytes as Uint8Array).fill(0)
    await engine.reach(folder.path, engine.transientBytes.write, bytes, place?.place ?? null)
    const verification = await verifyTenant(whole, tenant, async found => {
      if (found.deadFields?.length) {
        // Another repair was faster, and the token was changed since.
        await repairTenant(whole, tenant, found)
        assert.equal((await vault().patch(`/tokens/${id}`, keys.owner, { data: { cvc: '456' } })).status, 200)
      }
      await repairTenant(whole, tenant, found)
    })
    assert.deepEqual(verification.deadFields.ids, [id])
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).body.data.cvc, '456')
  })

  test('tokens that a data key made after the verification began has sealed are no difference (C14.4, C24)', async () => {
    const { keys, whole, tenant: before } = await verified()
    const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }
    await vault().create(keys.owner, card)
    assert.ok(await newDataKey(whole, before, someAct()))
    await vault().create(keys.owner, card)
    assert.deepEqual(told(await verifyTenant(whole, before)), nothing)
  })

  test('tokens that a rekey has not come to are counted, and those that a key left behind when it had sealed enough are not (C14.4)', async () => {
    const { keys, whole, tenant: first } = await verified()
    for (const data of ['a', 'b']) await vault().create(keys.owner, { type: 'token', data })
    assert.ok(await newDataKey(whole, first, someAct()))
    const { tenantNumber } = first
    const tenant = { tenantNumber, keys: await whole.keyring.readAgain(tenantNumber, first.keys.tenantId) }
    await vault().create(keys.owner, { type: 'token', data: 'c' })
    assert.deepEqual(told(await verifyTenant(whole, tenant)), { ...nothing, notRekeyed: 2 })
    assert.equal(await isRekeyUnfinished(whole, tenant), true)
    await resealTokens(whole, tenant)
    assert.deepEqual(told(await verifyTenant(whole, tenant)), nothing)
    assert.equal(await isRekeyUnfinished(whole, tenant), false)

    const counters = [{ name: sealsCounter(2), by: pace.dataKeySealsMax }]
    await whole.store.commit({ tenant: tenantNumber, guarded: [], effects: [], counters, log: null })
    assert.ok(await newDataKey(whole, tenant, someAct()))
    const latest = { tenantNumber, keys: await whole.keyring.readAgain(tenantNumber, first.keys.tenantId) }
    assert.deepEqual(told(await verifyTenant(whole, latest)), nothing)
    assert.equal(await isRekeyUnfinished(whole, latest), false)
  })

  test('the repair of a tenant leaves the transient fields of a token whose own row does not open (C11.1)', async () => {
    const { keys, whole, tenant } = await verified()
    const data = { number: '4242424242424242', cvc: '123' }
    const { id } = await vault().create(keys.owner, { type: 'card', data })
    const { engine, folder } = vault()
    const write = (createdBy: string) =>
      engine.reach(folder.path, 'UPDATE tokens SET created_by = ? WHERE token_id = ?', createdBy, id)
    const author = (await vault().store.getToken(tenant.tenantNumber, id))?.createdBy ?? ''
    await write('somebody')
    const verification = await verifyTenant(whole, tenant, found => repairTenant(whole, tenant, found))
    assert.deepEqual(told(verification), { ...nothing, unreadable: [id] })
    await write(author)
    assert.deepEqual((await vault().get(`/tokens/${id}`, keys.owner)).body.data, data)
  })

  for (const value of ['9223372036854775807', '9007199254740993', "'abc'", '-9223372036854775807 - 1'])
    test(`a counter that holds ${value} fails no list, and is repaired (C24, C32)`, async () => {
      const { keys, whole, tenant } = await verified()
      const { engine, folder } = vault()
      const create = () => vault().create(keys.owner, { type: 'token', data: 'x' })
      const listed = () => vault().get('/tokens', keys.owner)
      await create()
      // On PostgreSQL beside a row that holds a number: a counter is spread over several.
      const plant = `UPDATE counters SET value = ${value} WHERE name = 'type:token' AND tenant = ?`
      const spread = `INSERT INTO counters SELECT tenant, name, 99, 5, at FROM counters WHERE name = 'type:token' AND tenant = ?`
      try {
        await engine.reach(folder.path, plant, tenant.tenantNumber)
      } catch (error) {
        assert.ok(isRefusedByType(error))
        return
      }
      if (engine.name !== 'sqlite') await engine.reach(folder.path, spread, tenant.tenantNumber)
      assert.equal((await listed()).status, 200)
      assert.equal((await verifyTenant(whole, tenant)).wrongCounters, 1)
      await whole.store.mendNumbers(tenant.tenantNumber)
      await create()
      const verification = await verifyTenant(whole, tenant, found => repairTenant(whole, tenant, found))
      assert.deepEqual(told(verification), { ...nothing, wrongCounters: 1 })
      assert.deepEqual(told(await verifyTenant(whole, tenant)), nothing)
      assert.equal((await listed()).body.pagination.total_items, 2)
    })

  test('a tenant that has lost its whole index gets it back page by page (C24, C26)', async () => {
    const { keys, whole, tenant } = await verified()
    const values = Array.from({ length: 600 }, (_, index) => `value ${index}`)
    await vault().post('/tokenize', keys.owner, values)
    const { engine, folder } = vault()
    const terms = () =>
      engine.reach(
        folder.path,
        'SELECT * FROM terms WHERE tenant = ? ORDER BY term, created_at, token_id',
        tenant.tenantNumber,
      )
    const before = await terms()
    await engine.reach(folder.path, 'DELETE FROM terms WHERE tenant = ?', tenant.tenantNumber)
    let largest = 0
    const verification = await verifyTenant(whole, tenant, async found => {
      largest = Math.max(largest, new Set(found.missing?.map(({ tokenId }) => tokenId)).size)
      await repairTenant(whole, tenant, found)
    })
    assert.equal(verification.missing.ids.length, values.length)
    assert.ok(largest > 0 && largest < values.length, 'repaired before all of it was read')
    assert.deepEqual(await terms(), before)
    assert.deepEqual(told(await verifyTenant(whole, tenant)), nothing)
  })

  test('a token that is changed between its verification and its repair is left as the change made it (C24, C26)', async () => {
    const { keys, whole, tenant } = await verified()
    const { engine, folder } = vault()
    for (const [id, container] of Object.entries({ lacks: '/a/', exceeds: '/a/', model: '/b/' }))
      await vault().create(keys.owner, { id, type: 'token', data: 'x', containers: [container] })
    const termsOf = (id: string): string =>
      `SELECT term FROM terms WHERE tenant = ${tenant.tenantNumber} AND token_id = '${id}'`
    await engine.reach(
      folder.path,
      `INSERT INTO terms SELECT tenant, term, created_at, 'exceeds', expires_at, tag, signature FROM terms
         WHERE tenant = ? AND token_id = 'model' AND term NOT IN (${termsOf('exceeds')})`,
      tenant.tenantNumber,
    )
    await engine.reach(
      folder.path,
      `DELETE FROM terms WHERE tenant = ? AND token_id = 'lacks' AND term NOT IN (${termsOf('model')})`,
      tenant.tenantNumber,
    )
    const verification = await verifyTenant(whole, tenant, async found => {
      const affected = [...(found.missing ?? []), ...(found.extra ?? [])]
      for (const id of new Set(affected.map(({ tokenId }) => tokenId)))
        await vault().patch(`/tokens/${id}`, keys.owner, { containers: ['/b/'] })
      await repairTenant(whole, tenant, found)
    })
    assert.deepEqual([verification.missing.ids, verification.extra.ids], [['lacks'], ['exceeds']])
    assert.deepEqual(told(await verifyTenant(whole, tenant)), nothing)
  })

  test('what more than a page of tokens left behind is found and removed (C15, C24, C26)', async () => {
    const { keys, whole, tenant } = await verified({ deduplicateTokens: true })
    const values = Array.from({ length: 600 }, (_, index) => `value ${index}`)
    const ids = (await vault().post('/tokenize', keys.owner, values)).body
    const { engine, folder } = vault()
    await engine.reach(folder.path, 'DELETE FROM tokens WHERE tenant = ?', tenant.tenantNumber)
    const verification = await verifyTenant(whole, tenant, found => repairTenant(whole, tenant, found))
    assert.deepEqual(verification.matches.ids.toSorted(), ids.toSorted())
    assert.deepEqual(verification.extra.ids.toSorted(), ids.toSorted())
    assert.deepEqual(told(await verifyTenant(whole, tenant)), nothing)
  })
})

test('the tokens that something is wrong with are counted up to ten thousand (C24)', () => {
  const affected = new AffectedTokens()
  assert.ok(affected.isEmpty)
  for (let index = 0; index < 10_000; index++) affected.add(`token-${index}`)
  affected.add('token-7')
  assert.deepEqual([affected.ids.length, affected.areMore, affected.isEmpty], [10_000, false, false])
  affected.add('one more')
  assert.deepEqual([affected.ids.length, affected.areMore], [10_000, true])
})
