import assert from 'node:assert/strict'
import { type Cipheriv, createCipheriv, createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import type { Store } from '../../src/store/port.ts'
import type { KeyRow } from '../../src/store/rows.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { devApplications, TestVault } from '../rig/test-vault.ts'
import { bytes, isUnavailable, pendingAfter, tokenRow, transientRow, writeSet } from './contract/rig.ts'
import { openedSqlite } from './opened-sqlite.ts'
import { sealedBytes, survivors } from './survivors.ts'

/** Noise that is the same in every run, so that a failure can be reproduced. */
class Noise {
  readonly #stream: Cipheriv

  constructor(seed: string) {
    this.#stream = createCipheriv('aes-256-ctr', createHash('sha256').update(seed).digest(), Buffer.alloc(16))
  }

  bytes(length: number): Buffer {
    return this.#stream.update(Buffer.alloc(length))
  }

  below(limit: number): number {
    return this.bytes(4).readUInt32LE(0) % limit
  }
}

type Stored = { tenant: number; id: string; at: number; sealed: Buffer; isGone: boolean }

type Make = (noise: Noise) => { id: string; sealed: Buffer }

/** With this seed, a plain table of transient fields was seen to keep some of them after deletion under secure_delete. */
const seed = 'two'

/** Sizes of sealed values: those of card codes, or anything up to several pages. */
const shapes: Record<string, Make> = {
  'card codes under short and long ids': noise => ({
    id: noise.bytes(6 + noise.below(180)).toString('hex'),
    sealed: noise.bytes(38 + noise.below(2)),
  }),
  'values of all lengths': noise => ({
    id: noise.bytes(8).toString('hex'),
    sealed: noise.bytes(noise.below(200) === 0 ? 3_000 + noise.below(9_000) : 16 + noise.below(320)),
  }),
}

describe('shredding (sqlite)', () => {
  for (const [shape, make] of Object.entries(shapes))
    test(`no byte of deleted ${shape} is left in the folder (C11.2, C11.3)`, async () => {
      const folder = temporaryFolder()
      const store = openSqlite({ path: join(folder.path, 'vault.db') })
      try {
        await liveThrough(store, folder.path, make, new Noise(seed))
      } finally {
        await store.close()
        folder.remove()
      }
    })

  /** Rounds of creates, changes, early deletes and purges; after each shred the folder is searched. */
  const liveThrough = async (store: Store, folder: string, make: Make, noise: Noise): Promise<void> => {
    const tenants = [await newTenant(store, 'a'), await newTenant(store, 'b')]
    const all: Stored[] = []
    const put = (stored: Stored) => ({
      kind: 'putTransient' as const,
      row: transientRow(stored.tenant, stored.id, { expiresAt: stored.at, sealed: stored.sealed }),
    })
    for (let now = 0; now <= 60; now += 10) {
      const work: Promise<unknown>[] = []
      for (let i = 0; i < (now === 0 ? 3_000 : 200); i++) {
        const tenant = tenants[noise.below(2)] as number
        const stored = { ...make(noise), tenant, at: now + 1 + noise.below(60), isGone: false }
        all.push(stored)
        const row = tokenRow(tenant, stored.id, { sealed: noise.bytes(60 + noise.below(400)) })
        work.push(
          store.commit(writeSet(tenant, { guarded: [{ kind: 'insertToken', row }], effects: [put(stored)] })),
        )
        // Small transactions in between: each rewrites pages that others left.
        if (noise.below(20) === 0) await Promise.all(work.splice(0))
      }
      for (const stored of all.filter(({ isGone, at }) => !isGone && at > now)) {
        const fate = noise.below(30)
        if (fate > 1) continue
        stored.isGone = true
        if (fate === 0) {
          const change = { kind: 'deleteToken' as const, id: stored.id, ifVersion: 1 }
          work.push(store.commit(writeSet(stored.tenant, { guarded: [change] })))
        } else {
          const anew = { ...stored, isGone: false, at: now + 1 + noise.below(60), sealed: make(noise).sealed }
          all.push(anew)
          work.push(store.commit(writeSet(stored.tenant, { effects: [put(anew)] })))
        }
        if (noise.below(10) === 0) await Promise.all(work.splice(0))
      }
      await Promise.all(work)
      while ((await store.purgeTransients(pendingAfter(now), 70)) === 70);
      await store.shred()
      for (const stored of all) stored.isGone ||= stored.at <= now
      const left = new Set(
        survivors(
          folder,
          all.map(({ sealed }) => sealed),
        ),
      )
      const wrong = all.filter(({ isGone }, position) => isGone === left.has(position))
      assert.deepEqual(wrong, [], `at ${now}, of ${all.length}`)
    }
  }

  test('deleted wrapped keys of a tenant leave no byte in the folder (C31.7)', async () => {
    const folder = temporaryFolder()
    const path = join(folder.path, 'vault.db')
    const store = openSqlite({ path })
    const noise = new Noise(seed)
    const tenants: { tenant: number; wrapped: Buffer[]; isGone: boolean }[] = []
    for (let i = 0; i < 300; i++) {
      const wrapped = [noise.bytes(65), noise.bytes(65), noise.bytes(65)]
      const keys = ['data', 'fingerprint', 'index'].map((purpose, at) => ({
        purpose,
        version: 1,
        wrapped: wrapped[at] as Buffer,
      }))
      const made = { id: `tenant ${i}`, sealed: noise.bytes(300), keys, applications: [], apiKeys: [] }
      tenants.push({ tenant: await store.createTenant(made, madeTenantLog()), wrapped, isGone: false })
    }
    for (let version = 2; version < 6; version++)
      for (const { tenant, wrapped } of tenants) {
        if (noise.below(2) === 0) continue
        const row = { purpose: 'data', version, wrapped: noise.bytes(65) }
        wrapped.push(row.wrapped)
        await store.commit(writeSet(tenant, { guarded: [{ kind: 'insertTenantKey', row }] }))
      }
    // Not through the store: whoever deletes the rows, the keys are wiped with them.
    const outsider = new DatabaseSync(path, { timeout: 5_000 })
    for (const gone of tenants.filter(() => noise.below(10) < 7)) {
      outsider.prepare('DELETE FROM tenant_keys WHERE tenant = ?').run(gone.tenant)
      gone.isGone = true
    }
    outsider.close()
    await store.shred()
    const left = new Set(
      survivors(
        folder.path,
        tenants.flatMap(({ wrapped }) => wrapped),
      ),
    )
    const wrong = tenants
      .flatMap(({ wrapped, isGone }) => wrapped.map(() => isGone))
      .filter((isGone, position) => isGone === left.has(position))
    assert.deepEqual(wrong, [])
    for (const { tenant, wrapped, isGone } of tenants)
      assert.equal((await store.listTenantKeys(tenant)).length, isGone ? 0 : wrapped.length)
    await store.close()
    folder.remove()
  })

  test('wrapped keys leave no byte in the folder once they are wrapped anew (C14.4)', async () => {
    const folder = temporaryFolder()
    const store = openSqlite({ path: join(folder.path, 'vault.db') })
    const noise = new Noise(seed)
    const keys = ['data', 'fingerprint', 'index'].map(purpose => ({
      purpose,
      version: 1,
      wrapped: noise.bytes(65),
    }))
    const owners = [
      'vault' as const,
      ...(await Promise.all(['a', 'b', 'c'].map(id => newTenant(store, id, keys)))),
    ]
    await store.ensureVaultKeys(keys)
    const replaced = []
    for (const owner of owners)
      for (const key of keys) {
        const [again, last] = [noise.bytes(65), noise.bytes(owner === 'vault' ? 65 : 90)]
        assert.ok(await store.replaceKey(owner, key, again))
        assert.ok(await store.replaceKey(owner, { ...key, wrapped: again }, last))
        replaced.push(again)
      }
    await store.shred()
    assert.deepEqual(survivors(folder.path, [...keys.map(({ wrapped }) => wrapped), ...replaced]), [])
    await store.close()
    folder.remove()
  })

  test('a wiped slot is filled again, and only with bytes of its own size (C11.3)', async () => {
    const { path, store, tenant, create, close } = await openedSqlite({ writing: 'inline' })
    await create('card')
    const slotsAfter = async (text: string): Promise<unknown[]> => {
      const row = transientRow(tenant, 'card', { sealed: bytes(text) })
      await store.commit(writeSet(tenant, { effects: [{ kind: 'putTransient', row }] }))
      await store.purgeTransients(pendingAfter(row.expiresAt), 9)
      const database = new DatabaseSync(path, { readOnly: true })
      const slots = database.prepare('SELECT size, length(bytes) AS length FROM slots').all()
      database.close()
      return slots.map(({ size, length }) => [size, length])
    }
    assert.deepEqual(await slotsAfter('0123456789'), [[10, 10]])
    assert.deepEqual(await slotsAfter('9876543210'), [[10, 10]])
    assert.deepEqual(await slotsAfter('01234'), [
      [10, 10],
      [5, 5],
    ])
    await close()
  })

  test('the search finds a short piece of a secret (C11.3)', () => {
    const folder = temporaryFolder()
    const secret = new Noise('a secret').bytes(64)
    writeFileSync(join(folder.path, 'a'), Buffer.concat([Buffer.alloc(333), secret.subarray(9, 24)]))
    assert.deepEqual(survivors(folder.path, [new Noise('another').bytes(64), secret]), [1])
    folder.remove()
  })

  test('shredding reports that it failed while another process reads, and succeeds afterwards (C11.3)', async () => {
    const folder = temporaryFolder()
    const path = join(folder.path, 'vault.db')
    const store = openSqlite({ path, writing: 'inline' })
    const tenant = await newTenant(store, 'a')
    const { sealed } = transientRow(tenant, 'card', { sealed: new Noise('held').bytes(39) })
    const put = { kind: 'putTransient' as const, row: transientRow(tenant, 'card', { expiresAt: 1, sealed }) }
    await store.commit(writeSet(tenant, { effects: [put] }))
    const reader = new DatabaseSync(path, { readOnly: true })
    reader.exec('BEGIN; SELECT * FROM tenants')
    assert.equal(await store.purgeTransients(pendingAfter(1), 10), 1)
    await assert.rejects(store.shred(), isUnavailable)
    assert.deepEqual(survivors(folder.path, [sealed]), [0])
    reader.exec('COMMIT')
    await store.shred()
    assert.deepEqual(survivors(folder.path, [sealed]), [])
    reader.close()
    await store.close()
    folder.remove()
  })
})

const newTenant = (store: Store, id: string, keys: readonly KeyRow[] = []): Promise<number> =>
  store.createTenant({ id, sealed: bytes('sealed'), keys, applications: [], apiKeys: [] }, madeTenantLog())

describe('the code of a card (sqlite)', () => {
  let vault: TestVault
  let keys: Record<'general' | 'private', string>
  before(async () => {
    vault = await TestVault.start()
    keys = (await vault.tenant(devApplications)).keys
  })
  after(() => vault.stop())

  const card = (cvc: string) => ({ type: 'card', data: { number: '4242424242424242', cvc } })
  const sealedCodes = (): Uint8Array[] =>
    sealedBytes(vault.folder.path, 'SELECT bytes FROM transients JOIN slots USING (slot) ORDER BY slot')
  const hour = 3_600_000

  test('it is shredded after its hour, or earlier if its token is deleted or its value replaced (C11.1, C11.2, C11.3)', async () => {
    const made = []
    for (const cvc of ['123', '4567', '891', '234'])
      made.push(await vault.post('/tokens', keys.general, card(cvc)))
    const [kept, patched, deleted] = made.map(({ body }) => body.id as string)
    const first = sealedCodes()
    assert.equal(first.length, 4)

    vault.now += hour / 2
    await vault.patch(`/tokens/${patched}`, keys.general, { data: { cvc: '765' } })
    await vault.delete(`/tokens/${deleted}`, keys.private)
    await vault.service.jobTimer.runAll()
    assert.deepEqual(survivors(vault.folder.path, first), [0, 3])
    const second = sealedCodes().filter(code => !first.some(old => Buffer.compare(old, code) === 0))
    assert.equal(second.length, 1)

    vault.now += hour / 2
    await vault.service.jobTimer.runAll()
    assert.deepEqual(survivors(vault.folder.path, [...first, ...second]), [4])
    assert.equal((await vault.get(`/tokens/${kept}`, keys.private)).body.data.cvc, undefined)
    assert.equal((await vault.get(`/tokens/${patched}`, keys.private)).body.data.cvc, '765')

    vault.now += hour / 2
    await vault.service.jobTimer.runAll()
    assert.deepEqual(survivors(vault.folder.path, [...first, ...second]), [])
  })
})
