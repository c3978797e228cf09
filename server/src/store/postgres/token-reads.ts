import * as columns from '../columns.ts'
import type { Store, TokensWithTransients } from '../port.ts'
import type { TokenRow } from '../rows.ts'
import * as statements from '../sql/statements.ts'
import { countQuery, pageQuery } from '../sql/token-query.ts'
import type { Match } from '../write-set.ts'
import { fewBytesMax, postgresDialect, shortBytesMax, shortColumns } from './dialect.ts'
import { GatheredReads } from './gathered-reads.ts'
import type { ReadingSide } from './reading-side.ts'

export const tokenReads = ({ send, ask, row, rows }: ReadingSide) => {
  const list = (sql: string, values: Parameters<typeof ask>[1]): Promise<readonly columns.Value[][]> =>
    ask<columns.Value[]>(sql, values, { rowMode: 'array' })

  /** Rows that came without their sealed bytes are read again, where nobody's short read waits behind them (read-pool.ts). */
  const whole = async (tenant: number, found: readonly columns.Value[][]): Promise<TokenRow[]> => {
    const long = found.filter(isWithoutBytes).map(([, id]) => String(id))
    if (long.length === 0) return found.map(columns.tokenRow)
    const read = await ask<columns.Value[]>(tokensById, [tenant, long], { rowMode: 'array', isLong: true })
    const byId = new Map(read.map(values => [values[1], values]))
    // One that is gone by now is left out.
    return found.flatMap((values): TokenRow[] => {
      const row = isWithoutBytes(values) ? byId.get(values[1]) : values
      return row === undefined ? [] : [columns.tokenRow(row)]
    })
  }
  const wholeOne = async (
    tenant: number,
    reading: Promise<columns.Value[] | undefined>,
  ): Promise<TokenRow | undefined> => {
    const found = await reading
    if (found === undefined) return undefined
    return isWithoutBytes(found) ? (await whole(tenant, [found]))[0] : columns.tokenRow(found)
  }

  const byId = new GatheredReads<string, columns.Value[]>(async (tenant, ids) => {
    const [only] = ids
    if (only !== undefined && ids.length === 1) return list(shortTokenById, [tenant, only])
    const found = await list(shortTokensById, [tenant, ids])
    const rowOf = new Map(found.map(token => [token[1], token]))
    // A row that nobody asked for is not hidden: whoever opens a row requires its id to be the one that was asked for.
    const stray = found.find(([, id]) => !ids.includes(String(id)))
    return ids.map(id => rowOf.get(id) ?? stray)
  })

  const holders = new GatheredReads<Match, string>(async (tenant, matches) => {
    const found = await list(matchHolders, [...listsOf(matches), tenant])
    return inPlaces(matches.length, found, ([, id]) => String(id))
  })

  const oldest = new GatheredReads<DatedMatch, columns.Value[]>(async (tenant, asked) => {
    const values = [...listsOf(asked), asked.map(({ now }) => String(now)), tenant, tenant]
    const found = await list(oldestMatches, values)
    return inPlaces(asked.length, found, ([, ...token]) => token)
  })

  return {
    getToken: (tenant, id) => wholeOne(tenant, byId.read(tenant, id)),
    findMatchHolder: (tenant, match) => holders.read(tenant, match),
    findOldestMatch: (tenant, match, now) => wholeOne(tenant, oldest.read(tenant, { ...match, now })),

    getTokens: async (tenant, ids) =>
      withTransients(
        await ask<columns.Value[]>(tokensWithTransients, [tenant, ids, tenant, ids], { rowMode: 'array' }),
      ),

    getTokensUpTo: async (tenant, ids, sealedBytesMax) => {
      const asked = [sealedBytesMax, tenant, ids, tenant, ids]
      const isLong = sealedBytesMax > shortBytesMax
      const found = await ask<columns.Value[]>(tokensUpTo, asked, { rowMode: 'array', isLong })
      const total = Number(found.find(values => !isTransient(values))?.at(-1) ?? 0)
      return total > sealedBytesMax ? { sealedBytes: total } : withTransients(found)
    },

    listTokens: async (query, page) => {
      const { sql, values } = pageQuery(query, page, postgresDialect)
      return whole(query.tenant, await list(sql, values))
    },

    countTokens: async query => {
      const { sql, values } = countQuery(query, postgresDialect)
      return Number(await row(sql, values, ({ n }) => n))
    },

    estimateTerms: (tenant, terms, limit) =>
      rows(termEstimates, [tenant, limit, terms], ({ n }) => Number(n)),

    findAbsentTerms: async (tenant, entries) => {
      const statement = {
        text: findAbsentTerms,
        values: [
          tenant,
          entries.map(({ term }) => term),
          entries.map(({ createdAt }) => createdAt),
          entries.map(({ tokenId }) => tokenId),
          entries.map(({ expiresAt }) => expiresAt),
          entries.map(({ tag }) => tag),
          entries.map(({ signature }) => signature),
        ],
      }
      const absent = await send<columns.Columns>(tenant, statement, true)
      return absent.rows.flatMap(({ place }) => entries[Number(place) - 1] ?? [])
    },
  } satisfies Partial<Store>
}

type DatedMatch = Match & { readonly now: number }

const listsOf = (matches: readonly Match[]) =>
  [matches.map(({ term }) => term), matches.map(({ tag }) => tag)] as const

/** Rows that begin with their place in what was asked for, from 1. */
const inPlaces = <Found>(
  length: number,
  rows: readonly (readonly columns.Value[])[],
  toFound: (row: readonly columns.Value[]) => Found,
): (Found | undefined)[] => {
  const found = new Array<Found | undefined>(length).fill(undefined)
  for (const row of rows) found[Number(row[0]) - 1] = toFound(row)
  return found
}

const isWithoutBytes = (values: readonly columns.Value[]): boolean => values.at(-1) === null

const fewColumns = shortColumns('octet_length(k.sealed)', fewBytesMax)
export const shortTokenById = `SELECT ${fewColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id = ?`
export const shortTokensById = `SELECT ${fewColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id = ANY (?)`
export const tokensById = `SELECT ${statements.tokenColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id = ANY (?)`

/** OFFSET 0 is a fence (dialect.ts): each match stays a look-up. */
export const matchHolders = `
  SELECT asked.place, m.token_id FROM unnest(?::bytea[], ?::bytea[]) WITH ORDINALITY asked(term, tag, place)
  CROSS JOIN LATERAL (SELECT token_id FROM matches
    WHERE tenant = ? AND term = asked.term AND tag = asked.tag OFFSET 0) m`

export const oldestMatches = `
  SELECT asked.place, ${fewColumns}
  FROM unnest(?::bytea[], ?::bytea[], ?::bigint[]) WITH ORDINALITY asked(term, tag, now, place)
  CROSS JOIN LATERAL (SELECT created_at, token_id FROM terms
    WHERE tenant = ? AND term = asked.term AND tag = asked.tag AND (expires_at IS NULL OR expires_at > asked.now)
    ORDER BY created_at, token_id LIMIT 1) oldest
  CROSS JOIN LATERAL (SELECT * FROM tokens WHERE tenant = ? AND token_id = oldest.token_id OFFSET 0) k`

const isTransient = (values: readonly columns.Value[]): boolean => values[2] === null

const withTransients = (found: readonly columns.Value[][]): TokensWithTransients => ({
  rows: found.filter(values => !isTransient(values)).map(columns.tokenRow),
  transients: found
    .filter(isTransient)
    .map(([owner, tokenId, , , , field, , , expiresAt, , , sealed]) =>
      columns.transientRow({ tenant: owner, token_id: tokenId, field, expires_at: expiresAt, sealed }),
    ),
})

/** One statement, so tokens and transient fields are read at one moment. A transient field comes in a token's columns, without a type. */
const tokensWithTransients = `
  SELECT ${statements.tokenColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id = ANY (?)
  UNION ALL
  SELECT t.tenant, t.token_id, NULL, NULL, NULL, t.field, NULL, NULL, t.expires_at, NULL, NULL, t.sealed
  FROM transients t WHERE t.tenant = ? AND t.token_id = ANY (?)`

/**
 * The same, with the sealed bytes of all tokens beside each, and no sealed bytes where those are too many: the length of a value is
 * known without reading it.
 */
const tokensUpTo = `
  SELECT ${statements.tokenColumns.replace(/k\.sealed$/, 'CASE WHEN k.total <= ? THEN k.sealed END')}, k.total
  FROM (SELECT t.*, sum(octet_length(t.sealed)) OVER () AS total FROM tokens t
    WHERE t.tenant = ? AND t.token_id = ANY (?)) k
  UNION ALL
  SELECT t.tenant, t.token_id, NULL, NULL, NULL, t.field, NULL, NULL, t.expires_at, NULL, NULL, t.sealed, NULL
  FROM transients t WHERE t.tenant = ? AND t.token_id = ANY (?)`

const termEstimates = `
  SELECT (SELECT count(*) FROM (SELECT 1 FROM terms WHERE tenant = ? AND term = asked.term LIMIT ?) probe) AS n
  FROM unnest(?::bytea[]) WITH ORDINALITY asked(term, place) ORDER BY place`

const findAbsentTerms = `
  SELECT a.place FROM unnest($2::bytea[], $3::bigint[], $4::text[], $5::bigint[], $6::bytea[], $7::bigint[])
    WITH ORDINALITY a(term, created_at, token_id, expires_at, tag, signature, place)
  WHERE NOT EXISTS (SELECT 1 FROM terms t
    WHERE t.tenant = $1 AND t.term = a.term AND t.created_at = a.created_at AND t.token_id = a.token_id
      AND t.expires_at IS NOT DISTINCT FROM a.expires_at AND t.tag IS NOT DISTINCT FROM a.tag
      AND t.signature = a.signature)
  ORDER BY a.place`
