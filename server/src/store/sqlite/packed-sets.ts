import type { IndexTerm, TokenRow } from '../rows.ts'
import { tokenValues } from '../sql/columns.ts'
import type { CounterMove, Effect, GuardedChange, WriteSet } from '../write-set.ts'
import { type PackedValue, ValueReader, ValueWriter } from './packed-values.ts'

/**
 * Write sets on their way to the writing thread. What every create carries travels as one run of bytes for the whole
 * batch: cloned as objects a set costs the main thread 13 µs, as JSON with base64 4, like this 2. The rarer kinds are
 * cloned; among the values a number stands for their place in `others`.
 */
export type PackedSets = {
  readonly count: number
  readonly bytes: Uint8Array
  readonly others: readonly (GuardedChange | Effect)[]
}

type Terms = Extract<Effect, { kind: 'addTerms' | 'removeTerms' }>

/** What comes next, where it is not the place of one that is cloned. */
const row = 'row'
const added = 'added'
const removed = 'removed'

/** Packing never pauses, so one for all. */
const writer = new ValueWriter()

export const packSets = (sets: readonly WriteSet[]): PackedSets => {
  // Not at the end: whoever fails half way, for want of memory, leaves something behind.
  writer.clear()
  const others: (GuardedChange | Effect)[] = []
  const clone = (change: GuardedChange | Effect): void => writer.add(others.push(change) - 1)
  for (const { tenant, guarded, effects, counters } of sets) {
    addAll([tenant, guarded.length, effects.length, counters.length])
    for (const change of guarded)
      if (change.kind === 'insertToken') packRow(change.row)
      else clone(change)
    for (const effect of effects)
      if (effect.kind === 'addTerms' || effect.kind === 'removeTerms') packTerms(effect)
      else clone(effect)
    for (const { name, by, at } of counters) addAll([name, by, at ?? null])
  }
  return { count: sets.length, bytes: writer.copy(), others }
}

export const unpackSets = ({ count, bytes, others }: PackedSets): WriteSet[] => {
  const reader = new ValueReader(bytes)
  return listOf(count, () => {
    const tenant = reader.next<number>()
    const [changes, effects, moves] = [reader.next<number>(), reader.next<number>(), reader.next<number>()]
    return {
      tenant,
      guarded: listOf(changes, () => {
        const next = reader.next<typeof row | number>()
        if (next !== row) return others[next] as GuardedChange
        return { kind: 'insertToken', row: unpackRow(reader) }
      }),
      effects: listOf(effects, () => {
        const next = reader.next<typeof added | typeof removed | number>()
        return typeof next === 'number'
          ? (others[next] as Effect)
          : unpackTerms(next === added ? 'addTerms' : 'removeTerms', reader)
      }),
      counters: listOf(moves, () => unpackMove(reader)),
    }
  })
}

const addAll = (values: readonly PackedValue[]): void => {
  for (const value of values) writer.add(value)
}

const listOf = <T>(length: number, next: () => T): T[] => {
  const list: T[] = []
  while (list.length < length) list.push(next())
  return list
}

const packRow = (columns: TokenRow): void => {
  writer.add(row)
  addAll(tokenValues(columns))
}

/** As it was packed: `tokenRow` would make something storable of a value that storage must refuse. */
const unpackRow = (reader: ValueReader): TokenRow => ({
  tenant: reader.next(),
  id: reader.next(),
  type: reader.next(),
  version: reader.next(),
  createdAt: reader.next(),
  createdBy: reader.next(),
  modifiedAt: reader.next(),
  modifiedBy: reader.next(),
  expiresAt: reader.next(),
  transientUntil: reader.next(),
  activeMonth: reader.next(),
  sealed: reader.next(),
})

const packTerms = ({ kind, of, terms }: Terms): void => {
  writer.add(kind === 'addTerms' ? added : removed)
  addAll([of.tokenId, of.createdAt, of.expiresAt, of.signature, terms.length])
  for (const { term, tag } of terms) addAll([term, tag])
}

const unpackTerms = (kind: Terms['kind'], reader: ValueReader): Terms => ({
  kind,
  of: {
    tokenId: reader.next(),
    createdAt: reader.next(),
    expiresAt: reader.next(),
    signature: reader.next(),
  },
  terms: listOf(reader.next(), (): IndexTerm => ({ term: reader.next(), tag: reader.next() })),
})

const unpackMove = (reader: ValueReader): CounterMove => {
  const move = { name: reader.next<string>(), by: reader.next<number>() }
  const at = reader.next<number | null>()
  return at === null ? move : { ...move, at }
}
