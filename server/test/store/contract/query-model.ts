import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ColumnCondition, TokenBranch, TokenQuery } from '../../../src/store/port.ts'
import { signatureOf, type TokenRow } from '../../../src/store/rows.ts'
import type { WriteSet } from '../../../src/store/write-set.ts'
import { tries } from '../../rig/long-run.ts'
import { fc } from '../../rig/properties.ts'
import { bytes, type OpenStore, StoreRig, tag, terms, tokenRow, writeSet } from './rig.ts'

/** Any query that the port can express, against a list that is searched from end to end. */
export const queryModelContract = (open: OpenStore): void => {
  describe('queries against a naive model', () => {
    const rig = new StoreRig(open)

    test('lists and counts agree with the model (C24.4, C24.10, C25.2, C26.4, C26.5)', async () => {
      await fc.assert(
        fc.asyncProperty(
          shelves,
          fc.array(asked, { minLength: 1, maxLength: 12 }),
          async (shelf, queries) => {
            const tenant = await rig.newTenant()
            const tokens = shelf.map(({ id, terms: names, isRemoved, ...columns }) => ({
              row: tokenRow(tenant, id, columns),
              names,
              isRemoved,
            }))
            await rig.write(insertionOf(tenant, tokens))
            await rig.write(
              removal(
                tenant,
                tokens.filter(token => token.isRemoved),
              ),
            )
            const kept = tokens.filter(token => !token.isRemoved)
            for (const { branches, now, after, page } of queries) {
              const query: TokenQuery = {
                tenant,
                now,
                ...(after && { after }),
                ...(branches.length === 1 && branches[0]
                  ? hashed(branches[0])
                  : { anyOf: branches.map(hashed) }),
              }
              const found = kept
                .filter(({ row }) => row.expiresAt === null || row.expiresAt > now)
                .filter(({ row }) => after === undefined || newestFirst(after, row) < 0)
                .filter(token => branches.some(branch => holds(branch, token)))
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
        { numRuns: tries(40) },
      )
    })
  })
}

type Place = { readonly createdAt: number; readonly id: string }
type Span = { readonly from?: number; readonly until?: number }
type Branch = {
  readonly groups: readonly (readonly string[])[]
  readonly ids?: readonly string[]
  readonly without: readonly string[]
  readonly withoutIds: readonly string[]
  readonly createdAt: Span
  readonly notCreatedAt: readonly Span[]
  readonly columns: readonly ColumnCondition[]
}

const names = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)
const compareIds = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
const newestFirst = (a: Place, b: Place): number => b.createdAt - a.createdAt || compareIds(a.id, b.id)

const isWithin = (moment: number, { from = 0, until = Number.POSITIVE_INFINITY }: Span): boolean =>
  moment >= from && moment < until

const holds = (branch: Branch, { row, names: own }: { row: TokenRow; names: readonly string[] }): boolean =>
  branch.groups.every(group => group.some(term => own.includes(term))) &&
  (branch.ids === undefined || branch.ids.includes(row.id)) &&
  !branch.without.some(term => own.includes(term)) &&
  !branch.withoutIds.includes(row.id) &&
  isWithin(row.createdAt, branch.createdAt) &&
  !branch.notCreatedAt.some(span => isWithin(row.createdAt, span)) &&
  branch.columns.every(condition => columnHolds(condition, row) !== condition.negated)

const columnHolds = (condition: ColumnCondition, row: TokenRow): boolean =>
  'is' in condition
    ? row[condition.column] === condition.is
    : row.modifiedAt !== null && isWithin(row.modifiedAt, condition.within)

const hashed = (branch: Branch): TokenBranch => ({
  ...branch,
  groups: branch.groups.map(group => group.map(bytes)),
  without: branch.without.map(bytes),
})

// Few terms, ids and times, so that overlaps and ties are common. Some ids sort differently by UTF-16 units.
const termName = fc.constantFrom('p', 'q', 'r', 's')
const idName: fc.Arbitrary<string> = fc.constantFrom(
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
const moment = fc.integer({ min: 1, max: 4 })
const shelves = fc.uniqueArray(
  fc.record({
    id: idName,
    createdAt: moment,
    expiresAt: fc.option(moment),
    createdBy: fc.constantFrom('one', 'other'),
    modifiedBy: fc.option(fc.constantFrom('one', 'other')),
    modifiedAt: fc.option(moment),
    terms: fc.uniqueArray(termName, { minLength: 1 }),
    isRemoved: fc.boolean(),
  }),
  { selector: token => token.id, maxLength: 12 },
)

const group = fc.array(termName, { minLength: 1, maxLength: 4 })
const span: fc.Arbitrary<Span> = fc.record({ from: moment, until: moment }, { requiredKeys: [] })
const rarely = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant<T[]>([]) }, fc.array(values, { maxLength: 2 }))
const column: fc.Arbitrary<ColumnCondition> = fc.oneof(
  fc.record({
    column: fc.constantFrom('createdBy' as const, 'modifiedBy' as const),
    is: fc.constantFrom('one', 'other'),
    negated: fc.boolean(),
  }),
  fc.record({ column: fc.constant('modifiedAt' as const), within: span, negated: fc.boolean() }),
)
const narrowing = {
  without: rarely(termName),
  withoutIds: rarely(idName),
  createdAt: fc.oneof(fc.constant<Span>({}), span),
  notCreatedAt: rarely(span),
  columns: rarely(column),
}
const branch: fc.Arbitrary<Branch> = fc.oneof(
  fc.record({ ...narrowing, groups: fc.array(group, { minLength: 1, maxLength: 3 }) }),
  fc.record({ ...narrowing, groups: fc.array(group, { maxLength: 2 }), ids: fc.array(idName) }),
)
const asked = fc.record({
  branches: fc.oneof(fc.tuple(branch), fc.array(branch, { maxLength: 4 })),
  now: moment,
  after: fc.option(fc.record({ createdAt: moment, id: idName }), { nil: undefined }),
  page: fc.record({ offset: fc.nat(6), limit: fc.nat(12) }),
})

const insertionOf = (
  tenant: number,
  tokens: readonly { row: TokenRow; names: readonly string[] }[],
): WriteSet =>
  writeSet(tenant, {
    guarded: tokens.map(({ row }) => ({ kind: 'insertToken', row })),
    effects: tokens.map(({ row, names: own }) => ({
      kind: 'addTerms',
      of: {
        tokenId: row.id,
        createdAt: row.createdAt,
        expiresAt: row.expiresAt,
        signature: signatureOf(own.map(bytes)),
      },
      terms: own.map(name => ({ term: bytes(name), tag })),
    })),
  })

const removal = (tenant: number, tokens: readonly { row: TokenRow; names: readonly string[] }[]): WriteSet =>
  writeSet(tenant, {
    guarded: tokens.map(({ row }) => ({ kind: 'deleteToken', id: row.id, ifVersion: row.version })),
    effects: tokens.map(({ row, names: own }) => terms('removeTerms', row, own.map(bytes))),
  })
