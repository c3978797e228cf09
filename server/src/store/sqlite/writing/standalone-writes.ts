import type { DatabaseSync } from 'node:sqlite'
import type { PendingDeadlines } from '../../../domain/time/instant.ts'
import * as columns from '../../columns.ts'
import type { StandaloneWrites } from '../../port.ts'
import type { KeyRow, LogHead, LogTreeRow, NewTenant } from '../../rows.ts'
import { vaultKeys } from '../../sql/statements.ts'
import { unwritable } from '../engine-reason.ts'
import { storageGuard } from '../own-storage.ts'
import { prepareRead, statementCache } from '../statement-cache.ts'
import { mendWaiting } from '../waiting-entries.ts'
import { logAppender } from './log-writes.ts'
import { purgeDeadTenants } from './purge-dead-tenants.ts'
import type { SealedBlock } from './sealed-sets.ts'
import { insertApiKey, insertApplication, insertTenantKey, slotFiller } from './shared-statements.ts'

/** The port's standalone writes as plain data, which may go to another thread. */
type PlainWrites = Omit<StandaloneWrites, 'createTenant' | 'cutLog'> & {
  createTenant(tenant: NewTenant, log: SealedBlock): Promise<number>
  // A cut in parts, so that other writes come in between.
  replaceLogTree(tree: LogTreeRow, ifSealed: Uint8Array): Promise<boolean>
  cutSomeBlocks(of: Omit<LogHead, 'size'>, before: number, limit: number): Promise<number>
}

export type StandaloneName = keyof PlainWrites
export type StandaloneArgs<Name extends StandaloneName> = Parameters<PlainWrites[Name]>
export type StandaloneResult<Name extends StandaloneName> = Awaited<ReturnType<PlainWrites[Name]>>

/** The port's standalone writes as the writing connection runs them: synchronously. */
export type SyncStandaloneWrites = {
  readonly [Name in StandaloneName]: (...args: StandaloneArgs<Name>) => StandaloneResult<Name>
}

const shredWaitMs = 100

/** A column may hold a value of any type. */
const isReadable = (column: string, min: number): string =>
  `(typeof(${column}) = 'integer' AND ${column} BETWEEN ${min} AND ${Number.MAX_SAFE_INTEGER})`

/** Storage is gapless, so what any of these tables has was once counted. */
const raiseHeads = `
  INSERT INTO log_heads (tenant, writer, size)
  SELECT tenant, writer, max(size) FROM (
    SELECT tenant, writer, first_record + records AS size FROM log WHERE tenant = ?
    UNION ALL SELECT tenant, writer, size FROM log_trees WHERE tenant = ?
    UNION ALL SELECT tenant, writer, size FROM log_leaves WHERE tenant = ?)
  WHERE ${isReadable('size', 0)} GROUP BY tenant, writer
  ON CONFLICT (tenant, writer) DO UPDATE SET size = excluded.size
  WHERE NOT ${isReadable('log_heads.size', 0)} OR log_heads.size < excluded.size`

export const syncStandaloneWrites = (database: DatabaseSync, lockWaitMs: number): SyncStandaloneWrites => {
  const prepared = statementCache(sql => prepareRead(database, sql))
  const slotWith = slotFiller(database)
  const appendBlock = logAppender(database)
  const requireOwnStorage = storageGuard(database)
  const transaction = <T>(work: () => T): T => {
    database.exec('BEGIN IMMEDIATE')
    try {
      requireOwnStorage()
      const result = work()
      database.exec('COMMIT')
      return result
    } catch (error) {
      if (database.isOpen && database.isTransaction) database.exec('ROLLBACK')
      throw error
    }
  }
  const purgeDue = (
    table: 'transients' | 'results',
    { after, upTo }: PendingDeadlines,
    limit: number,
  ): number => {
    const purge = (due: string, bound: number, rowsMax: number): number =>
      Number(
        prepared(
          `DELETE FROM ${table} WHERE rowid IN
             (SELECT rowid FROM ${table} WHERE expires_at ${due} ? ORDER BY expires_at LIMIT ?)`,
        ).run(bound, rowsMax).changes,
      )
    // Two statements: one with both conditions, in order, would walk all pending rows.
    return transaction(() => {
      const over = purge('<=', after, limit)
      return over + purge('>', upTo, limit - over)
    })
  }
  const readVaultKeys = (): KeyRow[] => prepared(vaultKeys).all().map(columns.keyRow)

  return {
    purgeTransients: (pending, limit) => purgeDue('transients', pending, limit),
    purgeResults: (pending, limit) => purgeDue('results', pending, limit),
    dropResult: (tenant, hash, { after, upTo }) =>
      transaction(() => {
        const drop = prepared(
          'DELETE FROM results WHERE tenant = ? AND hash = ? AND (expires_at <= ? OR expires_at > ?)',
        )
        drop.run(tenant, hash, after, upTo)
      }),
    purgeDeadTenants: limit => transaction(() => purgeDeadTenants(prepared, limit)),
    shred: () => {
      // Deleted bytes are zero in the newest page images; truncating the log removes the older images. Writers wait for that.
      // So if another process has a long read open (a backup), the next sweep truncates.
      database.exec(`PRAGMA busy_timeout = ${Math.min(lockWaitMs, shredWaitMs)}`)
      try {
        const result = prepared('PRAGMA wal_checkpoint(TRUNCATE)').get()
        if (Number(result?.busy) !== 0)
          throw unwritable('the log cannot be truncated while another process reads')
      } finally {
        database.exec(`PRAGMA busy_timeout = ${lockWaitMs}`)
      }
    },
    createTenant: ({ id, sealed, keys, applications, apiKeys }, log) =>
      transaction(() => {
        const insertTenant = prepared('INSERT INTO tenants (tenant_id, revision, sealed) VALUES (?,1,?)')
        const tenant = Number(insertTenant.run(id, sealed).lastInsertRowid)
        for (const { purpose, version, wrapped } of keys)
          prepared(insertTenantKey).run(tenant, purpose, version, slotWith(wrapped))
        for (const row of applications) prepared(insertApplication).run(tenant, row.id, row.sealed)
        for (const row of apiKeys)
          prepared(insertApiKey).run(row.hash, tenant, row.id, row.applicationId, row.expiresAt, row.sealed)
        prepared('INSERT INTO log_owners (tenant, tenant_id) VALUES (?,?)').run(tenant, id)
        appendBlock(tenant, log, log.records, null)
        return tenant
      }),
    putLogTree: ({ tenant, writer, size, sealed }, ifSize) =>
      transaction(() => {
        const put =
          ifSize === null
            ? prepared(
                'INSERT INTO log_trees (size, sealed, tenant, writer) VALUES (?,?,?,?) ON CONFLICT DO NOTHING',
              )
            : prepared(
                'UPDATE log_trees SET size = ?, sealed = ? WHERE tenant = ? AND writer = ? AND size = ?',
              )
        const values = [size, sealed, tenant, writer, ...(ifSize === null ? [] : [ifSize])]
        return Number(put.run(...values).changes) > 0
      }),
    putCheckpoint: ({ size, at, note, sealed }, leaves, ifSize) =>
      transaction(() => {
        const newest = prepared('SELECT 1 WHERE (SELECT max(size) FROM log_checkpoints) IS ?')
        if (newest.get(ifSize) === undefined) return false
        prepared('INSERT INTO log_checkpoints (size, at, note, sealed) VALUES (?,?,?,?)').run(
          size,
          at,
          note,
          sealed,
        )
        const append = prepared(
          'INSERT INTO log_leaves (position, tenant, writer, size, root) VALUES (?,?,?,?,?)',
        )
        for (const leaf of leaves) append.run(leaf.position, leaf.tenant, leaf.writer, leaf.size, leaf.root)
        return true
      }),
    replaceLogTree: ({ tenant, writer, size, sealed }, ifSealed) =>
      transaction(() => {
        const replace = prepared(
          'UPDATE log_trees SET size = ?, sealed = ? WHERE tenant = ? AND writer = ? AND sealed = ?',
        )
        return Number(replace.run(size, sealed, tenant, writer, ifSealed).changes) > 0
      }),
    cutSomeBlocks: ({ tenant, writer }, before, limit) =>
      transaction(() => {
        const cut = prepared(
          `DELETE FROM log WHERE rowid IN
             (SELECT rowid FROM log WHERE tenant = ? AND writer = ? AND first_record < ? AND first_record + records <= ?
              ORDER BY first_record LIMIT ?)`,
        )
        return Number(cut.run(tenant, writer, before, before, limit).changes)
      }),
    mendNumbers: tenant =>
      transaction(() => {
        prepared(`UPDATE tenants SET revision = 1 WHERE tenant = ? AND NOT ${isReadable('revision', 1)}`).run(
          tenant,
        )
        prepared(
          `UPDATE counters SET value = -1 WHERE tenant = ? AND NOT ${isReadable('value', Number.MIN_SAFE_INTEGER)}`,
        ).run(tenant)
        mendWaiting(database)
        return Number(prepared(raiseHeads).run(tenant, tenant, tenant).changes)
      }),
    noteKeyUse: uses =>
      transaction(() => {
        const note = prepared(
          'UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE hash = ?',
        )
        for (const { hash, at } of uses) note.run(at, hash)
      }),
    ensureVaultKeys: keys =>
      transaction(() => {
        const insert = prepared(
          'INSERT INTO vault_keys (purpose, version, wrapped) VALUES (?,?,?) ON CONFLICT DO NOTHING',
        )
        for (const key of keys) insert.run(key.purpose, key.version, key.wrapped)
        return readVaultKeys()
      }),
    replaceKey: (owner, { purpose, version, wrapped: before }, wrapped) =>
      transaction(() => {
        if (owner === 'vault') {
          const replace = prepared(
            'UPDATE vault_keys SET wrapped = ? WHERE purpose = ? AND version = ? AND wrapped = ?',
          )
          return Number(replace.run(wrapped, purpose, version, before).changes) > 0
        }
        // Deleting the row wipes its slot. The new bytes fill the same slot, unless they have another length.
        const remove = prepared(
          `DELETE FROM tenant_keys WHERE tenant = ? AND purpose = ? AND version = ?
             AND EXISTS (SELECT 1 FROM slots s WHERE s.slot = tenant_keys.slot AND s.bytes = ?)`,
        )
        if (Number(remove.run(owner, purpose, version, before).changes) === 0) return false
        prepared(insertTenantKey).run(owner, purpose, version, slotWith(wrapped))
        return true
      }),
    acquireLease: ({ name, holder, until }, now) =>
      transaction(() => {
        const take = prepared(
          `INSERT INTO leases (name, holder, until) VALUES (?,?,?)
           ON CONFLICT DO UPDATE SET holder = excluded.holder, until = excluded.until
             WHERE holder = excluded.holder OR until <= ? OR until > ?`,
        )
        return Number(take.run(name, holder, until, now, 2 * until - now).changes) > 0
      }),
    releaseLeases: (holder, names) =>
      transaction(() => {
        for (const name of names)
          prepared('DELETE FROM leases WHERE name = ? AND holder = ?').run(name, holder)
      }),
  }
}
