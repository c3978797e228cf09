import { type Store, StoreUnavailableError } from '../port.ts'
import * as columns from './columns.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open-database.ts'
import { slotFiller } from './slots.ts'
import { prepareRead, statementCache } from './statement-cache.ts'
import { indexQuery } from './token-query.ts'
import { SqliteWriter } from './writer.ts'

const shredWaitMs = 100

/**
 * The embedded engine: one file, one writer, durable at every commit. `lockWaitMs` is how long a write waits
 * for another process, such as the command line, to finish its own.
 */
export const openSqlite = ({ path, lockWaitMs = 5_000 }: { path: string; lockWaitMs?: number }): Store => {
  const database = openDatabase(path, lockWaitMs)
  migrate(database)

  const writer = new SqliteWriter(database)
  const prepared = statementCache(database)
  const slotWith = slotFiller(database)
  const getToken = prepareRead(
    database,
    `SELECT ${columns.tokenColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id = ?`,
  )
  const findApiKey = prepareRead(database, 'SELECT * FROM api_keys WHERE hash = ?')

  /** Reads answer at once here; what fails is told as unavailable storage, not as a driver's error. */
  const read = async <T>(query: () => T): Promise<T> => {
    try {
      return query()
    } catch (error) {
      throw new StoreUnavailableError('storage cannot be read', { cause: error })
    }
  }

  /** A write outside the request path that needs an answer from inside its transaction. */
  const transaction = async <T>(work: () => T): Promise<T> => {
    writer.drain()
    try {
      database.exec('BEGIN IMMEDIATE')
      const result = work()
      database.exec('COMMIT')
      return result
    } catch (error) {
      if (database.isOpen && database.isTransaction) database.exec('ROLLBACK')
      throw new StoreUnavailableError('storage cannot be written', { cause: error })
    }
  }

  const readVaultKeys = () =>
    prepared('SELECT * FROM vault_keys ORDER BY purpose, version').all().map(columns.keyRow)

  return {
    commit: set => writer.commit(set),

    getToken: (tenant, id) =>
      read(() => {
        const row = getToken.get(tenant, id)
        return row && columns.tokenRow(row)
      }),

    getTransients: (tenant, tokenIds) =>
      read(() =>
        prepared(
          `SELECT t.tenant, t.token_id, t.field, t.expires_at, s.bytes AS sealed
           FROM transients t LEFT JOIN slots s ON s.slot = t.slot
           WHERE t.tenant = ? AND t.token_id IN (${tokenIds.map(() => '?').join(',')})`,
        )
          .all(tenant, ...tokenIds)
          .map(columns.transientRow),
      ),

    listTokens: (query, { offset, limit }) =>
      read(() => {
        const { sql, values } = indexQuery(query)
        return prepared(
          `SELECT ${columns.tokenColumns}
           FROM (${sql} ORDER BY 1 DESC, 2 LIMIT ? OFFSET ?) page
           CROSS JOIN tokens k ON k.tenant = ? AND k.token_id = page.token_id
           ORDER BY page.created_at DESC, page.token_id`,
        )
          .all(...values, limit, offset, query.tenant)
          .map(columns.tokenRow)
      }),

    countTokens: query =>
      read(() => {
        const { sql, values } = indexQuery(query)
        return Number(prepared(`SELECT count(*) AS n FROM (${sql})`).get(...values)?.n)
      }),

    oldestWithTerm: (tenant, term, now) =>
      read(() => {
        const row = prepared(
          `SELECT ${columns.tokenColumns}
           FROM (SELECT token_id FROM terms
                 WHERE tenant = ? AND term = ? AND (expires_at IS NULL OR expires_at > ?)
                 ORDER BY created_at, token_id LIMIT 1) oldest
           CROSS JOIN tokens k ON k.tenant = ? AND k.token_id = oldest.token_id`,
        ).get(tenant, term, now, tenant)
        return row && columns.tokenRow(row)
      }),

    matchHolder: (tenant, match) =>
      read(() => {
        const row = prepared('SELECT token_id FROM matches WHERE tenant = ? AND match = ?').get(tenant, match)
        return row === undefined ? undefined : String(row.token_id)
      }),

    countExpired: (tenant, now) =>
      read(
        () =>
          new Map(
            prepared(
              'SELECT type, count(*) AS n FROM tokens WHERE expires_at <= ? AND tenant = ? GROUP BY type',
            )
              .all(now, tenant)
              .map(row => [String(row.type), Number(row.n)]),
          ),
      ),

    readCounters: (tenant, names) =>
      read(() =>
        prepared(`SELECT * FROM counters WHERE tenant = ? AND name IN (${names.map(() => '?').join(',')})`)
          .all(tenant, ...names)
          .map(columns.counter),
      ),

    expiredTokens: (now, { offset, limit }) =>
      read(() =>
        prepared(
          `SELECT ${columns.tokenColumns} FROM tokens k WHERE k.expires_at <= ? ORDER BY k.expires_at LIMIT ? OFFSET ?`,
        )
          .all(now, limit, offset)
          .map(columns.tokenRow),
      ),

    purgeTransients: (now, limit) =>
      transaction(() =>
        Number(
          prepared(
            `DELETE FROM transients WHERE rowid IN
               (SELECT rowid FROM transients WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
          ).run(now, limit).changes,
        ),
      ),

    shred: () =>
      read(() => {
        // Deleted bytes are zero in the newest page images; truncating the log removes the older images.
        // Requests wait meanwhile, so a long read of another process (a backup) is left to the next sweep.
        database.exec(`PRAGMA busy_timeout = ${Math.min(lockWaitMs, shredWaitMs)}`)
        try {
          const result = prepared('PRAGMA wal_checkpoint(TRUNCATE)').get()
          if (Number(result?.busy) !== 0)
            throw new Error('the log cannot be truncated while another process reads')
        } finally {
          database.exec(`PRAGMA busy_timeout = ${lockWaitMs}`)
        }
      }),

    createTenant: ({ id, sealed, keys, applications, apiKeys }) =>
      transaction(() => {
        const insertTenant = prepared('INSERT INTO tenants (tenant_id, sealed) VALUES (?,?)')
        const insertKey = prepared(
          'INSERT INTO tenant_keys (tenant, purpose, version, slot) VALUES (?,?,?,?)',
        )
        const insertApplication = prepared(
          'INSERT INTO applications (tenant, application_id, sealed) VALUES (?,?,?)',
        )
        const insertApiKey = prepared(
          'INSERT INTO api_keys (hash, tenant, key_id, application_id, sealed) VALUES (?,?,?,?,?)',
        )
        const tenant = Number(insertTenant.run(id, sealed).lastInsertRowid)
        for (const row of keys) insertKey.run(tenant, row.purpose, row.version, slotWith(row.wrapped))
        for (const row of applications) insertApplication.run(tenant, row.id, row.sealed)
        for (const row of apiKeys) insertApiKey.run(row.hash, tenant, row.id, row.applicationId, row.sealed)
        return tenant
      }),

    getTenant: tenant =>
      read(() => {
        const row = prepared('SELECT * FROM tenants WHERE tenant = ?').get(tenant)
        return row && columns.tenantRow(row)
      }),

    listTenants: () =>
      read(() => prepared('SELECT * FROM tenants ORDER BY tenant').all().map(columns.tenantRow)),

    tenantKeys: tenant =>
      read(() =>
        prepared(
          `SELECT k.purpose, k.version, s.bytes AS wrapped FROM tenant_keys k LEFT JOIN slots s ON s.slot = k.slot
           WHERE k.tenant = ? ORDER BY k.purpose, k.version`,
        )
          .all(tenant)
          .map(columns.keyRow),
      ),

    getApplication: (tenant, id) =>
      read(() => {
        const row = prepared('SELECT * FROM applications WHERE tenant = ? AND application_id = ?').get(
          tenant,
          id,
        )
        return row && columns.applicationRow(row)
      }),

    findApiKey: hash =>
      read(() => {
        const row = findApiKey.get(hash)
        return row && columns.apiKeyRow(row)
      }),

    vaultKeys: () => read(readVaultKeys),

    ensureVaultKeys: keys =>
      transaction(() => {
        if (readVaultKeys().length === 0) {
          const insert = prepared('INSERT INTO vault_keys (purpose, version, wrapped) VALUES (?,?,?)')
          for (const key of keys) insert.run(key.purpose, key.version, key.wrapped)
        }
        return readVaultKeys()
      }),

    health: () =>
      read(() => {
        // A constant would be answered without storage.
        prepared('SELECT 1 FROM vault_keys').get()
      }),

    close: async () => {
      writer.drain()
      database.close()
    },
  }
}
