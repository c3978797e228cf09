import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type IndexEntry, type MatchRow, signatureOf } from '../../../src/store/rows.ts'
import {
  assertRows,
  bytes,
  insertion,
  matchOf,
  type OpenStore,
  StoreRig,
  tag,
  tokenRow,
  writeSet,
} from './rig.ts'

/** Going through everything that is stored, page by page. */
export const scanContract = (open: OpenStore): void => {
  describe('scans', () => {
    const rig = new StoreRig(open)
    const names = ['a', 'B', 'b', 'é', '\u{ff5e}', '\u{1f600}', '10', 'zz']
    const inByteOrder = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

    const filled = async (): Promise<number> => {
      const tenant = await rig.newTenant()
      await rig.write(
        insertion(
          tenant,
          names.map((id, i) => ({
            row: tokenRow(tenant, id, { createdAt: i % 3, expiresAt: i % 2 === 0 ? 1 : null }),
            terms: [bytes('shared'), bytes(`of ${i}`)],
          })),
        ),
      )
      await rig.write(
        writeSet(tenant, {
          guarded: names.map((tokenId, i) => ({
            kind: 'claimMatch',
            match: { term: bytes(`term ${i >> 1}`), tag: bytes(`tag ${i}`) },
            tokenId,
            insteadOf: null,
          })),
          counters: [
            { name: 'n', by: 3, at: 7 },
            { name: 'm', by: -1 },
          ],
        }),
      )
      return tenant
    }

    /** All pages of a scan, one after the other. */
    const all = async <T>(scan: (after: T | undefined, limit: number) => Promise<T[]>, limit: number) => {
      const found: T[] = []
      for (;;) {
        const page = await scan(found.at(-1), limit)
        assert.ok(page.length <= limit)
        found.push(...page)
        if (page.length < limit) return found
        assert.ok(found.length < 100, 'the scan comes to an end')
      }
    }

    for (const limit of [1, 3, 100])
      test(`a scan in pages of ${limit} returns every token, index entry and match of the tenant once (C24.10)`, async () => {
        const [tenant, other] = [await filled(), await filled()]
        const { store } = rig
        const ids: string[] = []
        for (let after: string | undefined; ; after = ids.at(-1)) {
          const page = await store.scanTokens(tenant, after, limit)
          ids.push(...page.map(({ id }) => id))
          if (page.length < limit) break
        }
        assert.deepEqual(ids, inByteOrder)
        assertRows((await store.scanTokens(tenant, 'a', 1))[0]?.tenant, tenant)

        const entries = await all<IndexEntry>((after, n) => store.scanTerms(tenant, after, n), limit)
        const text = ({ term, tokenId, createdAt, expiresAt, signature }: IndexEntry): string =>
          [Buffer.from(term), tokenId, createdAt, expiresAt, signature].join(' ')
        const expected = names.flatMap((tokenId, i) =>
          ['shared', `of ${i}`].map(term =>
            text({
              term: bytes(term),
              tag,
              tokenId,
              createdAt: i % 3,
              expiresAt: i % 2 === 0 ? 1 : null,
              signature: signatureOf([bytes('shared'), bytes(`of ${i}`)]),
            }),
          ),
        )
        assert.deepEqual(entries.map(text).sort(), expected.sort())
        for (const entry of entries) assertRows(entry.tag, tag)

        const matches = await all<MatchRow>((after, n) => store.scanMatches(tenant, after, n), limit)
        assert.deepEqual(matches.map(({ tokenId }) => tokenId).sort(), names.toSorted())
        assertRows((await store.scanTerms(await rig.newTenant(), undefined, 9)).length, 0)
        assert.equal((await store.scanTokens(other, undefined, 100)).length, names.length)
      })

    test('all counters of a tenant are listed, and none of another (C24.10)', async () => {
      const tenant = await filled()
      await filled()
      const counters = await rig.store.listCounters(tenant)
      assert.deepEqual(
        counters.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
        [
          { name: 'm', value: -1, at: null },
          { name: 'n', value: 3, at: 7 },
        ],
      )
    })

    test('entries that are missing or stored differently are told apart from those that are stored (C24.10)', async () => {
      const tenant = await filled()
      const signature = signatureOf([bytes('shared'), bytes('of 0')])
      const entry: IndexEntry = {
        term: bytes('of 0'),
        tag,
        tokenId: 'a',
        createdAt: 0,
        expiresAt: 1,
        signature,
      }
      const unequal: IndexEntry[] = [
        { ...entry, term: bytes('of 1') },
        { ...entry, tag: null },
        { ...entry, tag: bytes('other') },
        { ...entry, tokenId: 'b' },
        { ...entry, createdAt: 1 },
        { ...entry, expiresAt: null },
        { ...entry, expiresAt: 2 },
        { ...entry, signature: signature + 1 },
      ]
      assert.deepEqual(await rig.store.findAbsentTerms(tenant, [entry, entry]), [])
      assert.deepEqual(await rig.store.findAbsentTerms(tenant, []), [])
      assertRows(await rig.store.findAbsentTerms(tenant, [...unequal, entry]), unequal)
      const plain = { ...entry, term: bytes('plain'), tag: null, expiresAt: null }
      await rig.write(writeSet(tenant, { effects: [{ kind: 'addTerms', of: plain, terms: [plain] }] }))
      assert.deepEqual(await rig.store.findAbsentTerms(tenant, [plain]), [])
    })

    test('a set that expects a token to be unchanged, or absent, is dropped otherwise (C18.8)', async () => {
      const tenant = await filled()
      const attempt = (id: string, sealed: Uint8Array | null) =>
        rig.store.commit(
          writeSet(tenant, {
            guarded: [{ kind: 'expectToken', id, sealed }],
            counters: [{ name: 'done', by: 1 }],
          }),
        )
      const changed = { committed: false, conflict: 'tokenChanged' }
      assert.deepEqual(await attempt('a', bytes('sealed a')), { committed: true })
      assert.deepEqual(await attempt('nobody', null), { committed: true })
      assert.deepEqual(await attempt('a', bytes('sealed otherwise')), changed)
      assert.deepEqual(await attempt('a', null), changed)
      assert.deepEqual(await attempt('nobody', bytes('sealed nobody')), changed)
      assert.equal((await rig.store.readCounters(tenant, ['done']))[0]?.value, 2)
      assertRows((await rig.store.getToken(tenant, 'a'))?.version, 1)
      assert.equal(await rig.store.findMatchHolder(tenant, matchOf(bytes('none'))), undefined)
    })
  })
}
