import type { DatabaseSync } from 'node:sqlite'
import { tokenValues } from '../../../columns.ts'
import { tableNamed } from '../../../tables.ts'
import { rowNumberFor } from '../../row-number.ts'
import { counterMover, slotFiller } from '../shared-statements.ts'
import type { WaitingWrites } from '../waiting-writes.ts'
import { type Effects, type Guards, unlessChanged } from './appliers.ts'

type TokenGuard =
  | 'insertToken'
  | 'updateToken'
  | 'expectToken'
  | 'deleteToken'
  | 'claimMatch'
  | 'replaceReport'

export const tokenGuards = (database: DatabaseSync): Guards<TokenGuard> => {
  const columns = Object.keys(tableNamed('tokens').columns)
  const insertToken = database.prepare(
    `INSERT INTO tokens (rowid, ${columns.join(', ')}) VALUES (?${',?'.repeat(columns.length)})
     ON CONFLICT DO NOTHING`,
  )
  const updateToken = database.prepare(
    `UPDATE tokens SET version = ?, modified_at = ?, modified_by = ?, expires_at = ?, transient_until = ?, sealed = ?
     WHERE tenant = ? AND token_id = ? AND version = ?`,
  )
  const isSealedSo = database.prepare(
    'SELECT 1 WHERE (SELECT sealed FROM tokens WHERE tenant = ? AND token_id = ?) IS ?',
  )
  const deleteToken = database.prepare('DELETE FROM tokens WHERE tenant = ? AND token_id = ? AND version = ?')
  const dropTransients = database.prepare('DELETE FROM transients WHERE tenant = ? AND token_id = ?')
  const insertMatch = database.prepare(
    'INSERT INTO matches (tenant, term, tag, token_id) VALUES (?,?,?,?) ON CONFLICT DO NOTHING',
  )
  const takeMatch = database.prepare(
    'UPDATE matches SET token_id = ? WHERE tenant = ? AND term = ? AND tag = ? AND token_id = ?',
  )
  const insertReport = database.prepare(
    'INSERT INTO reports (tenant, name, sealed) VALUES (?,?,?) ON CONFLICT DO NOTHING',
  )
  const replaceReport = database.prepare(
    'UPDATE reports SET sealed = ? WHERE tenant = ? AND name = ? AND sealed = ?',
  )

  return {
    insertToken: (tenant, { row }) => {
      const values = tokenValues(tenant, row)
      const number = rowNumberFor(row)
      const inserted = insertToken.run(number, ...values)
      // The row number may be taken, not the id. Without a number, SQLite assigns the next free one.
      return inserted.changes === 0 && number !== null
        ? unlessChanged(insertToken.run(null, ...values), 'tokenExists')
        : unlessChanged(inserted, 'tokenExists')
    },
    updateToken: (tenant, { row, ifVersion }) =>
      unlessChanged(
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
      const conflict = unlessChanged(deleteToken.run(tenant, id, ifVersion), 'tokenChanged')
      if (conflict === undefined) dropTransients.run(tenant, id)
      return conflict
    },
    claimMatch: (tenant, { match, tokenId, insteadOf }) =>
      unlessChanged(
        insteadOf === null
          ? insertMatch.run(tenant, match.term, match.tag, tokenId)
          : takeMatch.run(tokenId, tenant, match.term, match.tag, insteadOf),
        'matchTaken',
      ),
    replaceReport: (tenant, { name, sealed, ifSealed }) =>
      unlessChanged(
        ifSealed === null
          ? insertReport.run(tenant, name, sealed)
          : replaceReport.run(sealed, tenant, name, ifSealed),
        'reportChanged',
      ),
  }
}

type TokenEffect =
  | 'releaseMatch'
  | 'addTerms'
  | 'removeTerms'
  | 'putTransient'
  | 'dropTransient'
  | 'markActive'
  | 'putReport'

export const tokenEffects = (database: DatabaseSync, waiting: WaitingWrites): Effects<TokenEffect> => {
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
  const dropTransient = database.prepare(
    'DELETE FROM transients WHERE tenant = ? AND token_id = ? AND field = ?',
  )
  const markActive = database.prepare(
    'UPDATE tokens SET active_month = ? WHERE tenant = ? AND token_id = ? AND active_month < ?',
  )
  const moveCounter = counterMover(database)
  const putReport = database.prepare(
    'INSERT INTO reports (tenant, name, sealed) VALUES (?,?,?) ON CONFLICT DO UPDATE SET sealed = excluded.sealed',
  )

  return {
    releaseMatch: (tenant, { match, tokenId }) => {
      releaseMatch.run(tenant, match.term, match.tag, tokenId)
    },
    addTerms: (tenant, { of, terms }, isNew) => {
      const { tokenId, createdAt, expiresAt, signature } = of
      const mayWait = isNew(tokenId)
      for (const entry of terms) {
        if (mayWait && waiting.add(tenant, of, entry)) continue
        addTerm.run(tenant, entry.term, createdAt, tokenId, expiresAt, entry.tag, signature)
      }
    },
    removeTerms: (tenant, { of, terms }) => {
      for (const entry of terms) {
        waiting.takeOut(tenant, of, entry)
        removeTerm.run(tenant, entry.term, of.createdAt, of.tokenId)
      }
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
  }
}
