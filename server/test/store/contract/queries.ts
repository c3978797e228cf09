import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ListPosition } from '../../../src/domain/tokens/list-position.ts'
import type { TokenBranch } from '../../../src/store/port.ts'
import { signatureOf } from '../../../src/store/rows.ts'
import {
  assertRows,
  bytes,
  insertion,
  matchOf,
  type OpenStore,
  StoreRig,
  tag,
  terms as termsOf,
  tokenRow,
  transientRow,
  writeSet,
} from './rig.ts'

const names = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)
const everything = { offset: 0, limit: 1_000 }

/** A query without its tenant and time. */
type Asked = (TokenBranch | { readonly anyOf: readonly TokenBranch[] }) & { readonly after?: ListPosition }

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

    const createdAt: Record<string, number> = { a: 100, b: 200, c: 200, d: 300, e: 400, f: 500 }
    const at = (id: string): ListPosition => ({ id, createdAt: createdAt[id] ?? Number.NaN })

    const loose = bytes('loose')
    const unused = (count: number): Uint8Array[] =>
      Array.from({ length: count }, (_, number) => bytes(`unused ${number}`))
    const modifiedAt: Record<string, number> = { b: 210, d: 310 }

    /** Six tokens: b and c created at one moment, e expired at 5,000, f expiring at 8,000. */
    const shelf = async (): Promise<number> => {
      const tenant = await rig.newTenant()
      const token = (id: string, terms: Uint8Array[], expiresAt: number | null = null) => ({
        row: tokenRow(tenant, id, {
          ...at(id),
          expiresAt,
          createdBy: `maker of ${id}`,
          modifiedAt: modifiedAt[id] ?? null,
          modifiedBy: modifiedAt[id] === undefined ? null : 'editor',
        }),
        terms,
      })
      await rig.write(
        insertion(tenant, [
          token('a', [red, round, loose]),
          token('c', [red, square]),
          token('b', [blue, round]),
          token('d', [red, blue, round, square]),
          token('e', [red, blue, round, rare], 5_000),
          token('f', [blue, square], 8_000),
        ]),
      )
      await rig.write(
        writeSet(tenant, {
          effects: [
            {
              kind: 'addTerms',
              of: {
                tokenId: 'b',
                createdAt: 200,
                expiresAt: null,
                signature: signatureOf([blue, round, loose]),
              },
              terms: [
                { term: blue, tag },
                { term: round, tag },
                { term: loose, tag: null },
              ],
            },
          ],
        }),
      )
      return tenant
    }

    const cases: { name: string; query: Asked; now?: number; found: string }[] = [
      { name: 'one term: newest first (C24.4)', query: { groups: [[red]] }, found: 'dca' },
      {
        name: 'a group is an OR, with ties ordered by id (C24.6)',
        query: { groups: [[red, blue]] },
        found: 'fdbca',
      },
      {
        name: 'a token found by two arms of an OR is listed once (C24.5)',
        query: { groups: [[round, square, red, blue]] },
        found: 'fdbca',
      },
      { name: 'a term given twice changes nothing (C24.6)', query: { groups: [[red, red]] }, found: 'dca' },
      { name: 'several groups are an AND (C24.7)', query: { groups: [[red], [square]] }, found: 'dc' },
      {
        name: 'an AND of ORs (C24.7)',
        query: {
          groups: [
            [red, blue],
            [round, rare],
          ],
        },
        found: 'dba',
      },
      { name: 'an AND of four (C24.7)', query: { groups: [[red], [blue], [round], [square]] }, found: 'd' },
      {
        name: 'an AND that no token satisfies finds nothing (C24.7)',
        query: { groups: [[red], [rare]] },
        found: '',
      },
      {
        name: 'a term that no token has finds nothing (C24.6)',
        query: { groups: [[bytes('none')]] },
        found: '',
      },
      { name: 'a group without terms finds nothing (C24.5)', query: { groups: [[]] }, found: '' },
      {
        name: 'a group without terms finds nothing beside another group (C24.5)',
        query: { groups: [[red], []] },
        found: '',
      },
      {
        name: 'a group without terms finds nothing beside ids (C24.5)',
        query: { groups: [[]], ids: ['a'] },
        found: '',
      },
      { name: 'ids alone (§4.3.6)', query: { groups: [], ids: ['a', 'f', 'b', 'none'] }, found: 'fba' },
      {
        name: 'an id given twice is listed once (§4.3.6)',
        query: { groups: [], ids: ['a', 'a'] },
        found: 'a',
      },
      { name: 'an empty list of ids finds nothing (§4.3.6)', query: { groups: [], ids: [] }, found: '' },
      { name: 'ids and a group (C24.7)', query: { groups: [[red]], ids: ['f', 'a', 'c'] }, found: 'ca' },
      {
        name: 'ids and two groups (C24.7)',
        query: { groups: [[red, blue], [square]], ids: ['a', 'c', 'd', 'f'] },
        found: 'fdc',
      },
      { name: 'expired tokens are left out (C17.4)', query: { groups: [[rare]] }, found: '' },
      {
        name: 'expired tokens are left out even if asked for by id (C17.4)',
        query: { groups: [], ids: ['e'] },
        found: '',
      },
      {
        name: 'tokens are found up to the last millisecond before they expire (C17.4)',
        query: { groups: [[rare]] },
        now: 4_999,
        found: 'e',
      },
      {
        name: 'tokens are not found from the instant at which they expire (C17.4)',
        query: { groups: [[rare]] },
        now: 5_000,
        found: '',
      },
      {
        name: 'tokens are found by id up to the last millisecond before they expire (C17.4)',
        query: { groups: [], ids: ['e', 'f'] },
        now: 4_999,
        found: 'fe',
      },
      {
        name: 'tokens with any of two excluded terms are left out (C26.4)',
        query: { groups: [[red, blue]], without: [square, rare] },
        found: 'ba',
      },
      {
        name: 'excluded ids are left out (C26.4)',
        query: { groups: [[red]], withoutIds: ['c', 'none'] },
        found: 'da',
      },
      {
        name: 'ids without those that are excluded by term or by id (C26.4)',
        query: { groups: [], ids: ['a', 'b', 'c'], without: [square], withoutIds: ['b'] },
        found: 'a',
      },
      {
        name: 'a span includes its start but not its end (C26.5)',
        query: { groups: [[red, blue]], createdAt: { from: 200, until: 300 } },
        found: 'bc',
      },
      {
        name: 'a span without a start (C26.5)',
        query: { groups: [[red, blue]], createdAt: { until: 200 } },
        found: 'a',
      },
      {
        name: 'a span without an end (C26.5)',
        query: { groups: [[red, blue]], createdAt: { from: 300 } },
        found: 'fd',
      },
      {
        name: 'a span that is open at both ends excludes nothing (C26.5)',
        query: { groups: [[red]], createdAt: {} },
        found: 'dca',
      },
      {
        name: 'ids within a span (C26.5)',
        query: { groups: [], ids: ['a', 'b', 'd'], createdAt: { from: 200 } },
        found: 'db',
      },
      {
        name: 'outside several spans (C26.5)',
        query: { groups: [[red, blue]], notCreatedAt: [{ until: 200 }, { from: 300, until: 301 }] },
        found: 'fbc',
      },
      {
        name: 'outside a span that is open at both ends there is nothing (C26.5)',
        query: { groups: [[red]], notCreatedAt: [{}] },
        found: '',
      },
      {
        name: 'tokens made by an application (C26.3)',
        query: {
          groups: [[red, blue]],
          columns: [{ column: 'createdBy', is: 'maker of d', negated: false }],
        },
        found: 'd',
      },
      {
        name: 'tokens not made by an application (C26.4)',
        query: { groups: [[red]], columns: [{ column: 'createdBy', is: 'maker of d', negated: true }] },
        found: 'ca',
      },
      {
        name: 'tokens changed by an application (C26.3)',
        query: { groups: [[red, blue]], columns: [{ column: 'modifiedBy', is: 'editor', negated: false }] },
        found: 'db',
      },
      {
        name: 'tokens not changed by an application, or never changed (C26.4)',
        query: { groups: [[red, blue]], columns: [{ column: 'modifiedBy', is: 'editor', negated: true }] },
        found: 'fca',
      },
      {
        name: 'tokens changed within a span, which includes its start but not its end (C26.5)',
        query: {
          groups: [[red, blue]],
          columns: [{ column: 'modifiedAt', within: { from: 210, until: 310 }, negated: false }],
        },
        found: 'b',
      },
      {
        name: 'tokens changed at any time (C26.5)',
        query: { groups: [[red, blue]], columns: [{ column: 'modifiedAt', within: {}, negated: false }] },
        found: 'db',
      },
      {
        name: 'tokens that were never changed (C26.5)',
        query: {
          groups: [],
          ids: ['a', 'b', 'c'],
          columns: [{ column: 'modifiedAt', within: {}, negated: true }],
        },
        found: 'ca',
      },
      { name: 'an empty list of alternatives finds nothing (C26.4)', query: { anyOf: [] }, found: '' },
      { name: 'one alternative (C26.4)', query: { anyOf: [{ groups: [[red]] }] }, found: 'dca' },
      {
        name: 'a token found by several alternatives is listed once (C26.4)',
        query: {
          anyOf: [{ groups: [[red]] }, { groups: [[blue], [round]] }, { groups: [], ids: ['d', 'f'] }],
        },
        found: 'fdbca',
      },
      {
        name: 'an alternative that no token can satisfy takes nothing from the others (C26.4)',
        query: { anyOf: [{ groups: [[]] }, { groups: [[square]], without: [blue] }] },
        found: 'c',
      },
      {
        name: 'each alternative keeps its own conditions (C26.4)',
        query: {
          anyOf: [
            { groups: [[red]], createdAt: { until: 200 } },
            { groups: [[blue]], withoutIds: ['b'], notCreatedAt: [{ from: 500 }] },
          ],
        },
        found: 'da',
      },
      {
        name: 'more terms to start from than an engine merges (C26.4)',
        query: { groups: [[red, ...unused(1_100)]] },
        found: 'dca',
      },
      {
        name: 'alternatives with more terms to start from than an engine merges (C26.4)',
        query: { anyOf: [{ groups: [[red, ...unused(400)]] }, { groups: [[square, ...unused(400)]] }] },
        found: 'fdca',
      },
      { name: 'after a token (C25.2)', query: { groups: [[red, blue]], after: at('d') }, found: 'bca' },
      {
        name: 'after the first of a tie (C25.2)',
        query: { groups: [[red, blue]], after: at('b') },
        found: 'ca',
      },
      {
        name: 'after the last of a tie (C25.2)',
        query: { groups: [[red, blue]], after: at('c') },
        found: 'a',
      },
      { name: 'after the last token (C25.2)', query: { groups: [[red]], after: at('a') }, found: '' },
      {
        name: 'after a position where there is no token (any more) (C25.2)',
        query: { groups: [[red, blue]], after: { createdAt: 250, id: 'gone' } },
        found: 'bca',
      },
      {
        name: 'ids after a token (C25.2)',
        query: { groups: [], ids: ['a', 'b', 'c', 'd'], after: at('b') },
        found: 'ca',
      },
      {
        name: 'after a position, one span that ends before it in the list and one that does not (C25.2)',
        query: {
          anyOf: [
            { groups: [[red]], createdAt: { until: 400 } },
            { groups: [[blue]], createdAt: { until: 300 } },
          ],
          after: at('d'),
        },
        found: 'bca',
      },
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

    test('an entry whose token is gone hides no other token (C24.7)', async () => {
      const tenant = await rig.newTenant()
      const ids = ['0198a1b2-0000-7000-8000-000000000001', 'a', 'b']
      await rig.write(
        insertion(
          tenant,
          ids.map(id => ({ row: tokenRow(tenant, id), terms: [red] })),
        ),
      )
      const guarded = ids.slice(0, 2).map(id => ({ kind: 'deleteToken' as const, id, ifVersion: 1 }))
      await rig.write(writeSet(tenant, { guarded }))
      const found = await rig.store.listTokens({ tenant, groups: [[red]], now: 0 }, { offset: 0, limit: 9 })
      assert.deepEqual(names(found), ['b'])
    })

    test('a read ends with the row that fills it, long rows and short ones alike (C37)', async () => {
      const tenant = await rig.newTenant()
      const lengths = { a: 10, b: 140_000, c: 10, d: 30_000, e: 20 }
      for (const [id, length] of Object.entries(lengths)) {
        const row = tokenRow(tenant, id, { sealed: new Uint8Array(length) })
        await rig.write(insertion(tenant, [{ row, terms: [red, blue] }]))
        assert.equal((await rig.store.getToken(tenant, id))?.sealed.length, length)
      }
      const ids = Object.keys(lengths)
      const byId = await Promise.all(ids.map(id => rig.store.getToken(tenant, id)))
      assert.deepEqual(
        byId.map(row => row?.sealed.length),
        Object.values(lengths),
      )
      for (const groups of [[[red]], [[red], [blue]]]) {
        const query = { tenant, groups, now: 0 }
        const found = async (bytesMax: number, offset = 0): Promise<string> =>
          names(await rig.store.listTokens(query, { offset, limit: 9, bytesMax })).join('')
        const all = await found(1_000_000)
        assert.equal(all.length, 5)
        for (let offset = 0; offset < 5; offset++)
          for (const bytesMax of [1, 10, 11, 30, 140_010, 140_011, 170_020]) {
            let bytes = 0
            const fitting = [...all.slice(offset)].filter(id => {
              const isWanted = bytes < bytesMax
              bytes += lengths[id as keyof typeof lengths]
              return isWanted
            })
            assert.equal(await found(bytesMax, offset), fitting.join(''))
          }
      }
    })

    test('whole rows come back, and a page past the end or of zero length is empty (C24.3)', async () => {
      const tenant = await rig.newTenant()
      const row = tokenRow(tenant, 'whole', { modifiedAt: 1, modifiedBy: 'm', expiresAt: 9_000 })
      await rig.write(insertion(tenant, [{ row, terms: [red] }]))
      const query = { tenant, groups: [[red]], now: 0 }
      assertRows(await rig.store.listTokens(query, { offset: 0, limit: 1 }), [row])
      assertRows(await rig.store.listTokens(query, { offset: 1, limit: 10 }), [])
      assertRows(await rig.store.listTokens(query, { offset: 0, limit: 0 }), [])
    })
  })

  describe('single look-ups', () => {
    const rig = new StoreRig(open)
    const term = bytes('fingerprint')

    test('deduplication returns the oldest live token with a term, with ties resolved by id (C15.3, C15.4)', async () => {
      const tenant = await rig.newTenant()
      const oldest = async (now: number) => (await rig.store.findOldestMatch(tenant, matchOf(term), now))?.id
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
        await rig.store.findOldestMatch(tenant, matchOf(term), 5_000),
        tokenRow(tenant, 'x', { createdAt: 20 }),
      )
      assert.equal(await rig.store.findOldestMatch(await rig.newTenant(), matchOf(term), 0), undefined)
      const otherTag = { term, tag: bytes('another') }
      assert.equal(await rig.store.findOldestMatch(tenant, otherTag, 0), undefined)
    })

    test('of many matches looked for at once, each gets its own answer (C15.3)', async () => {
      const tenant = await rig.newTenant()
      const match = (name: string) => matchOf(bytes(name))
      await rig.write(
        insertion(
          tenant,
          ['a', 'b'].map(id => ({ row: tokenRow(tenant, id, { expiresAt: 50 }), terms: [bytes(id)] })),
        ),
      )
      await rig.write(
        writeSet(tenant, {
          guarded: [{ kind: 'claimMatch', match: match('b'), tokenId: 'b', insteadOf: null }],
        }),
      )
      const names = Array.from({ length: 30 }, () => ['a', 'none', 'b']).flat()
      const holders = await Promise.all(names.map(name => rig.store.findMatchHolder(tenant, match(name))))
      assert.deepEqual(
        holders,
        names.map(name => (name === 'b' ? 'b' : undefined)),
      )
      const oldest = await Promise.all(
        names.map((name, place) => rig.store.findOldestMatch(tenant, match(name), place)),
      )
      assert.deepEqual(
        oldest.map(row => row?.id),
        names.map((name, place) => (name === 'none' || place >= 50 ? undefined : name)),
      )
    })

    test('terms are counted up to a limit, in the order asked, expired tokens included (C26.8)', async () => {
      const tenant = await rig.newTenant()
      const [common, rare, none] = [bytes('common'), bytes('rare'), bytes('none')]
      await rig.write(
        insertion(tenant, [
          ...Array.from({ length: 5 }, (_, i) => ({ row: tokenRow(tenant, `t${i}`), terms: [common] })),
          { row: tokenRow(tenant, 'short', { expiresAt: 1 }), terms: [common, rare] },
        ]),
      )
      const estimate = (limit: number, ...terms: Uint8Array[]) =>
        rig.store.estimateTerms(tenant, terms, limit)
      assert.deepEqual(await estimate(100, rare, none, common), [1, 0, 6])
      assert.deepEqual(await estimate(4, common, rare, common), [4, 1, 4])
      assert.deepEqual(await estimate(100), [])
      assert.deepEqual(await rig.store.estimateTerms(await rig.newTenant(), [common], 100), [0])
    })

    test('only the requested tokens come back, with all of their transient fields (C11.1)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      for (const owner of [tenant, other])
        await rig.write(
          writeSet(owner, {
            guarded: ['a', 'b', 'c'].map(id => ({ kind: 'insertToken', row: tokenRow(owner, id) })),
            effects: ['a', 'b'].map(id => ({ kind: 'putTransient', row: transientRow(owner, id) })),
          }),
        )
      const { rows, transients } = await rig.store.getTokens(tenant, ['c', 'a', 'none'])
      assertRows(
        rows.toSorted((x, y) => (x.id < y.id ? -1 : 1)),
        [tokenRow(tenant, 'a'), tokenRow(tenant, 'c')],
      )
      assertRows(transients, [transientRow(tenant, 'a')])
      assertRows(await rig.store.getTokens(tenant, []), { rows: [], transients: [] })
    })

    test('tokens are read together with what they weigh, or not at all (U1.3, U5.1)', async () => {
      const [tenant, other] = [await rig.newTenant(), await rig.newTenant()]
      const sealed = (length: number) => new Uint8Array(length).fill(7)
      const rows = (owner: number) =>
        [10, 2_000, 300_000].map(length =>
          tokenRow(owner, `w${length}`, {
            sealed: sealed(length),
            ...(length === 10 && { transientUntil: 99 }),
          }),
        )
      for (const owner of [tenant, other])
        await rig.write(
          writeSet(owner, {
            guarded: rows(owner).map(row => ({ kind: 'insertToken', row })),
            effects: [{ kind: 'putTransient', row: transientRow(owner, 'w10') }],
          }),
        )
      const ids = ['none', 'w300000', 'w10', 'w2000']
      const read = (sealedBytesMax: number, some = ids) =>
        rig.store.getTokensUpTo(tenant, some, sealedBytesMax)
      const whole = await read(302_010)
      assert.ok('rows' in whole)
      const byLength = whole.rows.toSorted((a, b) => a.sealed.length - b.sealed.length)
      assertRows(byLength, rows(tenant))
      assertRows(whole.transients, [transientRow(tenant, 'w10')])
      for (const max of [302_009, 300_000, 10, 0]) assert.deepEqual(await read(max), { sealedBytes: 302_010 })
      assertRows(await read(0, []), { rows: [], transients: [] })
      assertRows(await read(0, ['none', "o'ne", '{a}', '\0']), { rows: [], transients: [] })
    })

    test('expired tokens that are not yet purged are counted by type (C17.5)', async () => {
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
      const having = async (...terms: Uint8Array[]) =>
        [...(await rig.store.readCounts(tenant, [], 200, terms)).expired].sort()
      await rig.write(
        writeSet(tenant, {
          effects: ['a', 'c', 'd'].map(id => termsOf('addTerms', tokenRow(tenant, id), [bytes(`of ${id}`)])),
        }),
      )
      assert.deepEqual(await having(bytes('of a'), bytes('of d')), [['card', 1]])
      assert.deepEqual(await having(bytes('of a'), bytes('of c'), bytes('of a')), [
        ['bank', 1],
        ['card', 1],
      ])
      assert.deepEqual(await having(), [])
      await rig.write(writeSet(tenant, { counters: [{ name: 'n', by: 7, at: 3 }] }))
      const { counters } = await rig.store.readCounts(tenant, ['n', 'never'], 0)
      assert.deepEqual(counters, [{ name: 'n', value: 7, at: 3 }])
      assert.deepEqual((await rig.store.readCounts(other, ['n'], 0)).counters, [])
    })
  })
}
