import type { SQLInputValue, SQLOutputValue } from 'node:sqlite'
import * as columns from '../columns.ts'
import { CommitQueue } from '../commit-queue.ts'
import { type Store, StoreUnavailableError } from '../port.ts'
import type { Counter } from '../rows.ts'
import { limited } from '../sql/dialect.ts'
import { scanMatches, scanTerms } from '../sql/scans.ts'
import * as statements from '../sql/statements.ts'
import { countQuery, hasOneOf, pageQuery, sliceEnds, withoutEmptyStarts } from '../sql/token-query.ts'
import { type AskWriter, askedWriting } from './asked-writing.ts'
import { sqliteDialect } from './dialect.ts'
import { grantsEpoch } from './grants-epoch.ts'
import { migrate } from './migrate.ts'
import { lockWaitDefaultMs, openDatabase } from './open-database.ts'
import { hasOneOfIds, knowsRowNumbers, readTokens, tokenReader } from './rows-by-id.ts'
import { sharedSnapshot } from './shared-snapshot.ts'
import { countInSlices, listInSlices, type SliceReads } from './sliced-reads.ts'
import { prepareRead, statementCache } from './statement-cache.ts'
import { threadedWriting } from './threaded-writing.ts'
import type { UpkeepWrites } from './upkeep-writes.ts'
import { inlineWriting, type UpkeepName } from './writing-side.ts'

/**
 * The embedded engine: one file, durable at every commit. Reads happen here, at once; writes go to the one
 * writing connection, by default on a thread of its own, or to a writer elsewhere.
 */
export const openSqlite = ({
  path,
  lockWaitMs = lockWaitDefaultMs,
  writing = 'thread',
}: {
  path: string
  lockWaitMs?: number
  writing?: 'thread' | 'inline' | AskWriter
}): Store => {
  const database = knowsRowNumbers(openDatabase(path, lockWaitMs))
  migrate(database)
  const side =
    writing === 'inline'
      ? inlineWriting({ path, lockWaitMs })
      : askedWriting(writing === 'thread' ? threadedWriting({ path, lockWaitMs }) : writing)
  const snapshot = sharedSnapshot(database)
  const queue = new CommitQueue(async sets => {
    try {
      return await side.commit(sets)
    } finally {
      // Whoever is told of a commit must be able to read it.
      snapshot.end()
    }
  })
  const prepared = statementCache(database)
  const tokens = tokenReader(database)
  const findApiKey = prepareRead(database, statements.livingApiKey)

  /** Those of the terms that some token has, in one statement: on its own each look-up costs twice as much. */
  const termsInUse = (tenant: number, terms: readonly Uint8Array[]): Uint8Array[] => {
    const isInUse = 'EXISTS (SELECT 1 FROM terms WHERE tenant = ? AND term = ?)'
    const statement = prepared(`SELECT ${terms.map(() => isInUse).join(', ')}`)
    statement.setReturnArrays(true)
    const answers = statement.get(...terms.flatMap(term => [tenant, term])) as unknown as SQLOutputValue[]
    return terms.filter((_, place) => Number(answers[place]) === 1)
  }

  /** Reads answer at once here; what fails is told as unavailable storage, not as a driver's error. */
  const read = async <T>(query: () => T | Promise<T>): Promise<T> => {
    try {
      snapshot.join()
      return await query()
    } catch (error) {
      throw unreadable(error)
    }
  }

  const readRows = <Row>(
    sql: string,
    values: readonly SQLInputValue[],
    toRow: (row: columns.Columns) => Row,
  ): Promise<Row[]> =>
    read(() =>
      prepared(sql)
        .all(...values)
        .map(toRow),
    )

  /** Several statements on one state of storage: the writing connection commits at any time. */
  const atOneMoment = <T>(queries: () => T): T => {
    if (database.isTransaction) return queries()
    database.exec('BEGIN')
    try {
      return queries()
    } finally {
      if (database.isTransaction) database.exec('ROLLBACK')
    }
  }
  const readAtOneMoment = <T>(queries: () => T): Promise<T> => read(() => atOneMoment(queries))

  /** A write beside the request path, after those that were asked for before it. */
  const upkeep = async <N extends UpkeepName>(
    name: N,
    ...args: Parameters<UpkeepWrites[N]>
  ): Promise<ReturnType<UpkeepWrites[N]>> => {
    await queue.drain()
    // The log is not truncated while somebody reads.
    snapshot.end()
    try {
      return await side.upkeep(name, args)
    } catch (error) {
      throw new StoreUnavailableError('storage cannot be written', { cause: error })
    } finally {
      snapshot.end()
    }
  }

  const slices: SliceReads = {
    list: (query, page) => {
      const { sql, values } = pageQuery(query, page, sqliteDialect)
      return atOneMoment(() => tokens.found(query.tenant, prepared(sql), values))
    },
    count: query => {
      const { sql, values } = countQuery(query, sqliteDialect)
      return Number(prepared(sql).get(...values)?.n)
    },
    end: (query, entries) =>
      sliceEnds(query, entries)
        .flatMap(({ sql, values }) => prepared(sql).all(...values))
        .map(columns.listPosition)
        .sort(columns.inListOrder)[0],
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
        snapshot.join()
        return Promise.resolve(tokens.one(tenant, id))
      } catch (error) {
        return Promise.reject(unreadable(error))
      }
    },

    getTokens: (tenant, ids) =>
      readAtOneMoment(() => {
        const marks = ids.map(() => '?').join(',')
        const named = hasOneOfIds('k', tenant, ids)
        return {
          rows: readTokens(
            prepared(`SELECT ${statements.tokenColumns} FROM tokens k WHERE ${named.sql}`),
            named.values,
          ),
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
      read(() => listInSlices(withoutEmptyStarts(query, termsInUse), page, slices)),
    countTokens: query => read(() => countInSlices(query, slices)),

    estimateTerms: (tenant, terms, limit) =>
      read(() => {
        const probe = prepared(
          `SELECT count(*) AS n FROM (SELECT 1 FROM terms WHERE tenant = ? AND term = ? ${limited})`,
        )
        return terms.map(term => Number(probe.get(tenant, term, limit)?.n))
      }),

    oldestMatch: (tenant, match, now) =>
      readAtOneMoment(() => {
        const { sql, values } = statements.oldestMatch(tenant, match, now, sqliteDialect)
        return tokens.found(tenant, prepared(sql), values)[0]
      }),

    matchHolder: (tenant, { term, tag }) =>
      read(() => {
        const row = prepared(statements.matchHolder).get(tenant, term, tag)
        return row === undefined ? undefined : String(row.token_id)
      }),

    readCounts: (tenant, names, now, terms) =>
      readAtOneMoment(() => {
        const having =
          terms === undefined ? { sql: 'TRUE', values: [] } : hasOneOf(tenant, terms, sqliteDialect)
        const expired = prepared(
          // By name: left to itself SQLite takes the index of the tenant and goes through all of its tokens.
          `SELECT t.type, count(*) AS n FROM tokens t INDEXED BY tokens_by_expiry
           WHERE t.expires_at <= ? AND t.tenant = ? AND ${having.sql} GROUP BY t.type`,
        ).all(now, tenant, ...having.values)
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

    listCounters: tenant =>
      read(() => prepared('SELECT * FROM counters WHERE tenant = ?').all(tenant).map(columns.counter)),

    scanTokens: (tenant, after, limit) =>
      read(() => readTokens(prepared(statements.tokensBehind), [tenant, after ?? '', limit])),

    scanTerms: (...scan) => scanTerms(readRows, ...scan),
    scanMatches: (...scan) => scanMatches(readRows, ...scan),
    absentTerms: (tenant, entries) =>
      read(() => {
        const find = prepared(
          `SELECT 1 FROM terms WHERE tenant = ? AND term = ? AND created_at = ? AND token_id = ?
             AND expires_at IS ? AND tag IS ? AND coalesce(signature, ?) IS ?`,
        )
        return entries.filter(
          ({ term, createdAt, tokenId, expiresAt, tag, signature }) =>
            find.get(tenant, term, createdAt, tokenId, expiresAt, tag, signature, signature) === undefined,
        )
      }),

    expiredTokens: (now, { offset, limit }) =>
      read(() => readTokens(prepared(statements.expiredTokens), [now, limit, offset])),

    purgeTransients: (now, limit) => upkeep('purgeTransients', now, limit),

    getResult: (tenant, hash, now) =>
      read(() => {
        const row = prepared(statements.resultByHash).get(tenant, hash, now)
        return row && columns.resultRow(row)
      }),

    getReport: (tenant, name) =>
      read(() => {
        const row = prepared(statements.reportByName).get(tenant, name)
        return row && columns.sealedBytes(row)
      }),

    purgeResults: (now, limit) => upkeep('purgeResults', now, limit),
    purgeDeadTenants: limit => upkeep('purgeDeadTenants', limit),
    // Once more: what was being read here, on a machine that has much to do, has ended by then.
    shred: () => upkeep('shred').catch(() => upkeep('shred')),
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

    listApiKeys: tenant => read(() => prepared(apiKeysOfTenant).all(tenant).map(columns.usedApiKeyRow)),

    noteKeyUse: uses => upkeep('noteKeyUse', uses),

    grantsEpoch: grantsEpoch(database),

    findApiKey: (hash, now) =>
      read(() => {
        const row = findApiKey.get(hash, now)
        return row && columns.apiKeyRow(row)
      }),

    vaultKeys: () => read(readVaultKeys),

    ensureVaultKeys: keys => upkeep('ensureVaultKeys', keys),
    acquireLease: (lease, now) => upkeep('acquireLease', lease, now),
    releaseLease: lease => upkeep('releaseLease', lease),

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

const unreadable = (cause: unknown): StoreUnavailableError =>
  new StoreUnavailableError('storage cannot be read', { cause })

const apiKeysOfTenant = `SELECT ${statements.apiKeyColumns}, k.last_used_at FROM api_keys k WHERE k.tenant = ?`
