import type { TokenRow, WithoutTenant } from '../rows.ts'
import {
  type CounterMove,
  CounterSums,
  type Effect,
  type GuardedChange,
  type Match,
  type WriteSet,
} from '../write-set.ts'
import { bytes, integer, text } from './json-values.ts'

/** The lists of changes that apply_changes takes (migrations/), one for each kind. */
export type PackedChanges = Readonly<Record<string, readonly Row[]>>
type Row = Readonly<Record<string, unknown>>

/**
 * A set as rows by kind. Throws if a value does not fit its column: PostgreSQL would turn anything in JSON into text,
 * and a set that cannot be stored must fail alone.
 */
export const packSet = ({ guarded, effects, counters }: WriteSet): PackedChanges => {
  const lists: Record<string, Row[]> = {}
  const add = (kind: string, row: Row): void => {
    const list = lists[kind]
    if (list === undefined) lists[kind] = [row]
    else list.push(row)
  }
  for (const change of guarded) add(...guardedRow(change))
  for (const effect of effects) add(...effectRow(effect))
  for (const row of sumCounters(counters)) add('counters', row)
  return lists
}

/** Merges several sets of one tenant as if they were one. */
export const mergeChanges = (sets: readonly PackedChanges[]): PackedChanges => {
  const lists: Record<string, Row[]> = {}
  for (const set of sets)
    for (const [kind, rows] of Object.entries(set)) {
      const list = lists[kind] ?? []
      lists[kind] = list
      // Not `push(...rows)`: with more rows than the stack holds it would throw, and the process's other sets would fail, too.
      for (const row of rows) list.push(row)
    }
  if (lists.counters !== undefined)
    lists.counters = sumCounters(
      lists.counters.map(({ name, by, at }) => ({ name, by, ...(at !== null && { at }) }) as CounterMove),
    )
  return lists
}

/** In the order of apply_changes's parameters. */
export const toParameters = ({
  insertToken,
  addTerms,
  claimMatch,
  keepResult,
  counters,
  ...more
}: PackedChanges): (string | null)[] => [
  ...[insertToken, addTerms, claimMatch, keepResult, counters].map(rows =>
    rows === undefined ? null : JSON.stringify(rows),
  ),
  Object.keys(more).length === 0 ? null : JSON.stringify(more),
]

const sumCounters = (moves: readonly CounterMove[]): Row[] => {
  const sums = new CounterSums()
  for (const move of moves) sums.add(move)
  return sums.moves.map(({ name, by, at }) => ({
    name: text(name),
    by: integer(by),
    at: integer(at ?? null),
  }))
}

const guardedRow = (change: GuardedChange): [kind: string, row: Row] => {
  switch (change.kind) {
    case 'insertToken': {
      const { row } = change
      return [
        change.kind,
        {
          ...changingColumns(row),
          type: text(row.type),
          created_at: integer(row.createdAt),
          created_by: text(row.createdBy),
          active_month: integer(row.activeMonth),
        },
      ]
    }
    case 'updateToken':
      return [change.kind, { ...changingColumns(change.row), if_version: integer(change.ifVersion) }]
    case 'expectToken': {
      const { id, sealed } = change
      return [change.kind, { token_id: text(id), sealed: sealed === null ? null : bytes(sealed) }]
    }
    case 'deleteToken':
      return [change.kind, { token_id: text(change.id), if_version: integer(change.ifVersion) }]
    case 'claimMatch': {
      const row = { ...matchRow(change.match), token_id: text(change.tokenId) }
      return change.insteadOf === null
        ? [change.kind, row]
        : ['takeMatch', { ...row, instead_of: text(change.insteadOf) }]
    }
    case 'insertTenantKey': {
      const { purpose, version, wrapped } = change.row
      return [change.kind, { purpose: text(purpose), version: integer(version), wrapped: bytes(wrapped) }]
    }
    case 'reviseTenant':
      return [change.kind, { if_revision: integer(change.ifRevision) }]
    case 'keepResult': {
      const { hash, expiresAt, sealed } = change.row
      return [
        change.kind,
        {
          hash: bytes(hash),
          expires_at: integer(expiresAt),
          sealed: bytes(sealed),
          now: integer(change.now),
        },
      ]
    }
    case 'replaceReport': {
      const { name, sealed, ifSealed } = change
      return [
        change.kind,
        {
          name: text(name),
          sealed: bytes(sealed),
          if_sealed: ifSealed === null ? null : bytes(ifSealed),
        },
      ]
    }
  }
}

const effectRow = (effect: Effect): [kind: string, row: Row] => {
  switch (effect.kind) {
    case 'releaseMatch':
      return [effect.kind, { ...matchRow(effect.match), token_id: text(effect.tokenId) }]
    case 'addTerms':
    case 'removeTerms': {
      const { tokenId, createdAt, expiresAt, signature } = effect.of
      // Keyed by term, because one statement cannot write the same row twice.
      const tags = new Map(
        effect.terms.map(({ term, tag }) => [bytes(term), tag === null ? null : bytes(tag)]),
      )
      return [
        effect.kind,
        {
          token_id: text(tokenId),
          created_at: integer(createdAt),
          expires_at: integer(expiresAt),
          signature: integer(signature),
          terms: [...tags.keys()],
          tags: [...tags.values()],
        },
      ]
    }
    case 'putTransient': {
      const { tokenId, field, expiresAt, sealed } = effect.row
      return [
        effect.kind,
        {
          token_id: text(tokenId),
          field: text(field),
          expires_at: integer(expiresAt),
          sealed: bytes(sealed),
        },
      ]
    }
    case 'dropTransient':
      return [effect.kind, { token_id: text(effect.tokenId), field: text(effect.field) }]
    case 'markActive': {
      const { ids, month, counter } = effect
      return [effect.kind, { ids: ids.map(text), month: integer(month), counter: text(counter) }]
    }
    case 'putReport':
      return [effect.kind, { name: text(effect.name), sealed: bytes(effect.sealed) }]
    case 'putDelivery': {
      const { webhookId, id, dueAt, sealed } = effect.row
      return [
        effect.kind,
        {
          webhook_id: text(webhookId),
          delivery_id: text(id),
          due_at: integer(dueAt),
          sealed: bytes(sealed),
        },
      ]
    }
    case 'hastenDelivery':
      return [
        effect.kind,
        { webhook_id: text(effect.webhookId), delivery_id: text(effect.id), at: integer(effect.at) },
      ]
    case 'dropDelivery':
      return [effect.kind, { webhook_id: text(effect.webhookId), delivery_id: text(effect.id) }]
    case 'dropDeliveries':
      return [effect.kind, { webhook_id: text(effect.webhookId) }]
    case 'putTenant':
      return [effect.kind, { sealed: bytes(effect.sealed) }]
    case 'deleteTenant':
      return [effect.kind, {}]
    case 'putApplication':
      return [effect.kind, { id: text(effect.id), sealed: bytes(effect.sealed) }]
    case 'deleteApplication':
      return [effect.kind, { id: text(effect.id) }]
    case 'putApiKey': {
      const { hash, id, applicationId, expiresAt, sealed } = effect.row
      return [
        effect.kind,
        {
          hash: bytes(hash),
          id: text(id),
          application_id: text(applicationId),
          expires_at: integer(expiresAt),
          sealed: bytes(sealed),
        },
      ]
    }
    case 'deleteApiKey':
      return [effect.kind, { application_id: text(effect.applicationId), id: text(effect.id) }]
    case 'putResource': {
      const { kind, id, hash, sealed } = effect.row
      return [
        effect.kind,
        {
          kind: text(kind),
          id: text(id),
          hash: hash === null ? null : bytes(hash),
          sealed: bytes(sealed),
        },
      ]
    }
    case 'deleteResource':
      return [effect.kind, { kind: text(effect.of), id: text(effect.id) }]
  }
}

/** The columns that an update writes as well. */
const changingColumns = (row: WithoutTenant<TokenRow>): Row => ({
  token_id: text(row.id),
  version: integer(row.version),
  modified_at: integer(row.modifiedAt),
  modified_by: row.modifiedBy === null ? null : text(row.modifiedBy),
  expires_at: integer(row.expiresAt),
  transient_until: integer(row.transientUntil),
  sealed: bytes(row.sealed),
})

const matchRow = ({ term, tag }: Match): Row => ({ term: bytes(term), tag: bytes(tag) })
