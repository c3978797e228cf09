import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Store } from '../../../src/store/port.ts'
import type { Conflict, GuardedChange, Outcome, WriteSet } from '../../../src/store/write-set.ts'
import {
  assertRows,
  bytes,
  insertion,
  isUnavailable,
  matchOf,
  type OpenStore,
  pendingAfter,
  StoreRig,
  terms,
  tokenRow,
  transientRow,
  writeSet,
} from './rig.ts'

const committed: Outcome = { committed: true }

/** What a write set does: whole or not at all, alone or with others. */
export const commitContract = (open: OpenStore): void => {
  describe('a write set', () => {
    const rig = new StoreRig(open)

    test('an answered write is seen by every connection at once (C27.1)', async () => {
      const other = await rig.again()
      const tenant = await rig.newTenant()
      for (let i = 0; i < 20; i++) {
        const seen = rig.store
          .commit(insertion(tenant, [{ row: tokenRow(tenant, `id${i}`), terms: [] }]))
          .then(() => other.getToken(tenant, `id${i}`))
        assert.equal((await seen)?.id, `id${i}`)
      }
    })

    test('a token is inserted, changed and deleted, with each column as it was given (§3.1, §3.2, §3.3)', async () => {
      const tenant = await rig.newTenant()
      const row = tokenRow(tenant, 'one', { expiresAt: 9_000, transientUntil: 5_000 })
      await rig.write(writeSet(tenant, { guarded: [{ kind: 'insertToken', row }] }))
      assertRows(await rig.store.getToken(tenant, 'one'), row)

      const changed = {
        ...row,
        version: 2,
        modifiedAt: 2_000,
        modifiedBy: 'another application',
        expiresAt: 8_000,
        transientUntil: 6_000,
        sealed: bytes('sealed anew'),
      }
      await rig.write(writeSet(tenant, { guarded: [{ kind: 'updateToken', row: changed, ifVersion: 1 }] }))
      assertRows(await rig.store.getToken(tenant, 'one'), changed)

      const cleared = { ...changed, version: 3, expiresAt: null, transientUntil: null, modifiedBy: null }
      await rig.write(writeSet(tenant, { guarded: [{ kind: 'updateToken', row: cleared, ifVersion: 2 }] }))
      assertRows(await rig.store.getToken(tenant, 'one'), cleared)

      await rig.write(writeSet(tenant, { guarded: [{ kind: 'deleteToken', id: 'one', ifVersion: 3 }] }))
      assert.equal(await rig.store.getToken(tenant, 'one'), undefined)
      await rig.write(writeSet(tenant, { guarded: [{ kind: 'insertToken', row }] }))
      assertRows(await rig.store.getToken(tenant, 'one'), row)
    })

    test('a transient field is stored, replaced and dropped, and goes with its token (§2.2.7, C11.5)', async () => {
      const tenant = await rig.newTenant()
      const stored = async () => (await rig.store.getTokens(tenant, ['one', 'other'])).transients
      const first = transientRow(tenant, 'one')
      const pin = transientRow(tenant, 'one', { field: 'pin', sealed: bytes('p') })
      const longer = transientRow(tenant, 'one', { expiresAt: 6_000, sealed: bytes('longer '.repeat(900)) })
      await rig.write(
        writeSet(tenant, {
          guarded: [{ kind: 'insertToken', row: tokenRow(tenant, 'one') }],
          effects: [
            { kind: 'putTransient', row: first },
            { kind: 'putTransient', row: pin },
          ],
        }),
      )
      const byField = (rows: { field: string }[]) => rows.sort((a, b) => (a.field < b.field ? -1 : 1))
      assertRows(byField(await stored()), [first, pin])
      await rig.write(writeSet(tenant, { effects: [{ kind: 'putTransient', row: longer }] }))
      assertRows(byField(await stored()), [longer, pin])
      await rig.write(
        writeSet(tenant, { effects: [{ kind: 'dropTransient', tokenId: 'one', field: 'cvc' }] }),
      )
      assertRows(await stored(), [pin])
      await rig.write(writeSet(tenant, { guarded: [{ kind: 'deleteToken', id: 'one', ifVersion: 1 }] }))
      assertRows(await stored(), [])
      assertRows((await rig.store.getTokens(tenant, [])).transients, [])
    })

    test('terms are added, given another expiry and removed (C24.6)', async () => {
      const tenant = await rig.newTenant()
      const row = tokenRow(tenant, 'one')
      const [a, b] = [bytes('term a'), bytes('term b')]
      const having = (term: Uint8Array, now = 0) => rig.store.countTokens({ tenant, groups: [[term]], now })
      await rig.write(insertion(tenant, [{ row, terms: [a, b] }]))
      assert.deepEqual([await having(a), await having(b)], [1, 1])
      await rig.write(
        writeSet(tenant, {
          effects: [terms('addTerms', { ...row, expiresAt: 7_000 }, [a])],
        }),
      )
      assert.deepEqual([await having(a, 6_999), await having(a, 7_000)], [1, 0])
      await rig.write(writeSet(tenant, { effects: [terms('removeTerms', row, [b])] }))
      assert.deepEqual([await having(a), await having(b)], [1, 0])
    })

    test('a match has one holder, which can be replaced by name and releases only what it holds (C15.9)', async () => {
      const tenant = await rig.newTenant()
      const match = matchOf(bytes('match'))
      const claim = (tokenId: string, insteadOf: string | null): Promise<Outcome> =>
        rig.store.commit(writeSet(tenant, { guarded: [{ kind: 'claimMatch', match, tokenId, insteadOf }] }))
      const release = (tokenId: string): Promise<void> =>
        rig.write(writeSet(tenant, { effects: [{ kind: 'releaseMatch', match, tokenId }] }))
      assert.equal(await rig.store.findMatchHolder(tenant, match), undefined)
      assert.deepEqual(await claim('one', null), committed)
      assert.deepEqual(await claim('two', null), { committed: false, conflict: 'matchTaken' })
      assert.deepEqual(await claim('two', 'somebody'), { committed: false, conflict: 'matchTaken' })
      assert.equal(await rig.store.findMatchHolder(tenant, match), 'one')
      assert.deepEqual(await claim('two', 'one'), committed)
      await release('one')
      assert.equal(await rig.store.findMatchHolder(tenant, match), 'two')
      await release('two')
      assert.equal(await rig.store.findMatchHolder(tenant, match), undefined)
    })

    test('counters add up across sets and batches, up and down, and keep the latest time (C32.3)', async () => {
      const tenant = await rig.newTenant()
      const move = (...moves: { name: string; by: number; at?: number }[]): WriteSet =>
        writeSet(tenant, { counters: moves })
      const read = async () =>
        (await rig.store.readCounters(tenant, ['a', 'b', 'never'])).sort((x, y) => (x.name < y.name ? -1 : 1))
      assert.deepEqual(await read(), [])
      assert.deepEqual(await rig.store.readCounters(tenant, []), [])
      await Promise.all(
        Array.from({ length: 100 }, (_, i) => rig.write(move({ name: 'a', by: 1, at: 500 - i }))),
      )
      await rig.write(move({ name: 'a', by: 2 }, { name: 'b', by: -3 }, { name: 'a', by: -10 }))
      assert.deepEqual(await read(), [
        { name: 'a', value: 92, at: 500 },
        { name: 'b', value: -3, at: null },
      ])
      await rig.write(move({ name: 'a', by: 0, at: 499 }, { name: 'b', by: 1, at: 7 }))
      assert.deepEqual(await read(), [
        { name: 'a', value: 92, at: 500 },
        { name: 'b', value: -2, at: 7 },
      ])
    })

    test('a counter that comes to zero is gone, unless it says when it last rose, and counts anew (C32.1, C32.3)', async () => {
      const tenant = await rig.newTenant()
      const move = (by: number): Promise<void> =>
        rig.write(
          writeSet(tenant, {
            counters: [
              { name: 'type', by, ...(by > 0 && { at: 5 }) },
              { name: 'container', by },
            ],
          }),
        )
      const names = async () => (await rig.store.listCounters(tenant)).map(({ name }) => name).sort()
      await move(3)
      await move(-2)
      assert.deepEqual(await names(), ['container', 'type'])
      await move(-1)
      const zero = [{ name: 'type', value: 0, at: 5 }]
      assert.deepEqual(await rig.store.listCounters(tenant), zero)
      assert.deepEqual(await rig.store.readCounters(tenant, ['container', 'type']), zero)
      await move(1)
      assert.deepEqual(await rig.store.readCounters(tenant, ['container']), [
        { name: 'container', value: 1, at: null },
      ])
    })

    test('no move of a counter is lost, however often it comes to zero and whoever moves it (C32.3)', async () => {
      const stores = [rig.store, await rig.again()]
      const tenant = await rig.newTenant()
      for (let round = 0; round < 20; round++) {
        const moves = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? 1 : -1) * (n % 3))
        const left = moves.reduce((sum, by) => sum + by) + 1
        await Promise.all(
          [...moves, 1].map((by, n) =>
            stores[n % 2]?.commit(writeSet(tenant, { counters: [{ name: 'n', by }] })),
          ),
        )
        await stores[round % 2]?.commit(writeSet(tenant, { counters: [{ name: 'n', by: -left }] }))
        assert.deepEqual(await rig.store.readCounters(tenant, ['n']), [], `round ${round}`)
      }
    })

    test('equal ids, terms, matches and counters of two tenants stay apart (§1.3, C31.9)', async () => {
      const [one, other] = [await rig.newTenant(), await rig.newTenant()]
      const term = bytes('shared')
      const everything = (tenant: number): WriteSet => ({
        ...insertion(tenant, [{ row: tokenRow(tenant, 'same'), terms: [term] }]),
        counters: [{ name: 'n', by: 1 }],
      })
      const claim = (tenant: number): WriteSet =>
        writeSet(tenant, {
          guarded: [{ kind: 'claimMatch', match: matchOf(term), tokenId: `of ${tenant}`, insteadOf: null }],
        })
      for (const tenant of [one, other]) {
        await rig.write(everything(tenant))
        await rig.write(claim(tenant))
      }
      await rig.write(
        writeSet(one, {
          guarded: [{ kind: 'deleteToken', id: 'same', ifVersion: 1 }],
          effects: [terms('removeTerms', tokenRow(one, 'same'), [term])],
          counters: [{ name: 'n', by: -1 }],
        }),
      )
      assert.equal(await rig.store.getToken(one, 'same'), undefined)
      assert.equal((await rig.store.getToken(other, 'same'))?.tenant, other)
      assert.equal(await rig.store.countTokens({ tenant: other, groups: [[term]], now: 0 }), 1)
      assert.equal(await rig.store.findMatchHolder(other, matchOf(term)), `of ${other}`)
      assert.deepEqual(await rig.store.readCounters(other, ['n']), [{ name: 'n', value: 1, at: null }])
    })
  })

  describe('a condition that fails', () => {
    const rig = new StoreRig(open)
    const match = matchOf(bytes('held match'))
    const term = bytes('new term')
    const key = { purpose: 'data', version: 1, wrapped: bytes('first') }

    /** A tenant with one token of version 3, one held match and one key. */
    const settled = async (): Promise<number> => {
      const tenant = await rig.newTenant()
      await rig.write(
        writeSet(tenant, {
          guarded: [
            { kind: 'insertToken', row: tokenRow(tenant, 'taken', { version: 3 }) },
            { kind: 'claimMatch', match, tokenId: 'taken', insteadOf: null },
            { kind: 'insertTenantKey', row: key },
          ],
          effects: [{ kind: 'putTransient', row: transientRow(tenant, 'taken') }],
          counters: [{ name: 'n', by: 1, at: 1 }],
        }),
      )
      return tenant
    }

    /** Everything that the sets of these tests touch, as stored. */
    const state = async (tenant: number): Promise<unknown> => ({
      taken: await rig.store.getToken(tenant, 'taken'),
      fresh: await rig.store.getToken(tenant, 'fresh'),
      transients: (await rig.store.getTokens(tenant, ['taken', 'fresh'])).transients,
      withTerm: await rig.store.countTokens({ tenant, groups: [[term]], now: 0 }),
      holders: [
        await rig.store.findMatchHolder(tenant, match),
        await rig.store.findMatchHolder(tenant, matchOf(bytes('free match'))),
      ],
      counters: await rig.store.readCounters(tenant, ['n', 'm']),
      keys: await rig.store.listTenantKeys(tenant),
    })

    /** A set that would succeed by itself and touches everything. */
    const fine = (tenant: number): WriteSet => ({
      tenant,
      guarded: [
        { kind: 'insertToken', row: tokenRow(tenant, 'fresh') },
        { kind: 'updateToken', row: tokenRow(tenant, 'taken', { version: 4 }), ifVersion: 3 },
        { kind: 'claimMatch', match: matchOf(bytes('free match')), tokenId: 'fresh', insteadOf: null },
        { kind: 'claimMatch', match, tokenId: 'fresh', insteadOf: 'taken' },
        { kind: 'insertTenantKey', row: { ...key, version: 2 } },
      ],
      effects: [
        terms('addTerms', tokenRow(tenant, 'fresh'), [term]),
        { kind: 'putTransient', row: transientRow(tenant, 'fresh') },
        { kind: 'dropTransient', tokenId: 'taken', field: 'cvc' },
        { kind: 'releaseMatch', match: matchOf(bytes('free match')), tokenId: 'nobody' },
      ],
      counters: [
        { name: 'n', by: 5, at: 9 },
        { name: 'm', by: 5 },
      ],
      log: null,
    })

    const failing: { name: string; change: (tenant: number) => GuardedChange; conflict: Conflict }[] = [
      {
        name: 'an insert under a taken id (C16.4)',
        change: tenant => ({ kind: 'insertToken', row: tokenRow(tenant, 'taken') }),
        conflict: 'tokenExists',
      },
      {
        name: 'a change computed from an older version (C18.8)',
        change: tenant => ({
          kind: 'updateToken',
          row: tokenRow(tenant, 'taken', { version: 3 }),
          ifVersion: 2,
        }),
        conflict: 'tokenChanged',
      },
      {
        name: 'a change of a token that is gone (C18.8)',
        change: tenant => ({ kind: 'updateToken', row: tokenRow(tenant, 'gone'), ifVersion: 1 }),
        conflict: 'tokenChanged',
      },
      {
        name: 'a delete computed from an older version (C18.8)',
        change: () => ({ kind: 'deleteToken', id: 'taken', ifVersion: 2 }),
        conflict: 'tokenChanged',
      },
      {
        name: 'a delete of a token that is gone (C18.8)',
        change: () => ({ kind: 'deleteToken', id: 'gone', ifVersion: 1 }),
        conflict: 'tokenChanged',
      },
      {
        name: 'a claim on a match that is held (C15.9)',
        change: () => ({ kind: 'claimMatch', match, tokenId: 'gone', insteadOf: null }),
        conflict: 'matchTaken',
      },
      {
        name: 'a claim in place of a token that is not the holder (C15.9)',
        change: () => ({ kind: 'claimMatch', match, tokenId: 'gone', insteadOf: 'somebody' }),
        conflict: 'matchTaken',
      },
      {
        name: 'a claim in place of a holder that has let go (C15.9)',
        change: () => ({
          kind: 'claimMatch',
          match: matchOf(bytes('nobody holds it')),
          tokenId: 'gone',
          insteadOf: 'taken',
        }),
        conflict: 'matchTaken',
      },
      {
        name: 'an insert of a key version that exists (C31.7)',
        change: () => ({ kind: 'insertTenantKey', row: { ...key, wrapped: bytes('second') } }),
        conflict: 'keyExists',
      },
    ]

    for (const { name, change, conflict } of failing)
      for (const [place, arrange] of Object.entries({
        alone: (_fine: readonly GuardedChange[], bad: GuardedChange) => [bad],
        'before all others': (good: readonly GuardedChange[], bad: GuardedChange) => [bad, ...good],
        'after all others': (good: readonly GuardedChange[], bad: GuardedChange) => [...good, bad],
      }))
        test(`${name} (${place}) drops its whole set, and no other`, async () => {
          const tenant = await settled()
          const before = await state(tenant)
          const good = fine(tenant)
          const set = { ...good, guarded: arrange(good.guarded, change(tenant)) }
          const neighbour = (id: string) =>
            rig.store.commit(insertion(tenant, [{ row: tokenRow(tenant, id), terms: [] }]))
          const outcomes = await Promise.all([neighbour('first'), rig.store.commit(set), neighbour('last')])
          assert.deepEqual(outcomes, [committed, { committed: false, conflict }, committed])
          assertRows(await state(tenant), before)
          assert.ok(await rig.store.getToken(tenant, 'first'))
          assert.ok(await rig.store.getToken(tenant, 'last'))

          assert.deepEqual(await rig.store.commit(good), committed)
          assert.notDeepEqual(await state(tenant), before)
        })

    test('a set for a tenant that does not exist is dropped whole (C27.3)', async () => {
      const tenant = await rig.newTenant()
      const gone = tenant + 1_000
      const outcomes = await Promise.all([
        rig.store.commit(fine(gone)),
        rig.store.commit(insertion(tenant, [{ row: tokenRow(tenant, 'lives'), terms: [] }])),
      ])
      assert.deepEqual(outcomes, [{ committed: false, conflict: 'tenantGone' }, committed])
      assertRows(await state(gone), await state(gone + 1))
    })

    test('of several inserts under one id the first succeeds, and a set that inserts one id twice is dropped (C23.5, C16.4)', async () => {
      const tenant = await rig.newTenant()
      const insert = (id: string, sealed: string): GuardedChange => ({
        kind: 'insertToken',
        row: tokenRow(tenant, id, { sealed: bytes(sealed) }),
      })
      const outcomes = await Promise.all(
        ['first', 'second', 'third'].map(sealed =>
          rig.store.commit(writeSet(tenant, { guarded: [insert('contested', sealed)] })),
        ),
      )
      const lost = { committed: false, conflict: 'tokenExists' }
      assert.deepEqual(outcomes, [committed, lost, lost])
      assertRows((await rig.store.getToken(tenant, 'contested'))?.sealed, bytes('first'))
      assert.deepEqual(
        await rig.store.commit(writeSet(tenant, { guarded: [insert('twice', 'a'), insert('twice', 'b')] })),
        lost,
      )
      assert.equal(await rig.store.getToken(tenant, 'twice'), undefined)
    })

    test('of many writers that want the same thing over two connections exactly one gets it (C15.9, C18.8)', async () => {
      const other = await rig.again()
      const tenant = await settled()
      const race = async (contender: (store: Store, name: string) => Promise<Outcome>): Promise<number> => {
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, (_, i) => contender(i % 2 === 0 ? rig.store : other, `n${i}`)),
        )
        return outcomes.filter(outcome => outcome.committed).length
      }
      const guardedBy = (store: Store, change: GuardedChange) =>
        store.commit(writeSet(tenant, { guarded: [change], counters: [{ name: 'won', by: 1 }] }))
      const winners = [
        await race((store, tokenId) =>
          guardedBy(store, { kind: 'claimMatch', match: matchOf(bytes('wanted')), tokenId, insteadOf: null }),
        ),
        await race((store, tokenId) =>
          guardedBy(store, { kind: 'claimMatch', match, tokenId, insteadOf: 'taken' }),
        ),
        await race((store, name) =>
          guardedBy(store, {
            kind: 'updateToken',
            row: tokenRow(tenant, 'taken', { version: 4, sealed: bytes(name) }),
            ifVersion: 3,
          }),
        ),
        await race(store => guardedBy(store, { kind: 'deleteToken', id: 'taken', ifVersion: 4 })),
      ]
      assert.deepEqual(winners, [1, 1, 1, 1])
      assert.deepEqual(await rig.store.readCounters(tenant, ['won']), [{ name: 'won', value: 4, at: null }])
    })
  })

  describe('a set that cannot be stored', () => {
    const rig = new StoreRig(open)

    const poisons: Record<string, (tenant: number) => WriteSet> = {
      'a row with a column of an impossible type': tenant =>
        insertion(tenant, [
          { row: tokenRow(tenant, 'half'), terms: [bytes('half')] },
          { row: tokenRow(tenant, 'poison', { type: {} as string }), terms: [] },
        ]),
      'an effect with a column of an impossible type': tenant =>
        writeSet(tenant, {
          guarded: [{ kind: 'insertToken', row: tokenRow(tenant, 'half') }],
          effects: [
            terms('addTerms', tokenRow(tenant, 'half'), [bytes('half')]),
            { kind: 'putTransient', row: transientRow(tenant, 'half', { field: {} as string }) },
          ],
        }),
      'a counter that is not a number': tenant =>
        writeSet(tenant, {
          guarded: [{ kind: 'insertToken', row: tokenRow(tenant, 'half') }],
          effects: [terms('addTerms', tokenRow(tenant, 'half'), [bytes('half')])],
          counters: [{ name: 'n', by: Number.NaN }],
        }),
    }
    /** Fails whoever puts the set together for storage, after its weight was told. */
    const unpackable = (tenant: number): WriteSet => {
      let reads = 0
      const row = Object.defineProperty(tokenRow(tenant, 'half'), 'sealed', {
        get: () => {
          if (reads++ > 0) throw new RangeError('Maximum call stack size exceeded')
          return bytes('sealed')
        },
      })
      return writeSet(tenant, { guarded: [{ kind: 'insertToken', row }] })
    }
    for (const [name, poison] of Object.entries({ ...poisons, 'a set that cannot be packed': unpackable }))
      test(`${name} fails only its own set; others sent at the same moment are stored (C2.23)`, async () => {
        const tenant = await rig.newTenant()
        const good = (id: string) =>
          rig.store.commit({
            ...insertion(tenant, [{ row: tokenRow(tenant, id), terms: [] }]),
            counters: [{ name: 'n', by: 1 }],
          })
        const results = await Promise.allSettled([
          good('first'),
          rig.store.commit(poison(tenant)),
          good('second'),
          good('third'),
        ])
        assert.deepEqual(
          results.map(result => result.status),
          ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
        )
        assert.ok(isUnavailable((results[1] as PromiseRejectedResult).reason))
        for (const id of ['first', 'second', 'third'])
          assert.ok(await rig.store.getToken(tenant, id), `${id} is stored`)
        assert.equal(await rig.store.getToken(tenant, 'half'), undefined)
        assertRows((await rig.store.getTokens(tenant, ['half'])).transients, [])
        assert.equal(await rig.store.countTokens({ tenant, groups: [[bytes('half')]], now: 0 }), 0)
        assert.deepEqual(await rig.store.readCounters(tenant, ['n']), [{ name: 'n', value: 3, at: null }])
      })

    test('however many sets come at once, only the one with a taken id is refused (C27.1)', async () => {
      const tenant = await rig.newTenant()
      const create = (id: string) =>
        rig.store.commit(insertion(tenant, [{ row: tokenRow(tenant, id), terms: [] }]))
      await create('taken')
      const ids = Array.from({ length: 1_100 }, (_, number) => (number === 700 ? 'taken' : `token ${number}`))
      const outcomes = await Promise.all(ids.map(create))
      assert.equal(outcomes.filter(({ committed }) => committed).length, ids.length - 1)
      assert.deepEqual(outcomes[700], { committed: false, conflict: 'tokenExists' })
    })
  })

  describe('closing', () => {
    const rig = new StoreRig(open)

    test('a write accepted before closing is stored, and everything after is refused as unavailable (C27.1)', async () => {
      const tenant = await rig.newTenant()
      const closing = await rig.again()
      rig.forget(closing)
      const accepted = closing.commit(insertion(tenant, [{ row: tokenRow(tenant, 'last'), terms: [] }]))
      await closing.close()
      assert.deepEqual(await accepted, committed)
      assert.ok(await rig.store.getToken(tenant, 'last'))

      const late = insertion(tenant, [{ row: tokenRow(tenant, 'late'), terms: [] }])
      await assert.rejects(closing.commit(late), isUnavailable)
      await assert.rejects(closing.getToken(tenant, 'last'), isUnavailable)
      await assert.rejects(closing.purgeTransients(pendingAfter(0), 1), isUnavailable)
      await assert.rejects(closing.health(), isUnavailable)
      await rig.store.health()
      assert.equal(await rig.store.getToken(tenant, 'late'), undefined)
    })

    test('a write that comes while storage is closing is answered, and stored only if that is the answer (C2.23)', async () => {
      const tenant = await rig.newTenant()
      const moments = {
        'at once': () => {},
        'in the next tick': () => new Promise<void>(resolve => process.nextTick(resolve)),
        'in the next turn': () => new Promise<void>(resolve => setImmediate(resolve)),
      }
      for (const [id, moment] of Object.entries(moments)) {
        const closing = await rig.again()
        rig.forget(closing)
        // A writer that has not written yet has nothing to close.
        await closing.commit(insertion(tenant, [{ row: tokenRow(tenant, `before ${id}`), terms: [] }]))
        const closed = closing.close()
        await moment()
        const late = closing.commit(insertion(tenant, [{ row: tokenRow(tenant, id), terms: [] }]))
        const isStored = await late.then(
          () => true,
          error => {
            assert.ok(isUnavailable(error))
            return false
          },
        )
        await closed
        assert.equal((await rig.store.getToken(tenant, id)) !== undefined, isStored, id)
      }
    })
  })
}
