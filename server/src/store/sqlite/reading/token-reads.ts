import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { inListOrder } from '../../../domain/tokens/list-position.ts'
import * as columns from '../../columns.ts'
import type { Store, TokensWithTransients } from '../../port.ts'
import type { TokenRow, TransientRow } from '../../rows.ts'
import { limited } from '../../sql/dialect.ts'
import * as statements from '../../sql/statements.ts'
import { countQuery, pageQuery, sliceEnds, withoutEmptyStarts } from '../../sql/token-query.ts'
import { sqliteDialect } from '../dialect.ts'
import { hasOneOfIds, rowNumberOf } from '../row-number.ts'
import { type ReadingSide, ReadStatement, unreadable } from './reading-side.ts'
import { type SettledReads, termsOf } from './settled-reads.ts'
import { countInSlices, listInSlices, type SliceReads } from './sliced-reads.ts'

export const tokenReads = (side: ReadingSide, { readSettled, placesOf }: SettledReads) => {
  const { database, snapshot, prepared, row, atOneMoment, readAtOneMoment } = side
  const tokens = tokenReader(database)
  const slices = sliceReads(side, tokens)
  const inUse = termsInUse(prepared)
  const transientsOf = (tenant: number, id: string): TransientRow[] =>
    prepared(
      `SELECT t.tenant, t.token_id, t.field, t.expires_at, s.bytes AS sealed
       FROM transients t LEFT JOIN slots s ON s.slot = t.slot
       WHERE t.tenant = ? AND t.token_id = ?`,
    )
      .all(tenant, id)
      .map(columns.transientRow)

  return {
    // Bypasses `read`, whose `await` would cost every get of a token a pass of the microtask queue.
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
          rows: prepared(`SELECT ${statements.tokenColumns} FROM tokens k WHERE ${named.sql}`)
            .arrays(...named.values)
            .map(columns.tokenRow),
          transients: prepared(
            `SELECT t.tenant, t.token_id, t.field, t.expires_at, s.bytes AS sealed
             FROM transients t LEFT JOIN slots s ON s.slot = t.slot
             WHERE t.tenant = ? AND t.token_id IN (${marks})`,
          )
            .all(tenant, ...ids)
            .map(columns.transientRow),
        }
      }),

    // One by one: each look-up takes 3 µs, and compiling a statement for a thousand ids takes longer than those.
    getTokensUpTo: (tenant, ids, sealedBytesMax) =>
      readAtOneMoment(() => {
        const found: TokensWithTransients = { rows: [], transients: [] }
        let sealedBytes = 0
        for (const id of ids) {
          const row = tokens.one(tenant, id)
          if (row === undefined) continue
          sealedBytes += row.sealed.length
          if (sealedBytes > sealedBytesMax) return { sealedBytes: tokens.sealedBytesOf(tenant, ids) }
          found.rows.push(row)
          if (row.transientUntil !== null) found.transients.push(...transientsOf(tenant, id))
        }
        return found
      }),

    listTokens: (query, page, turns) =>
      readSettled(query.tenant, termsOf(query), () =>
        listInSlices(withoutEmptyStarts(query, inUse), page, slices, turns),
      ),
    countTokens: (query, turns) =>
      readSettled(query.tenant, termsOf(query), () =>
        countInSlices(withoutEmptyStarts(query, inUse), slices, turns),
      ),

    estimateTerms: (tenant, terms, limit) =>
      readSettled(tenant, terms, () => {
        const probe = prepared(
          `SELECT count(*) AS n FROM (SELECT 1 FROM terms WHERE tenant = ? AND term = ? ${limited})`,
        )
        return terms.map(term => Number(probe.get(tenant, term, limit)?.n))
      }),

    findMatchHolder: (tenant, { term, tag }) =>
      row(
        'SELECT token_id FROM matches WHERE tenant = ? AND term = ? AND tag = ?',
        [tenant, term, tag],
        found => String(found.token_id),
      ),

    findOldestMatch: (tenant, { term, tag }, now) =>
      readSettled(tenant, [term], () => {
        const { sql, values } = sqliteDialect.rowsFound(tenant, {
          sql: `SELECT created_at, token_id FROM terms
            WHERE tenant = ? AND term = ? AND tag = ? AND (expires_at IS NULL OR expires_at > ?)
            ORDER BY created_at, token_id LIMIT 1`,
          values: [tenant, term, tag, now],
        })
        return atOneMoment(() => tokens.found(tenant, prepared(sql), values)[0])
      }),

    findAbsentTerms: (tenant, entries) =>
      // In one snapshot, because an entry may be moved from one table to the other at any time.
      readAtOneMoment(() => {
        const isEntry = `tenant = ? AND term = ? AND created_at = ? AND token_id = ?
          AND expires_at IS ? AND tag IS ? AND signature = ?`
        const find = prepared(`SELECT 1 FROM terms WHERE ${isEntry}`)
        const findWaiting = prepared(`SELECT 1 FROM waiting_terms WHERE ${isEntry} AND place = ?`)
        return entries.filter(({ term, createdAt, tokenId, expiresAt, tag, signature }) => {
          const values = [tenant, term, createdAt, tokenId, expiresAt, tag, signature]
          return (
            find.get(...values) === undefined &&
            !placesOf(tenant, term).some(place => findWaiting.get(...values, place) !== undefined)
          )
        })
      }),
  } satisfies Partial<Store>
}

type TokenReader = {
  one(tenant: number, id: string): TokenRow | undefined
  /** Reads none of them: SQLite knows the length of a value from the head of its row. */
  sealedBytesOf(tenant: number, ids: readonly string[]): number
  /** For a statement built by the dialect's `rowsFound`. Ends with the row by which the sealed bytes reach `bytesMax`. */
  found(
    tenant: number,
    statement: ReadStatement,
    values: readonly SQLInputValue[],
    bytesMax?: number,
  ): TokenRow[]
}

const tokenReader = (database: DatabaseSync): TokenReader => {
  const byNumber = new ReadStatement(
    database,
    `SELECT ${statements.tokenColumns} FROM tokens k WHERE k.rowid = ? AND +k.tenant = ? AND k.token_id = ?`,
  )
  const byId = new ReadStatement(database, statements.tokenById)
  const lengthById = new ReadStatement(
    database,
    'SELECT length(k.sealed) FROM tokens k WHERE k.tenant = ? AND k.token_id = ?',
  )
  const oneById = (tenant: number, id: string): TokenRow | undefined => {
    const row = byId.array(tenant, id)
    return row && columns.tokenRow(row)
  }
  return {
    one: (tenant, id) => {
      const number = rowNumberOf(id)
      const row = number === null ? undefined : byNumber.array(number, tenant, id)
      return row === undefined ? oneById(tenant, id) : columns.tokenRow(row)
    },
    sealedBytesOf: (tenant, ids) =>
      ids.reduce((sum, id) => sum + Number(lengthById.array(tenant, id)?.[0] ?? 0), 0),
    found: (tenant, statement, asked, bytesMax = Number.POSITIVE_INFINITY) => {
      const rows: TokenRow[] = []
      let bytes = 0
      for (const values of statement.arrays(...asked)) {
        const missing = values.at(-1)
        const row = missing === null ? columns.tokenRow(values) : oneById(tenant, String(missing))
        if (row === undefined) continue
        rows.push(row)
        bytes += row.sealed.length
        if (bytes >= bytesMax) break
      }
      return rows
    },
  }
}

const sliceReads = ({ prepared, atOneMoment }: ReadingSide, tokens: TokenReader): SliceReads => ({
  list: (query, page) => {
    const { sql, values } = pageQuery(query, page, sqliteDialect)
    return atOneMoment(() => tokens.found(query.tenant, prepared(sql), values, page.bytesMax))
  },
  count: query => {
    const { sql, values } = countQuery(query, sqliteDialect)
    return Number(prepared(sql).get(...values)?.n)
  },
  end: (query, entries) =>
    sliceEnds(query, entries)
      .flatMap(({ sql, values }) => prepared(sql).all(...values))
      .map(columns.listPosition)
      .sort(inListOrder)[0],
})

/**
 * The terms that some token has. SQLite looks a list of values up with one cursor: 6 µs for the terms of all types. An EXISTS for each
 * term takes 12 µs, and a statement for each even more.
 */
const termsInUse =
  (prepared: ReadingSide['prepared']) =>
  (tenant: number, terms: readonly Uint8Array[]): Uint8Array[] => {
    // `column1` is SQLite's name for the values listed by VALUES.
    const statement = prepared(
      `SELECT asked.column1 FROM (VALUES (?)${',(?)'.repeat(terms.length - 1)}) asked
       WHERE EXISTS (SELECT 1 FROM terms WHERE tenant = ? AND term = asked.column1)`,
    )
    return statement.arrays(...terms, tenant).map(([term]) => term as Uint8Array)
  }
