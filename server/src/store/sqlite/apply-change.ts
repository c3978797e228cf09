import type { DatabaseSync } from 'node:sqlite'
import type { TermRow, TokenRow } from '../rows.ts'
import type { Conflict, CounterMove, Effect, GuardedChange } from '../write-set.ts'
import { slotFiller } from './slots.ts'

type ChangeOf<C extends { kind: string }, K extends C['kind']> = Extract<C, { kind: K }>

/** Each answers with the condition that failed, if one did; no statement raises on a condition. */
type Guards = {
  readonly [K in GuardedChange['kind']]: (
    tenant: number,
    change: ChangeOf<GuardedChange, K>,
  ) => Conflict | undefined
}
type Effects = { readonly [K in Effect['kind']]: (tenant: number, effect: ChangeOf<Effect, K>) => void }

export type ApplyChanges = {
  guarded(tenant: number, change: GuardedChange): Conflict | undefined
  effect(tenant: number, effect: Effect): void
}

/** One prepared statement per kind of change. */
export const changeApplier = (database: DatabaseSync): ApplyChanges => {
  const insertToken = database.prepare(
    `INSERT INTO tokens (tenant, token_id, type, version, created_at, created_by, modified_at, modified_by,
       expires_at, transient_until, sealed) VALUES (?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
  )
  const updateToken = database.prepare(
    `UPDATE tokens SET version = ?, modified_at = ?, modified_by = ?, expires_at = ?, transient_until = ?, sealed = ?
     WHERE tenant = ? AND token_id = ? AND version = ?`,
  )
  const deleteToken = database.prepare('DELETE FROM tokens WHERE tenant = ? AND token_id = ? AND version = ?')
  const dropTransients = database.prepare('DELETE FROM transients WHERE tenant = ? AND token_id = ?')
  const dropTransient = database.prepare(
    'DELETE FROM transients WHERE tenant = ? AND token_id = ? AND field = ?',
  )
  const insertMatch = database.prepare(
    'INSERT INTO matches (tenant, match, token_id) VALUES (?,?,?) ON CONFLICT DO NOTHING',
  )
  const takeMatch = database.prepare(
    'UPDATE matches SET token_id = ? WHERE tenant = ? AND match = ? AND token_id = ?',
  )
  const releaseMatch = database.prepare('DELETE FROM matches WHERE tenant = ? AND match = ? AND token_id = ?')
  const addTerm = database.prepare(
    `INSERT INTO terms (tenant, term, created_at, token_id, expires_at) VALUES (?,?,?,?,?)
     ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at`,
  )
  const removeTerm = database.prepare(
    'DELETE FROM terms WHERE tenant = ? AND term = ? AND created_at = ? AND token_id = ?',
  )
  const insertTransient = database.prepare(
    'INSERT INTO transients (tenant, token_id, field, expires_at, slot) VALUES (?,?,?,?,?)',
  )
  const slotWith = slotFiller(database)
  const findTenantKey = database.prepare(
    'SELECT 1 FROM tenant_keys WHERE tenant = ? AND purpose = ? AND version = ?',
  )
  const insertTenantKey = database.prepare(
    'INSERT INTO tenant_keys (tenant, purpose, version, slot) VALUES (?,?,?,?)',
  )

  const when = (changed: { changes: number | bigint }, conflict: Conflict): Conflict | undefined =>
    changed.changes === 0 ? conflict : undefined

  const tokenValues = (row: TokenRow) =>
    [
      row.tenant,
      row.id,
      row.type,
      row.version,
      row.createdAt,
      row.createdBy,
      row.modifiedAt,
      row.modifiedBy,
      row.expiresAt,
      row.transientUntil,
      row.sealed,
    ] as const
  const termKey = (row: TermRow) => [row.tenant, row.term, row.createdAt, row.tokenId] as const

  const guards: Guards = {
    insertToken: (_tenant, { row }) => when(insertToken.run(...tokenValues(row)), 'tokenExists'),
    updateToken: (tenant, { row, ifVersion }) =>
      when(
        updateToken.run(
          row.version,
          row.modifiedAt,
          row.modifiedBy,
          row.expiresAt,
          row.transientUntil,
          row.sealed,
          tenant,
          row.id,
          ifVersion,
        ),
        'tokenChanged',
      ),
    deleteToken: (tenant, { id, ifVersion }) => {
      const conflict = when(deleteToken.run(tenant, id, ifVersion), 'tokenChanged')
      if (conflict === undefined) dropTransients.run(tenant, id)
      return conflict
    },
    claimMatch: (tenant, { match, tokenId, insteadOf }) =>
      when(
        insteadOf === null
          ? insertMatch.run(tenant, match, tokenId)
          : takeMatch.run(tokenId, tenant, match, insteadOf),
        'matchTaken',
      ),
    insertTenantKey: (tenant, { row }) => {
      // Looked up first: a slot that was filled for a row that exists would stay filled.
      if (findTenantKey.get(tenant, row.purpose, row.version) !== undefined) return 'keyExists'
      insertTenantKey.run(tenant, row.purpose, row.version, slotWith(row.wrapped))
      return undefined
    },
  }

  const effects: Effects = {
    releaseMatch: (tenant, { match, tokenId }) => {
      releaseMatch.run(tenant, match, tokenId)
    },
    addTerms: (_tenant, { rows }) => {
      for (const row of rows) addTerm.run(...termKey(row), row.expiresAt)
    },
    removeTerms: (_tenant, { rows }) => {
      for (const row of rows) removeTerm.run(...termKey(row))
    },
    putTransient: (tenant, { row }) => {
      dropTransient.run(tenant, row.tokenId, row.field)
      insertTransient.run(tenant, row.tokenId, row.field, row.expiresAt, slotWith(row.sealed))
    },
    dropTransient: (tenant, { tokenId, field }) => {
      dropTransient.run(tenant, tokenId, field)
    },
  }

  // The tables are complete by their types; only the pairing of a kind with its change is lost in the look-up.
  return {
    guarded: (tenant, change) =>
      (guards[change.kind] as (tenant: number, change: GuardedChange) => Conflict | undefined)(
        tenant,
        change,
      ),
    effect: (tenant, effect) =>
      (effects[effect.kind] as (tenant: number, effect: Effect) => void)(tenant, effect),
  }
}

export const counterMover = (database: DatabaseSync): ((tenant: number, move: CounterMove) => void) => {
  const move = database.prepare(
    `INSERT INTO counters (tenant, name, value, at) VALUES (?,?,?,?)
     ON CONFLICT DO UPDATE SET value = value + excluded.value, at = coalesce(max(at, excluded.at), excluded.at, at)`,
  )
  return (tenant, { name, by, at }) => {
    move.run(tenant, name, by, at ?? null)
  }
}
