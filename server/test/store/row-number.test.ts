import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { newTokenId } from '../../src/crypto/uuid.ts'
import { rowNumberFor, rowNumberOf } from '../../src/store/sqlite/row-number.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { bytes, insertion, tokenRow } from './contract/rig.ts'

const now = Date.UTC(2026, 5, 1)
const year = 366 * 86_400_000

describe('row numbers', () => {
  test('ids made by the vault get row numbers in the order of the ids (C16.1)', () => {
    const ids = Array.from({ length: 20_000 }, (_, n) => newTokenId(now + Math.floor(n / 1_000)))
    const numbers = ids.map(id => rowNumberOf(id) ?? Number.NaN)
    for (const [place, number] of numbers.entries())
      assert.ok(Number.isSafeInteger(number) && number > (numbers[place - 1] ?? 0))
  })

  test('other ids get none, nor do ids from the far past or future (C16.1)', () => {
    const id = newTokenId(now)
    for (const other of ['', 'mine', id.slice(1), `${id}0`, id.toUpperCase(), id.replace(/7/g, '4')])
      assert.equal(rowNumberOf(other), null, other)
    for (const time of [0, Date.UTC(2019), Date.UTC(2100)]) assert.equal(rowNumberOf(newTokenId(time)), null)
    assert.equal(rowNumberOf(id.replace(/.(?=.{18}$)/, 'g')), null)
    assert.notEqual(rowNumberOf(newTokenId(Date.UTC(2089))), null)
  })

  test('an id whose time differs from that of its token gives no row number (C16.1)', () => {
    const id = newTokenId(now)
    assert.equal(rowNumberFor({ id, createdAt: now }), rowNumberOf(id))
    assert.equal(rowNumberFor({ id, createdAt: now - year }), null)
    assert.equal(rowNumberFor({ id, createdAt: now + year }), null)
  })
})

describe('rows are stored under their numbers', () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'vault.db')
  const store = openSqlite({ path, writing: 'inline' })
  let tenant = 0
  before(async () => {
    tenant = await store.createTenant(
      {
        id: 'a',
        sealed: bytes('a'),
        keys: [],
        applications: [],
        apiKeys: [],
      },
      madeTenantLog(),
    )
  })
  after(async () => {
    await store.close()
    folder.remove()
  })

  test('a token whose id the vault made is one look-up away; rows without a number come after the last (C24.10)', async () => {
    const ids = Array.from({ length: 50 }, () => newTokenId(now))
    const named = [...ids, 'mine', 'yours']
    const rows = named.map(id => tokenRow(tenant, id, { createdAt: now }))
    await store.commit(
      insertion(
        tenant,
        rows.map(row => ({ row, terms: [] })),
      ),
    )
    const database = new DatabaseSync(path, { readOnly: true })
    const stored = database.prepare('SELECT rowid AS number, token_id AS id FROM tokens ORDER BY rowid').all()
    database.close()
    assert.deepEqual(
      stored.map(({ id }) => id),
      named,
    )
    assert.deepEqual(
      stored.slice(0, ids.length).map(({ number }) => number),
      ids.map(rowNumberOf),
    )
  })
})
