import type { DatabaseSync } from 'node:sqlite'
import { tokenValues } from '../columns.ts'
import { tableNamed } from '../tables.ts'
import type { Conflict, Effect, GuardedChange } from '../write-set.ts'
import { counterMover } from './counter-mover.ts'
import { type EffectAppliers, grantEffects } from './grant-effects.ts'
import { rowNumberFor } from './row-number.ts'
import { slotFiller } from './slots.ts'

type ChangeOf<C extends { kind: string }, K extends C['kind']> = Extract<C, { kind: K }>

/** Each answers with the condition that failed, if one did; no statement raises on a condition. */
type Guards = {
  readonly [K in GuardedChange['kind']]: (
    tenant: number,
    change: ChangeOf<GuardedChange, K>,
  ) => Conflict | undefined
}
type Effects = EffectAppliers<Effect['kind']>

export type ApplyChanges = {
  guarded(tenant: number, change: GuardedChange): Conflict | undefined
  effect(tenant: number, effect: Effect): void
}

/** One prepared statement per kind of change. */
export const changeApplier = (database: DatabaseSync): ApplyChanges => {
  const columns = Object.keys(tableNamed('tokens').columns)
  const insertToken = database.prepare(
    `INSERT INTO tokens (rowid, ${columns.join(', ')}) VALUES (?${',?'.repeat(columns.length)})
     ON CONFLICT DO NOTHING`,
  )
  const updateToken = database.prepare(
    `UPDATE tokens SET version = ?, modified_at = ?, modified_by = ?, expires_at = ?, transient_until = ?, sealed = ?
     WHERE tenant = ? AND token_id = ? AND version = ?`,
  )
  const deleteToken = database.prepare('DELETE FROM tokens WHERE tenant = ? AND token_id = ? AND version = ?')
  const isSealedSo = database.prepare(
    'SELECT 1 WHERE (SELECT sealed FROM tokens WHERE tenant = ? AND token_id = ?) IS ?',
  )
  const dropTransients = database.prepare('DELETE FROM transients WHERE tenant = ? AND token_id = ?')
  const dropTransient = database.prepare(
    'DELETE FROM transients WHERE tenant = ? AND token_id = ? AND field = ?',
  )
  const insertMatch = database.prepare(
    'INSERT INTO matches (tenant, term, tag, token_id) VALUES (?,?,?,?) ON CONFLICT DO NOTHING',
  )
  const takeMatch = database.prepare(
    'UPDATE matches SET token_id = ? WHERE tenant = ? AND term = ? AND tag = ? AND token_id = ?',
  )
  const releaseMatch = database.prepare(
    'DELETE FROM matches WHERE tenant = ? AND term = ? AND tag = ? AND token_id = ?',
  )
  const addTerm = database.prepare(
    `INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature) VALUES (?,?,?,?,?,?,?)
     ON CONFLICT DO UPDATE
       SET expires_at = excluded.expires_at, tag = excluded.tag, signature = excluded.signature`,
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
  const reviseTenant = database.prepare(
    'UPDATE tenants SET revision = revision + 1 WHERE tenant = ? AND revision = ?',
  )
  const advanceEpoch = database.prepare('UPDATE grants_epoch SET epoch = epoch + 1 WHERE id = 1')
  const keepResult = database.prepare(
    `INSERT INTO results (tenant, hash, expires_at, sealed) VALUES (?,?,?,?)
     ON CONFLICT DO UPDATE SET expires_at = excluded.expires_at, sealed = excluded.sealed
       WHERE expires_at <= ?`,
  )
  const markActive = database.prepare(
    'UPDATE tokens SET active_month = ? WHERE tenant = ? AND token_id = ? AND active_month < ?',
  )
  const putReport = database.prepare(
    'INSERT INTO reports (tenant, name, sealed) VALUES (?,?,?) ON CONFLICT DO UPDATE SET sealed = excluded.sealed',
  )
  const moveCounter = counterMover(database)
  const grants = grantEffects(database)

  const when = (changed: { changes: number | bigint }, conflict: Conflict): Conflict | undefined =>
    changed.changes === 0 ? conflict : undefined

  const guards: Guards = {
    insertToken: (_tenant, { row }) => {
      const values = tokenValues(row)
      const number = rowNumberFor(row)
      const inserted = insertToken.run(number, ...values)
      // It may be the number that is taken, and not the id. Without a number SQLite gives the next free one.
      return inserted.changes === 0 && number !== null
        ? when(insertToken.run(null, ...values), 'tokenExists')
        : when(inserted, 'tokenExists')
    },
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
    expectToken: (tenant, { id, sealed }) =>
      isSealedSo.get(tenant, id, sealed) === undefined ? 'tokenChanged' : undefined,
    deleteToken: (tenant, { id, ifVersion }) => {
      const conflict = when(deleteToken.run(tenant, id, ifVersion), 'tokenChanged')
      if (conflict === undefined) dropTransients.run(tenant, id)
      return conflict
    },
    claimMatch: (tenant, { match, tokenId, insteadOf }) =>
      when(
        insteadOf === null
          ? insertMatch.run(tenant, match.term, match.tag, tokenId)
          : takeMatch.run(tokenId, tenant, match.term, match.tag, insteadOf),
        'matchTaken',
      ),
    insertTenantKey: (tenant, { row }) => {
      // Looked up before a slot is filled: one that was filled in vain would stay filled.
      if (findTenantKey.get(tenant, row.purpose, row.version) !== undefined) return 'keyExists'
      insertTenantKey.run(tenant, row.purpose, row.version, slotWith(row.wrapped))
      advanceEpoch.run()
      return undefined
    },
    reviseTenant: (tenant, { ifRevision }) => {
      const conflict = when(reviseTenant.run(tenant, ifRevision), 'tenantRevised')
      if (conflict === undefined) advanceEpoch.run()
      return conflict
    },
    keepResult: (tenant, { row, now }) =>
      when(keepResult.run(tenant, row.hash, row.expiresAt, row.sealed, now), 'resultKept'),
  }

  const effects: Effects = {
    releaseMatch: (tenant, { match, tokenId }) => {
      releaseMatch.run(tenant, match.term, match.tag, tokenId)
    },
    addTerms: (tenant, { of: { tokenId, createdAt, expiresAt, signature }, terms }) => {
      for (const { term, tag } of terms)
        addTerm.run(tenant, term, createdAt, tokenId, expiresAt, tag, signature)
    },
    removeTerms: (tenant, { of: { tokenId, createdAt }, terms }) => {
      for (const { term } of terms) removeTerm.run(tenant, term, createdAt, tokenId)
    },
    putTransient: (tenant, { row }) => {
      dropTransient.run(tenant, row.tokenId, row.field)
      insertTransient.run(tenant, row.tokenId, row.field, row.expiresAt, slotWith(row.sealed))
    },
    dropTransient: (tenant, { tokenId, field }) => {
      dropTransient.run(tenant, tokenId, field)
    },
    markActive: (tenant, { ids, month, counter }) => {
      let changed = 0
      for (const id of ids) changed += Number(markActive.run(month, tenant, id, month).changes)
      if (changed > 0) moveCounter(tenant, { name: counter, by: changed })
    },
    putReport: (tenant, { name, sealed }) => {
      putReport.run(tenant, name, sealed)
    },
    ...grants,
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
