import { createHash } from 'node:crypto'
import * as columns from '../columns.ts'
import type { Reading } from '../sql/dialect.ts'
import { type List, numbered } from './dialect.ts'
import type { ReadPool } from './read-pool.ts'

type Asked = columns.Value | List

/** The connections that read. */
export type ReadingSide = Reading<List> & {
  readonly pool: ReadPool
  /** Rows as the driver returns them: by column name or, which costs less, as lists of values. */
  readonly ask: <Row>(sql: string, values: readonly Asked[], rowMode?: 'array') => Promise<readonly Row[]>
}

export const readingSide = (pool: ReadPool): ReadingSide => {
  const nameOf = statementNames()
  const ask: ReadingSide['ask'] = async <Row>(sql: string, values: readonly Asked[], rowMode?: 'array') => {
    const asked = values.map(toStorable)
    const { rows } = await pool.query<Row>({ ...nameOf(sql), values: asked, ...(rowMode && { rowMode }) })
    return rows
  }
  const rows: ReadingSide['rows'] = async (sql, values, toRow) =>
    (await ask<columns.Columns>(sql, values)).map(toRow)
  return {
    pool,
    ask,
    rows,
    row: async (...asked) => (await rows(...asked))[0],
    tokens: async (sql, values) => (await ask<columns.Value[]>(sql, values, 'array')).map(columns.tokenRow),
  }
}

/**
 * A text that cannot be stored equals no stored text. The other values of the query still count, so it is dropped from a list and
 * elsewhere replaced by a text that no row has.
 */
const toStorable = (value: Asked): Asked => {
  if (typeof value === 'string') return isStorable(value) ? value : heldByNobody
  return isTexts(value) ? value.filter(isStorable) : value
}

/** No id or name in storage contains a control character (C8). */
const heldByNobody = '\u0001'

const isTexts = (value: Asked): value is readonly string[] =>
  Array.isArray(value) && value.some(item => typeof item === 'string')

/** PostgreSQL accepts no text with a zero character, so nothing is stored under one. */
const isStorable = (text: string): boolean => !text.includes('\0')

/** The total length of all texts that get a name. A plan takes some sixty times the memory of its text, on every connection. */
const namedCharactersMax = 300_000
/** Searches with many alternatives have longer texts, and nearly every one is different. */
const nameableCharactersMax = 10_000

/** Names statements, so that the server parses and plans each once per connection. Lists have many shapes, hence the limits. */
export const statementNames = (): ((sql: string) => { text: string; name?: string }) => {
  const known = new Map<string, { text: string; name?: string }>()
  let characters = 0
  return sql => {
    const found = known.get(sql)
    if (found !== undefined) return found
    const text = numbered(sql)
    if (sql.length > nameableCharactersMax || characters + sql.length > namedCharactersMax) return { text }
    characters += sql.length
    const named = { text, name: createHash('sha256').update(text).digest('base64url') }
    known.set(sql, named)
    return named
  }
}
