import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { TokenBranch } from '../../../src/store/port.ts'
import type { TokenRow } from '../../../src/store/rows.ts'
import {
  assertRows,
  bytes,
  insertion,
  matchOf,
  type OpenStore,
  StoreRig,
  terms,
  tokenRow,
  writeSet,
} from './rig.ts'

const names = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)
const everything = { offset: 0, limit: 1_000 }

/** How tokens are found again. */
export const queryContract = (open: OpenStore): void => {
  describe('lists and counts', () => {
    const rig = new StoreRig(open)
    const [red, blue, round, square, rare] = ['red', 'blue', 'round', 'square', 'rare'].map(bytes) as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ]

    /** Six tokens: b and c of one moment, e expired at 5,000, f going at 8,000. */
    const shelf = async (): Promise<number> => {
      const tenant = await rig.newTenant()
      const token = (
        id: string,
        createdAt: number,
        terms: Uint8Array[],
        expiresAt: number | null = null,
      ) => ({
        row: tokenRow(tenant, id, { createdAt, expiresAt }),
        terms,
      })
      await rig.write(
        insertion(tenant, [
          token('a', 100, [red, round]),
          token('c', 200, [red, square]),
          token('b', 200, [blue, round]),
          token('d', 300, [red, blue, round, square]),
          token('e', 400, [red, blue, round, rare], 5_000),
          token('f', 500, [blue, square], 8_000),
        ]),
      )
      return tenant
    }

    const cases: { name: string; query: TokenBranch; now?: number; found: string }[] = [
      { name: 'C24.4 one term: newest first', query: { groups: [[red]] }, found: 'dca' },
      { name: 'C24.6 one group is an OR, ties by id', query: { groups: [[red, blue]] }, found: 'fdbca' },
      {
        name: 'C24.5 a token that two arms of an OR share is there once',
        query: { groups: [[round, square, red, blue]] },
        found: 'fdbca',
      },
      { name: 'C24.6 a term given twice changes nothing', query: { groups: [[red, red]] }, found: 'dca' },
      { name: 'C24.7 groups are an AND', query: { groups: [[red], [square]] }, found: 'dc' },
      {
        name: 'C24.7 an AND of ORs',
        query: {
          groups: [
            [red, blue],
            [round, rare],
          ],
        },
        found: 'dba',
      },
      { name: 'C24.7 an AND of four', query: { groups: [[red], [blue], [round], [square]] }, found: 'd' },
      { name: 'C24.7 an AND that nothing meets', query: { groups: [[red], [rare]] }, found: '' },
      { name: 'C24.6 a term that nothing has', query: { groups: [[bytes('none')]] }, found: '' },
      { name: 'C24.5 a group without terms is met by nothing', query: { groups: [[]] }, found: '' },
      { name: 'C24.5 nor is it beside another', query: { groups: [[red], []] }, found: '' },
      { name: 'C24.5 nor with ids', query: { groups: [[]], ids: ['a'] }, found: '' },
      { name: '§4.3.6 ids alone', query: { groups: [], ids: ['a', 'f', 'b', 'none'] }, found: 'fba' },
      {
        name: '§4.3.6 an id given twice is there once',
        query: { groups: [], ids: ['a', 'a'] },
        found: 'a',
      },
      { name: '§4.3.6 no ids, no tokens', query: { groups: [], ids: [] }, found: '' },
      { name: 'C24.7 ids and a group', query: { groups: [[red]], ids: ['f', 'a', 'c'] }, found: 'ca' },
      {
        name: 'C24.7 ids and two groups',
        query: { groups: [[red, blue], [square]], ids: ['a', 'c', 'd', 'f'] },
        found: 'fdc',
      },
      { name: 'C17.4 expired tokens are left out', query: { groups: [[rare]] }, found: '' },
      { name: 'C17.4 expired tokens are left out of ids', query: { groups: [], ids: ['e'] }, found: '' },
      { name: 'C17.4 up to their last millisecond', query: { groups: [[rare]] }, now: 4_999, found: 'e' },
      { name: 'C17.4 and not from their instant on', query: { groups: [[rare]] }, now: 5_000, found: '' },
      { name: 'C17.4 also by id', query: { groups: [], ids: ['e', 'f'] }, now: 4_999, found: 'fe' },
    ]

    for (const { name, query, now = 6_000, found } of cases)
      test(name, async () => {
        const asked = { ...query, tenant: await shelf(), now }
        const listed = await rig.store.listTokens(asked, everything)
        assert.equal(names(listed).join(''), found)
        assert.equal(await rig.store.countTokens(asked), found.length)
        for (let offset = 0; offset <= found.length; offset++)
          assert.equal(
            names(await rig.store.listTokens(asked, { offset, limit: 2 })).join(''),
            found.slice(offset, offset + 2),
          )
      })

    test('C24.3 whole rows come back, and a page past the end or of no length is empty', async () => {
      const tenant = await rig.newTenant()
      const row = tokenRow(tenant, 'whole', { modifiedAt: 1, modifiedBy: 'm', expiresAt: 9_000 })
      await rig.write(insertion(tenant, [{ row, terms: [red] }]))
      const query = { tenant, groups: [[red]], now: 0 }
      assertRows(await rig.store.listTokens(query, { offset: 0, limit: 1 }), [row])
      assertRows(await rig.store.listTokens(query, { offset: 1, limit: 10 }), [])
      assertRows(await rig.store.listTokens(query, { offset: 0, limit: 0 }), [])
    })

    test('C24.4 C24.10 lists and counts agree with a model that goes through everything', async () => {
      await fc.assert(
        fc.asyncProperty(
          shelves,
          fc.array(queries, { minLength: 1, maxLength: 12 }),
          async (shelf, asked) => {
            const tenant = await rig.newTenant()
            const tokens = shelf.map(({ id, ...token }) => ({
              row: tokenRow(tenant, id, { createdAt: token.createdAt, expiresAt: token.expiresAt }),
              ...token,
            }))
            await rig.write(
              insertion(
                tenant,
                tokens.map(({ row, terms }) => ({ row, terms: terms.map(bytes) })),
              ),
            )
            await rig.write(
              removal(
                tenant,
                tokens.filter(token => token.isRemoved),
              ),
            )
            const kept = tokens.filter(token => !token.isRemoved)
            for (const { groups, ids, now, page } of asked) {
              const query = {
                tenant,
                groups: groups.map(group => group.map(bytes)),
                ...(ids !== undefined && { ids }),
                now,
              }
              const found = kept
                .filter(({ row }) => row.expiresAt === null || row.expiresAt > now)
                .filter(({ row }) => ids === undefined || ids.includes(row.id))
                .filter(({ terms }) => groups.every(group => group.some(term => terms.includes(term))))
                .map(({ row }) => row)
                .sort(newestFirst)
              assert.equal(await rig.store.countTokens(query), found.length)
              assert.deepEqual(
                names(await rig.store.listTokens(query, page)),
                names(found.slice(page.offset, page.offset + page.limit)),
              )
            }
          },
        ),
        { numRuns: 150 },
      )
    })
  })

  describe('single look-ups', () => {
    const rig = new StoreRig(open)
    const term = bytes('fingerprint')

    test('C15.3 C15.4 the oldest living token with a term is the one that deduplication returns, ties by id', async () => {
      const tenant = await rig.newTenant()
      const oldest = async (now: number) => (await rig.store.oldestMatch(tenant, matchOf(term), now))?.id
      assert.equal(await oldest(0), undefined)
      const at = (id: string, createdAt: number, expiresAt: number | null = null) => ({
        row: tokenRow(tenant, id, { createdAt, expiresAt }),
        terms: [term],
      })
      await rig.write(insertion(tenant, [at('young', 30), at('y', 20), at('x', 20), at('short', 10, 5_000)]))
      await rig.write(
        insertion(tenant, [{ row: tokenRow(tenant, 'other', { createdAt: 1 }), terms: [bytes('z')] }]),
      )
      assert.equal(await oldest(4_999), 'short')
      assert.equal(await oldest(5_000), 'x')
      assertRows(
        await rig.store.oldestMatch(tenant, matchOf(term), 5_000),
        tokenRow(tenant, 'x', { createdAt: 20 }),
      )
      assert.equal(await rig.store.oldestMatch(await rig.newTenant(), matchOf(term), 0), undefined)
      const otherTag = { term, tag: bytes('another') }
      assert.equal(await rig.store.oldestMatch(tenant, otherTag, 0), undefined)
    })

    test('C17.5 expired tokens that are not purged yet are counted by type', async () => {
      const tenant = await rig.newTenant()
      const other = await rig.newTenant()
      const card = (owner: number, id: string, type: string, expiresAt: number | null) => ({
        row: tokenRow(owner, id, { type, expiresAt }),
        terms: [],
      })
      await rig.write(
        insertion(tenant, [
          card(tenant, 'a', 'card', 100),
          card(tenant, 'b', 'card', 200),
          card(tenant, 'c', 'bank', 150),
          card(tenant, 'd', 'card', 201),
          card(tenant, 'e', 'token', null),
        ]),
      )
      await rig.write(insertion(other, [card(other, 'a', 'card', 100)]))
      const counted = async (now: number) => [...(await rig.store.readCounts(tenant, [], now)).expired].sort()
      assert.deepEqual(await counted(99), [])
      assert.deepEqual(await counted(100), [['card', 1]])
      assert.deepEqual(await counted(200), [
        ['bank', 1],
        ['card', 2],
      ])
    })
  })
}

const compareIds = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
const newestFirst = (a: TokenRow, b: TokenRow): number => b.createdAt - a.createdAt || compareIds(a.id, b.id)

// Few terms, ids and moments, so that overlaps and ties are common. Some ids sort differently by UTF-16 units.
const termNames = fc.constantFrom('p', 'q', 'r', 's')
const idNames: fc.Arbitrary<string> = fc.constantFrom(
  'a',
  'A',
  'aa',
  'b',
  'é',
  '\u{ff5e}',
  '\u{1f600}',
  'z',
  '0',
  '~',
  'B',
  '10',
)
const moments = fc.integer({ min: 1, max: 4 })
const shelves = fc.uniqueArray(
  fc.record({
    id: idNames,
    createdAt: moments,
    expiresAt: fc.option(moments),
    terms: fc.uniqueArray(termNames, { minLength: 1 }),
    isRemoved: fc.boolean(),
  }),
  { selector: token => token.id, maxLength: 12 },
)
const group = fc.array(termNames, { minLength: 1, maxLength: 4 })
const page = fc.record({ offset: fc.nat(6), limit: fc.nat(12) })
const queries = fc.oneof(
  fc.record({
    groups: fc.array(group, { minLength: 1, maxLength: 3 }),
    ids: fc.constant(undefined),
    now: moments,
    page,
  }),
  fc.record({ groups: fc.array(group, { maxLength: 2 }), ids: fc.array(idNames), now: moments, page }),
)

const removal = (tenant: number, tokens: readonly { row: TokenRow; terms: readonly string[] }[]) =>
  writeSet(tenant, {
    guarded: tokens.map(({ row }) => ({ kind: 'deleteToken', id: row.id, ifVersion: row.version })),
    effects: tokens.map(({ row, terms: names }) => terms('removeTerms', row, names.map(bytes))),
  })
