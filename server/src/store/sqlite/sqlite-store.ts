import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'
import { CommitQueue } from '../commit-queue.ts'
import { type Store, StoreUnavailableError } from '../port.ts'
import type { Counter, TokenRow } from '../rows.ts'
import * as columns from '../sql/columns.ts'
import * as statements from '../sql/statements.ts'
import { countQuery, pageQuery } from '../sql/token-query.ts'
import { sqliteDialect } from './dialect.ts'
import { grantsEpoch } from './grants-epoch.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open-database.ts'
import { prepareRead, statementCache } from './statement-cache.ts'
import { threadedWriting } from './threaded-writing.ts'
import type { UpkeepWrites } from './upkeep-writes.ts'
import { inlineWriting, type UpkeepName } from './writing-side.ts'

/**
 * The embedded engine: one file, durable at every commit. Reads happen here, at once; writes go to the one
 * writing connection, by default on a thread of its own.
 */
export const openSqlite = ({
  path,
  lockWaitMs = 5_000,
  writing = 'thread',
}: {
  path: string
  lockWaitMs?: number
  writing?: 'thread' | 'inline'
}): Store => {
  const database = openDatabase(path, lockWaitMs)
  migrate(database)
  const side = (writing === 'thread' ? threadedWriting : inlineWriting)({ path, lockWaitMs })
  const queue = new CommitQueue(sets => side.commit(sets), side.gather)
  const prepared = statementCache(database)
  const getToken = database.prepare(statements.tokenById)
  getToken.setReturnArrays(true)
  /** For statements that yield whole tokens. */
  const tokenStatement = (sql: string): { all(...values: SQLInputValue[]): TokenRow[] } => {
    const statement = prepared(sql)
    statement.setReturnArrays(true)
    return {
      all: (...values) => (statement.all(...values) as unknown as SQLOutputValue[][]).map(columns.tokenRow),
    }
  }
  const findApiKey = prepareRead(database, statements.livingApiKey)

  /** Reads answer at once here; what fails is told as unavailable storage, not as a driver's error. */
  const read = async <T>(query: () => T): Promise<T> => {
    try {
      return query()
    } catch (error) {
      throw new StoreUnavailableError('storage cannot be read', { cause: error })
    }
  }

  /** Several statements on one state of storage: the writing connection commits at any time. */
  const readAtOneMoment = <T>(queries: () => T): Promise<T> =>
    read(() => {
      database.exec('BEGIN')
      try {
        return queries()
      } finally {
        if (database.isTransaction) database.exec('COMMIT')
      }
    })

  /** A write beside the request path, after those that were asked for before it. */
  const upkeep = async <N extends UpkeepName>(
    name: N,
    ...args: Parameters<UpkeepWrites[N]>
  ): Promise<ReturnType<UpkeepWrites[N]>> => {
    await queue.drain()
    try {
      return await side.upkeep(name, args)
    } catch (error) {
      throw new StoreUnavailableError('storage cannot be written', { cause: error })
    }
  }

  const readCounters = (tenant: number, names: readonly string[]): Counter[] =>
    prepared(`SELECT * FROM counters WHERE tenant = ? AND name IN (${names.map(() => '?').join(',')})`)
      .all(tenant, ...names)
      .map(columns.counter)

  const readVaultKeys = () => prepared(statements.vaultKeys).all().map(columns.keyRow)

  return {
    commit: set => queue.add(set),

    getToken: (tenant, id) => {
      try {
        const row = getToken.get(tenant, id) as unknown as SQLOutputValue[] | undefined
        return Promise.resolve(row && columns.tokenRow(row))
      } catch {
        // Storage fails, or an integer that no double holds was written past us: bigints, 1 µs dearer, can tell it.
        return read(() => tokenStatement(statements.tokenById).all(tenant, id)[0])
      }
    },

    getTokens: (tenant, ids) =>
      readAtOneMoment(() => {
        const marks = ids.map(() => '?').join(',')
        return {
          rows: tokenStatement(
            `SELECT ${columns.tokenColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id IN (${marks})`,
          ).all(tenant, ...ids),
          transients: prepared(
            `SELECT t.tenant, t.token_id, t.field, t.expires_at, s.bytes AS sealed
             FROM transients t LEFT JOIN slots s ON s.slot = t.slot
             WHERE t.tenant = ? AND t.token_id IN (${marks})`,
          )
            .all(tenant, ...ids)
            .map(columns.transientRow),
        }
      }),

    listTokens: (query, page) =>
      read(() => {
        const { sql, values } = pageQuery(query, page, sqliteDialect)
        return tokenStatement(sql).all(...values)
      }),

    countTokens: query =>
      read(() => {
        const { sql, values } = countQuery(query, sqliteDialect)
        return Number(prepared(sql).get(...values)?.n)
      }),

    estimateTerms: (tenant, terms, limit) =>
      read(() => {
        const probe = prepared(
          'SELECT count(*) AS n FROM (SELECT 1 FROM terms WHERE tenant = ? AND term = ? LIMIT ?)',
        )
        return terms.map(term => Number(probe.get(tenant, term, limit)?.n))
      }),

    oldestMatch: (tenant, { term, tag }, now) =>
      read(() => {
        const [oldest] = tokenStatement(statements.oldestMatch(sqliteDialect)).all(
          tenant,
          term,
          tag,
          now,
          tenant,
        )
        return oldest
      }),

    matchHolder: (tenant, { term, tag }) =>
      read(() => {
        const row = prepared(statements.matchHolder).get(tenant, term, tag)
        return row === undefined ? undefined : String(row.token_id)
      }),

    readCounts: (tenant, names, now) =>
      readAtOneMoment(() => {
        const expired = prepared(
          // By name: left to itself SQLite takes the index of the tenant and goes through all of its tokens.
          'SELECT type, count(*) AS n FROM tokens INDEXED BY tokens_by_expiry WHERE expires_at <= ? AND tenant = ? GROUP BY type',
        ).all(now, tenant)
        return {
          counters: readCounters(tenant, names),
          expired: new Map(expired.map(row => [String(row.type), Number(row.n)])),
        }
      }),

    newestTokenAt: () =>
      read(() => {
        const at = prepared(statements.newestTokenAt).get()?.at
        return at === undefined || at === null ? undefined : Number(at)
      }),

    readCounters: (tenant, names) => read(() => readCounters(tenant, names)),

    expiredTokens: (now, { offset, limit }) =>
      read(() => tokenStatement(statements.expiredTokens).all(now, limit, offset)),

    purgeTransients: (now, limit) => upkeep('purgeTransients', now, limit),

    getResult: (tenant, hash, now) =>
      read(() => {
        const row = prepared(statements.resultByHash).get(tenant, hash, now)
        return row && columns.resultRow(row)
      }),

    purgeResults: (now, limit) => upkeep('purgeResults', now, limit),
    purgeDeadTenants: limit => upkeep('purgeDeadTenants', limit),
    shred: () => upkeep('shred'),
    createTenant: tenant => upkeep('createTenant', tenant),

    getTenant: tenant =>
      read(() => {
        const row = prepared(statements.tenantByNumber).get(tenant)
        return row && columns.tenantRow(row)
      }),

    listTenants: () => read(() => prepared(statements.allTenants).all().map(columns.tenantRow)),

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
        const row = prepared(statements.applicationById).get(tenant, id)
        return row && columns.applicationRow(row)
      }),

    listApplications: tenant =>
      read(() => prepared(statements.applicationsOfTenant).all(tenant).map(columns.applicationRow)),

    listApiKeys: tenant =>
      read(() => prepared(statements.apiKeysOfTenant).all(tenant).map(columns.apiKeyRow)),

    noteKeyUse: uses => upkeep('noteKeyUse', uses),

    grantsEpoch: grantsEpoch(database),

    findApiKey: (hash, now) =>
      read(() => {
        const row = findApiKey.get(hash, now)
        return row && columns.apiKeyRow(row)
      }),

    vaultKeys: () => read(readVaultKeys),

    ensureVaultKeys: keys => upkeep('ensureVaultKeys', keys),

    health: () =>
      read(() => {
        prepared(statements.health).get()
      }),

    close: async () => {
      await queue.drain()
      await side.close()
      database.close()
    },
  }
}
