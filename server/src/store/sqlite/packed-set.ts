import type { IndexTerm, TokenRow } from '../rows.ts'
import { tokenValues } from '../sql/columns.ts'
import type { Effect, GuardedChange, WriteSet } from '../write-set.ts'

/**
 * A write set on its way to the writing thread. What every create carries travels as flat lists of text and
 * numbers, bytes as Latin-1 text: cloned as the objects they are, a set costs 13 µs, like this 2.
 */
export type PackedSet = readonly [
  tenant: number,
  guarded: readonly (PackedRow | GuardedChange)[],
  effects: readonly (PackedTerms | Effect)[],
  counters: readonly (string | number | undefined)[],
]

type PackedRow = readonly ['insertToken', ...(string | number | null)[]]
type PackedTerms = readonly [
  kind: 'addTerms' | 'removeTerms',
  tokenId: string,
  createdAt: number,
  expiresAt: number | null,
  ...terms: (string | null)[],
]

const toText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
const toBytes = (text: string): Buffer => Buffer.from(text, 'latin1')

export const packSet = ({ tenant, guarded, effects, counters }: WriteSet): PackedSet => [
  tenant,
  guarded.map(change => (change.kind === 'insertToken' ? packRow(change.row) : change)),
  effects.map(effect =>
    effect.kind === 'addTerms' || effect.kind === 'removeTerms' ? packTerms(effect) : effect,
  ),
  counters.flatMap(({ name, by, at }) => [name, by, at]),
]

export const unpackSet = ([tenant, guarded, effects, counters]: PackedSet): WriteSet => ({
  tenant,
  guarded: guarded.map(change =>
    isPacked(change) ? { kind: 'insertToken', row: unpackRow(tenant, change) } : change,
  ),
  effects: effects.map(effect => (isPacked(effect) ? unpackTerms(effect) : effect)),
  counters: Array.from({ length: counters.length / 3 }, (_, index) => {
    const [name, by, at] = counters.slice(index * 3, index * 3 + 3) as [string, number, number | undefined]
    return { name, by, ...(at !== undefined && { at }) }
  }),
})

const isPacked = <T extends readonly unknown[], O>(value: T | O): value is T => Array.isArray(value)

const packRow = (row: TokenRow): PackedRow => {
  const [, ...values] = tokenValues(row)
  return ['insertToken', ...values.slice(0, -1), toText(row.sealed)] as unknown as PackedRow
}

const unpackRow = (tenant: number, packed: PackedRow): TokenRow => {
  const [
    ,
    id,
    type,
    version,
    createdAt,
    createdBy,
    modifiedAt,
    modifiedBy,
    expiresAt,
    transientUntil,
    month,
    sealed,
  ] = packed as unknown as [
    string,
    string,
    string,
    number,
    number,
    string,
    number | null,
    string | null,
    number | null,
    number | null,
    number,
    string,
  ]
  return {
    tenant,
    id,
    type,
    version,
    createdAt,
    createdBy,
    modifiedAt,
    modifiedBy,
    expiresAt,
    transientUntil,
    activeMonth: month,
    sealed: toBytes(sealed),
  }
}

const packTerms = ({
  kind,
  of,
  terms,
}: Extract<Effect, { kind: 'addTerms' | 'removeTerms' }>): PackedTerms => [
  kind,
  of.tokenId,
  of.createdAt,
  of.expiresAt,
  ...terms.flatMap(({ term, tag }) => [toText(term), tag === null ? null : toText(tag)]),
]

const unpackTerms = ([kind, tokenId, createdAt, expiresAt, ...packed]: PackedTerms): Effect => {
  const terms: IndexTerm[] = []
  for (let at = 0; at < packed.length; at += 2) {
    const tag = packed[at + 1] ?? null
    terms.push({ term: toBytes(packed[at] ?? ''), tag: tag === null ? null : toBytes(tag) })
  }
  return { kind, of: { tokenId, createdAt, expiresAt }, terms }
}
