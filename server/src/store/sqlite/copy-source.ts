import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { Value } from '../columns.ts'
import { CopyRefusedError, type CopySource, type PlainRow, rowName } from '../copying.ts'
import { vaultKeys } from '../sql/statements.ts'
import type { ColumnKind, Table } from '../tables.ts'
import { isBusy } from './failure-codes.ts'
import { openFile, withoutForeignCode } from './open-database.ts'
import { requireOwnSchema } from './own-storage.ts'
import { prepareRead } from './statement-cache.ts'
import { isWaitingBroken } from './waiting-entries.ts'
import { BatchWriter } from './writing/batch-writer.ts'

/** Bounds the memory of a page, because one token may take a megabyte. */
const pageBytesMax = 8 * 1_048_576

/**
 * Tables whose rows SQLite stores differently: bytes that must not move are in slots, and the last use of a key is
 * stored with the key.
 */
const rowsOf: Readonly<Record<string, string>> = {
  key_uses: '(SELECT tenant, hash, last_used_at FROM api_keys WHERE last_used_at IS NOT NULL) key_uses',
  tenant_keys:
    '(SELECT t.*, s.bytes AS wrapped FROM tenant_keys t LEFT JOIN slots s ON s.slot = t.slot) tenant_keys',
  transients:
    '(SELECT t.*, s.bytes AS sealed FROM transients t LEFT JOIN slots s ON s.slot = t.slot) transients',
}

/**
 * Opens the file exclusively. SQLite allows this only if no other process has the file open, and then refuses all others. The kernel
 * releases the lock when a process dies, so no stale lock remains.
 */
export const openCopySource = (path: string): CopySource => {
  const database = withoutForeignCode(openFile(path))
  try {
    database.exec(
      'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON',
    )
    requireOwnSchema(database, path)
    // In a copy, no index entry waits.
    const writer = new BatchWriter(database)
    while (writer.settleSome() > 0);
    if (isWaitingBroken(database))
      throw new CopyRefusedError(
        `${path} no longer says which index entries wait for their places: run strongroom doctor --deep --repair on it`,
      )
    // A checkpoint, for what a killed server left in the log. From then on the file's size and time reveal any write.
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    database.close()
    if (!isBusy(error)) throw error
    throw new CopyRefusedError(`${path} is in use: stop the server or command that works on it`)
  }

  return {
    identity: identityOf(database, path),
    count: ({ name }) =>
      Number(database.prepare(`SELECT count(*) AS n FROM ${rowsOf[name] ?? name}`).get()?.n),
    *pages(table, skip, rowsPerPage) {
      const statement = prepareRead(
        database,
        `SELECT ${Object.keys(table.columns).join(', ')} FROM ${rowsOf[table.name] ?? table.name}
         ORDER BY ${table.key} LIMIT -1 OFFSET ?`,
      )
      statement.setReturnArrays(true)
      const checked = rowCheck(table)
      let page: PlainRow[] = []
      let bytes = 0
      for (const values of statement.iterate(skip)) {
        const row = checked(values as unknown as PlainRow)
        page.push(row)
        bytes += bytesIn(row)
        if (page.length < rowsPerPage && bytes < pageBytesMax) continue
        yield page
        page = []
        bytes = 0
      }
      if (page.length > 0) yield page
    },
    lastTenant: () =>
      Number(
        database
          .prepare(
            `SELECT max(n) AS n FROM (
               SELECT 0 AS n UNION ALL SELECT seq FROM sqlite_sequence WHERE name = 'tenants'
               UNION ALL SELECT tenant FROM tenants UNION ALL SELECT tenant FROM dead_tenants
               UNION ALL SELECT tenant FROM log_owners)`,
          )
          .get()?.n,
      ),
    forgetTransients: () => {
      // A trigger wipes their bytes in place (migrations/0001-vault.ts). The log has older images of the pages until it is truncated.
      database.exec('DELETE FROM transients; PRAGMA wal_checkpoint(TRUNCATE)')
      return identityOf(database, path)
    },
    close: () => database.close(),
  }
}

const identityOf = (database: DatabaseSync, path: string): string => {
  const { size, mtimeNs } = statSync(path, { bigint: true })
  const hash = createHash('sha256').update(`${size} ${mtimeNs}`)
  for (const { wrapped } of database.prepare(vaultKeys).all())
    if (wrapped instanceof Uint8Array) hash.update(wrapped)
  return hash.digest('hex')
}

/** SQLite's columns accept values of any kind; other engines' columns do not. The vault itself only writes the right kind. */
const rowCheck = (table: Table): ((row: PlainRow) => PlainRow) => {
  const kinds = Object.values(table.columns)
  return row => {
    if (kinds.every((kind, place) => isOfKind(row[place], kind))) return row
    throw new CopyRefusedError(
      `${rowName(table, row)} holds a value that the vault never wrote: restore the source from a backup`,
    )
  }
}

const isOfKind = (value: Value | undefined, kind: ColumnKind): boolean => {
  if (value === null) return kind.endsWith('?')
  if (kind.startsWith('integer')) return typeof value === 'bigint'
  if (kind.startsWith('text')) return typeof value === 'string' && !value.includes('\0')
  return value instanceof Uint8Array
}

const bytesIn = (row: PlainRow): number =>
  row.reduce((sum: number, value) => sum + (value instanceof Uint8Array ? value.length : 0), 0)
