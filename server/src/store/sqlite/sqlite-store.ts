import { DatabaseSync } from 'node:sqlite'
import { type Store, StoreUnavailableError } from '../port.ts'
import * as columns from './columns.ts'
import { grantsEpoch } from './grants-epoch.ts'
import { migrate } from './migrate.ts'
import { purgeDeadTenants } from './purge-dead-tenants.ts'
import { statementCache } from './statement-cache.ts'
import { countQuery, pageQuery } from './token-query.ts'
import { SqliteWriter } from './writer.ts'

/** The embedded engine: one file, one writer, durable at every commit. */
export const openSqlite = ({ path }: { path: string }): Store => {
  const database = new DatabaseSync(path, { timeout: 5_000 })
  // secure_delete overwrites what is deleted (C11); temp_store keeps sorter spills off the disk.
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -65536;
  `)
  migrate(database)

  const writer = new SqliteWriter(database)
  const prepared = statementCache(database)
  const getToken = database.prepare(
    `SELECT ${columns.tokenColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id = ?`,
  )
  const findApiKey = database.prepare(
    'SELECT * FROM api_keys WHERE hash = ? AND (expires_at IS NULL OR expires_at > ?)',
  )

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
      if (database.isTransaction) database.exec('ROLLBACK')
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
          `SELECT * FROM transients WHERE tenant = ? AND token_id IN (${tokenIds.map(() => '?').join(',')})`,
        )
          .all(tenant, ...tokenIds)
          .map(columns.transientRow),
      ),

    listTokens: (query, page) =>
      read(() => {
        const { sql, values } = pageQuery(query, page)
        return prepared(sql)
          .all(...values)
          .map(columns.tokenRow)
      }),

    countTokens: query =>
      read(() => {
        const { sql, values } = countQuery(query)
        return Number(prepared(sql).get(...values)?.n)
      }),

    estimateTerms: (tenant, terms, limit) =>
      read(() => {
        const probe = prepared(
          'SELECT count(*) AS n FROM (SELECT 1 FROM terms WHERE tenant = ? AND term = ? LIMIT ?)',
        )
        return terms.map(term => Number(probe.get(tenant, term, limit)?.n))
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

    newestTokenAt: () =>
      read(() => {
        const at = prepared('SELECT max(at) AS at FROM counters').get()?.at
        return typeof at === 'number' ? at : undefined
      }),

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

    getResult: (tenant, hash, now) =>
      read(() => {
        const row = prepared('SELECT * FROM results WHERE tenant = ? AND hash = ? AND expires_at > ?').get(
          tenant,
          hash,
          now,
        )
        return row && columns.resultRow(row)
      }),

    purgeResults: (now, limit) =>
      transaction(() =>
        Number(
          prepared(
            `DELETE FROM results WHERE rowid IN
               (SELECT rowid FROM results WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`,
          ).run(now, limit).changes,
        ),
      ),

    purgeDeadTenants: limit => transaction(() => purgeDeadTenants(prepared, limit)),

    shred: () =>
      read(() => {
        // Deleted bytes are zero in the newest page images; truncating the log removes the older images.
        prepared('PRAGMA wal_checkpoint(TRUNCATE)').get()
      }),

    createTenant: ({ id, sealed, keys, applications, apiKeys }) =>
      transaction(() => {
        const insertTenant = prepared('INSERT INTO tenants (tenant_id, revision, sealed) VALUES (?,1,?)')
        const insertKey = prepared(
          'INSERT INTO tenant_keys (tenant, purpose, version, wrapped) VALUES (?,?,?,?)',
        )
        const insertApplication = prepared(
          'INSERT INTO applications (tenant, application_id, sealed) VALUES (?,?,?)',
        )
        const insertApiKey = prepared(
          'INSERT INTO api_keys (hash, tenant, key_id, application_id, expires_at, sealed) VALUES (?,?,?,?,?,?)',
        )
        const tenant = Number(insertTenant.run(id, sealed).lastInsertRowid)
        for (const row of keys) insertKey.run(tenant, row.purpose, row.version, row.wrapped)
        for (const row of applications) insertApplication.run(tenant, row.id, row.sealed)
        for (const row of apiKeys)
          insertApiKey.run(row.hash, tenant, row.id, row.applicationId, row.expiresAt, row.sealed)
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
        prepared('SELECT * FROM tenant_keys WHERE tenant = ? ORDER BY purpose, version')
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

    listApplications: tenant =>
      read(() =>
        prepared('SELECT * FROM applications WHERE tenant = ?').all(tenant).map(columns.applicationRow),
      ),

    listApiKeys: tenant =>
      read(() => prepared('SELECT * FROM api_keys WHERE tenant = ?').all(tenant).map(columns.apiKeyRow)),

    noteKeyUse: uses =>
      transaction(() => {
        const note = prepared(
          'UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE hash = ?',
        )
        for (const { hash, at } of uses) note.run(at, hash)
      }),

    grantsEpoch: grantsEpoch(database),

    findApiKey: (hash, now) =>
      read(() => {
        const row = findApiKey.get(hash, now)
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
        prepared('SELECT 1').get()
      }),

    close: async () => {
      writer.drain()
      database.close()
    },
  }
}
