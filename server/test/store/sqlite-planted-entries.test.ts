import assert from 'node:assert/strict'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { test } from 'node:test'
import { TamperedError } from '../../src/domain/tampered-error.ts'
import { bytes } from './contract/rig.ts'
import { openedSqlite } from './opened-sqlite.ts'

type Entry = { readonly term: Uint8Array; readonly at: SQLInputValue; readonly id: SQLInputValue }

/** A store with index entries that it did not write. */
const planted = async (entries: readonly Entry[]) => {
  const opened = await openedSqlite()
  const outsider = new DatabaseSync(opened.path, { timeout: 5_000 })
  const plant = outsider.prepare(
    'INSERT INTO terms (tenant, term, created_at, token_id, signature) VALUES (?,?,?,?,0)',
  )
  for (const { term, at, id } of entries) plant.run(opened.tenant, term, at, id)
  outsider.close()
  return opened
}

test('a count that planted entries would keep from ending is refused (C24.10)', {
  timeout: 20_000,
}, async () => {
  const term = bytes('term')
  // An id of bytes is read as an empty one, after which all of them come. These are more than a slice holds.
  const entries = Array.from({ length: 4_100 }, (_, n) => ({ term, at: 1_000, id: Uint8Array.of(n >> 8, n) }))
  const { store, tenant, close } = await planted(entries)
  const query = { tenant, now: 0, groups: [[term]], without: [bytes('another')] }
  await assert.rejects(store.countTokens(query), TamperedError)
  await close()
})

test('a scan gets past an index entry with a time that cannot be read (C24.10)', async () => {
  const { store, tenant, close } = await planted([
    { term: bytes('a'), at: 1n << 60n, id: 'planted' },
    { term: bytes('b'), at: 1_000, id: 'own' },
  ])
  const [first] = await store.scanTerms(tenant, undefined, 1)
  assert.equal(first?.tokenId, 'planted')
  const rest = await store.scanTerms(tenant, first, 1)
  assert.deepEqual(
    rest.map(({ tokenId }) => tokenId),
    ['own'],
  )
  await close()
})
