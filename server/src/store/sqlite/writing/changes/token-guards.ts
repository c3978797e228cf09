import type { DatabaseSync } from 'node:sqlite'
import { tokenValues } from '../../../columns.ts'
import { tableNamed } from '../../../tables.ts'
import { rowNumberFor } from '../../row-number.ts'
import { type Guards, unlessChanged } from './appliers.ts'

type TokenGuard = 'insertToken' | 'updateToken' | 'expectToken' | 'deleteToken' | 'claimMatch'

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

  return {
    insertToken: (tenant, { row }) => {
      const values = tokenValues(tenant, row)
      const number = rowNumberFor(row)
      const inserted = insertToken.run(number, ...values)
      // The number may be taken rather than the id. Given no number, SQLite assigns the next free one.
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
  }
}
