import type { IndexTerm, TokenRow } from '../rows.ts'
import { tokenValues } from '../sql/columns.ts'
import type { Effect, GuardedChange, WriteSet } from '../write-set.ts'

/**
 * Write sets on their way to the writing thread. What every create carries travels as one text for the whole
 * batch, bytes as base64: cloned as objects a set costs the main thread 13 µs, as flat lists 9, like this 3.
 * The rarer kinds are cloned; in the text a number stands for their place in `others`.
 */
export type PackedSets = {
  readonly count: number
  readonly text: string
  readonly others: readonly (GuardedChange | Effect)[]
}

type PackedSet = readonly [
  tenant: number,
  guarded: readonly (PackedRow | number)[],
  effects: readonly (PackedTerms | number)[],
  counters: readonly (string | number | null)[],
]
type PackedRow = readonly (string | number | null)[]
type PackedTerms = readonly [
  isRemoved: 0 | 1,
  tokenId: string,
  createdAt: number,
  expiresAt: number | null,
  signature: number | null,
  ...terms: (string | null)[],
]

const toText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
const toBytes = (text: string): Buffer => Buffer.from(text, 'base64')

export const packSets = (sets: readonly WriteSet[]): PackedSets => {
  const others: (GuardedChange | Effect)[] = []
  const set = ({ tenant, guarded, effects, counters }: WriteSet): PackedSet => [
    tenant,
    guarded.map(change => (change.kind === 'insertToken' ? packRow(change.row) : others.push(change) - 1)),
    effects.map(effect =>
      effect.kind === 'addTerms' || effect.kind === 'removeTerms'
        ? packTerms(effect)
        : others.push(effect) - 1,
    ),
    counters.flatMap(({ name, by, at }) => [name, by, at ?? null]),
  ]
  return { count: sets.length, text: JSON.stringify(sets.map(set)), others }
}

export const unpackSets = ({ text, others }: PackedSets): WriteSet[] =>
  (JSON.parse(text) as PackedSet[]).map(([tenant, guarded, effects, counters]) => ({
    tenant,
    guarded: guarded.map(change =>
      typeof change === 'number'
        ? (others[change] as GuardedChange)
        : { kind: 'insertToken', row: unpackRow(tenant, change) },
    ),
    effects: effects.map(effect =>
      typeof effect === 'number' ? (others[effect] as Effect) : unpackTerms(effect),
    ),
    counters: unpackCounters(counters),
  }))

const packRow = (row: TokenRow): PackedRow => {
  const values: (string | number | null)[] = tokenValues(row).slice(1, -1) as (string | number | null)[]
  values.push(toText(row.sealed))
  return values
}

/** As it was packed: `tokenRow` would make something storable of a value that storage must refuse. */
const unpackRow = (tenant: number, packed: PackedRow): TokenRow => {
  const [
    id,
    type,
    version,
    createdAt,
    createdBy,
    modifiedAt,
    modifiedBy,
    expiresAt,
    transientUntil,
    activeMonth,
    sealed,
  ] = packed as unknown as [
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
    activeMonth,
    sealed: toBytes(sealed),
  }
}

const packTerms = ({
  kind,
  of,
  terms,
}: Extract<Effect, { kind: 'addTerms' | 'removeTerms' }>): PackedTerms => {
  const packed: [0 | 1, string, number, number | null, number | null, ...(string | null)[]] = [
    kind === 'addTerms' ? 0 : 1,
    of.tokenId,
    of.createdAt,
    of.expiresAt,
    of.signature,
  ]
  for (const { term, tag } of terms) packed.push(toText(term), tag === null ? null : toText(tag))
  return packed
}

const unpackTerms = (packed: PackedTerms): Effect => {
  const [isRemoved, tokenId, createdAt, expiresAt, signature] = packed
  const terms: IndexTerm[] = []
  for (let at = 5; at < packed.length; at += 2) {
    const tag = packed[at + 1] as string | null
    terms.push({ term: toBytes(packed[at] as string), tag: tag === null ? null : toBytes(tag) })
  }
  return {
    kind: isRemoved === 0 ? 'addTerms' : 'removeTerms',
    of: { tokenId, createdAt, expiresAt, signature },
    terms,
  }
}

const unpackCounters = (packed: readonly (string | number | null)[]): WriteSet['counters'] => {
  const moves: WriteSet['counters'][number][] = []
  for (let at = 0; at < packed.length; at += 3) {
    const name = packed[at] as string
    // JSON writes null for what is no number; as such storage refuses it.
    const by = (packed[at + 1] as number | null) ?? Number.NaN
    const when = packed[at + 2] as number | null
    moves.push(when === null ? { name, by } : { name, by, at: when })
  }
  return moves
}
