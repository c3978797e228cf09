import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { storedRows } from '../rig/stored-rows.ts'
import { owner, TestVault } from '../rig/test-vault.ts'
import { filesOf } from '../rig/traces.ts'

const hour = 3_600_000
const year = 365 * 24 * hour
const card = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }
const { cvc: _cvc, ...withoutCvc } = card

onEveryEngine('transient fields', vaultOfSuite => {
  let vault: TestVault
  let key: string
  before(async () => {
    vault = vaultOfSuite()
    key = (await vault.tenant({ owner })).keys.owner
  })

  const create = async (data: object = card): Promise<string> =>
    (await vault.create(key, { type: 'card', data })).id
  const sweep = (): Promise<void> => vault.service.jobTimer.runAll()
  const rowsOf = async (id: string) =>
    (await storedRows(vault, 'transients')).filter(row => row.token_id === id)
  const patch = async (id: string, data: object): Promise<void> => {
    assert.equal((await vault.patch(`/tokens/${id}`, key, { data })).status, 200)
  }

  /** Checks the data on every path that shows it. */
  const assertData = async (id: string, expected: object): Promise<void> => {
    assert.deepEqual((await vault.get(`/tokens/${id}`, key)).body.data, expected)
    const listed = await vault.get(`/tokens?id=${id}`, key)
    assert.deepEqual(listed.body.data[0].data, expected)
    const pages = await vault.get('/tokens?size=100', key)
    assert.deepEqual(pages.body.data.find((token: { id: string }) => token.id === id).data, expected)
  }

  test('a cvc is shown for an hour, and from that instant on it is not (C11.1, §2.2.7, §3.5)', async () => {
    const id = await create()
    vault.now += hour - 1
    await assertData(id, card)
    vault.now += 1
    await assertData(id, withoutCvc)
    assert.equal((await rowsOf(id)).length, 1, 'invisible before it is purged')
  })

  test('a patch after the hour does not bring the cvc back, swept or not (C11.1, C18.4)', async () => {
    const [early, late] = [await create(), await create()]
    vault.now += hour
    await patch(early, { expiration_month: 1 })
    await assertData(early, { ...withoutCvc, expiration_month: 1 })
    await sweep()
    await patch(late, { expiration_month: 1 })
    await assertData(late, { ...withoutCvc, expiration_month: 1 })
  })

  test('a patch of another field leaves the hour as it is, and a new cvc starts its own (C11.1, C11.5)', async () => {
    const [kept, renewed] = [await create(), await create()]
    vault.now += hour / 2
    await patch(kept, { expiration_month: 1 })
    await patch(renewed, { cvc: '4567' })
    vault.now += hour / 2 - 1
    await assertData(kept, { ...card, expiration_month: 1 })
    vault.now += 1
    await sweep()
    await assertData(kept, { ...withoutCvc, expiration_month: 1 })
    assert.deepEqual(await rowsOf(kept), [])
    await assertData(renewed, { ...card, cvc: '4567' })
    vault.now += hour / 2 - 1
    await assertData(renewed, { ...card, cvc: '4567' })
    vault.now += 1
    await assertData(renewed, withoutCvc)
    await sweep()
    assert.deepEqual(await rowsOf(renewed), [])
  })

  test('a cvc patched away is gone at once, and one can be added later (C11.1, C18.4)', async () => {
    const [id, later] = [await create(), await create(withoutCvc)]
    await patch(id, { cvc: null })
    await assertData(id, withoutCvc)
    assert.deepEqual(await rowsOf(id), [])
    vault.now += 5 * hour
    await patch(later, { cvc: '999' })
    vault.now += hour - 1
    await sweep()
    await assertData(later, { ...withoutCvc, cvc: '999' })
    vault.now += 1
    await assertData(later, withoutCvc)
  })

  test('the next sweep removes the row of the cvc and changes nothing else of the token (C11.2, C11.4)', async () => {
    const id = await create()
    await patch(id, { expiration_month: 3 })
    const row = async () => (await storedRows(vault, 'tokens')).find(({ token_id }) => token_id === id)
    const before = { row: await row(), view: (await vault.get(`/tokens/${id}`, key)).body }
    vault.now += hour
    assert.equal((await rowsOf(id)).length, 1)
    await sweep()
    assert.deepEqual(await rowsOf(id), [])
    assert.deepEqual(await row(), before.row)
    const { data, ...after } = (await vault.get(`/tokens/${id}`, key)).body
    const { data: _data, ...unchanged } = before.view
    assert.deepEqual(after, unchanged)
    assert.deepEqual(data, { ...withoutCvc, expiration_month: 3 })
    assert.ok(pace.sweepIntervalMs * 2 < 300_000, 'sweeps come often enough for five minutes')
  })

  test('a cvc stored while the clock was ahead is gone once the clock is right (C11.1, C11.2)', async () => {
    vault.now += year
    const ids = await Promise.all([create(), create(), create(), create()])
    const [read, unread, patched, renewed] = ids as [string, string, string, string]
    await assertData(read, card)
    vault.now -= year
    for (const id of ids) await assertData(id, withoutCvc)
    assert.equal((await rowsOf(read)).length, 1, 'invisible before it is purged')
    await patch(patched, { expiration_month: 1 })
    await patch(renewed, { cvc: '4567' })
    await sweep()
    for (const id of [read, unread, patched]) assert.deepEqual(await rowsOf(id), [])
    await assertData(unread, withoutCvc)
    await assertData(patched, { ...withoutCvc, expiration_month: 1 })
    vault.now += hour - 1
    await sweep()
    await assertData(renewed, { ...card, cvc: '4567' })
    vault.now += 1
    await assertData(renewed, withoutCvc)
  })

  test('a clock that is behind by no more than the allowed skew takes no cvc away (C11.1, C11.2)', async () => {
    const id = await create()
    vault.now -= pace.clockSkewMs
    await sweep()
    await assertData(id, card)
    vault.now -= 1
    await assertData(id, withoutCvc)
    await sweep()
    assert.deepEqual(await rowsOf(id), [])
    vault.now += 1 + pace.clockSkewMs
  })

  test('deleting a token deletes its cvc (C11.2)', async () => {
    const id = await create()
    assert.equal((await rowsOf(id)).length, 1)
    await vault.delete(`/tokens/${id}`, key)
    assert.deepEqual(await rowsOf(id), [])
  })
})

/** Without the header: format and key version are in every sealed value. */
const ciphertextOf = (sealed: Uint8Array): Buffer => Buffer.from(sealed.subarray(5))

test('after the sweep, no byte of the ciphertext of a cvc is left in the data folder (C11.3)', async () => {
  const vault = await TestVault.start()
  try {
    const { keys, tenantId } = await vault.tenant({ owner })
    const key = keys.owner
    const tenant = await vault.tenantNumber(tenantId)
    const ids: string[] = []
    const ciphertexts = new Map<string, Buffer>()
    /** Remembers every transient field stored now, including values that change later. */
    const remember = async (): Promise<void> => {
      for (const { sealed } of (await vault.store.getTokens(tenant, ids)).transients)
        ciphertexts.set(Buffer.from(sealed).toString('hex'), ciphertextOf(sealed))
    }
    for (let round = 0; round < 4; round++) {
      const definitions = Array.from({ length: 100 }, (_, index) => ({
        type: 'card',
        data: { ...card, cvc: String(1_000 + round * 100 + index) },
      }))
      const made = await vault.post('/tokenize', key, definitions)
      ids.push(...made.body.map((token: { id: string }) => token.id))
      await remember()
      // Changed, patched away and deleted among others that stay, which leaves gaps all over the pages.
      for (const [index, id] of ids.entries()) {
        if (index % 7 === round) await vault.patch(`/tokens/${id}`, key, { data: { cvc: '123' } })
        if (index % 11 === round) await vault.patch(`/tokens/${id}`, key, { data: { cvc: null } })
        if (index % 13 === round) await vault.delete(`/tokens/${id}`, key)
      }
      await remember()
    }
    assert.ok(ciphertexts.size > 400)
    const found = (): number => {
      const bytes = Buffer.concat([...filesOf(vault.folder.path).values()])
      return [...ciphertexts.values()].filter(text => bytes.includes(text)).length
    }
    assert.ok(found() > 300, 'the search finds what is there')
    vault.now += hour
    await vault.service.jobTimer.runAll()
    assert.equal(found(), 0)
    assert.deepEqual(await storedRows(vault, 'transients'), [])
  } finally {
    await vault.stop()
  }
})

test('after the sweep, no byte is left of the cvc of a token that was deleted within the hour (C11.3)', async () => {
  const vault = await TestVault.start()
  try {
    const { keys, tenantId } = await vault.tenant({ owner })
    const { id } = await vault.create(keys.owner, { type: 'card', data: card })
    const stored = await vault.store.getTokens(await vault.tenantNumber(tenantId), [id])
    const [ciphertext] = stored.transients.map(({ sealed }) => ciphertextOf(sealed))
    assert.ok(ciphertext)
    const isLeft = (): boolean => Buffer.concat([...filesOf(vault.folder.path).values()]).includes(ciphertext)
    assert.equal((await vault.delete(`/tokens/${id}`, keys.owner)).status, 204)
    assert.ok(isLeft(), 'in the log')
    await vault.service.jobTimer.runAll()
    assert.ok(!isLeft())
  } finally {
    await vault.stop()
  }
})
