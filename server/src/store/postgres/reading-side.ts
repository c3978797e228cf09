import { createHash } from 'node:crypto'
import * as columns from '../columns.ts'
import type { Reading } from '../sql/reading.ts'
import { type List, numbered } from './dialect.ts'
import type { ReadPool } from './read-pool.ts'

type Asked = columns.Value | List

/** The connections that read. */
export type ReadingSide = Reading<List> & {
  readonly pool: ReadPool
  /** Rows as the driver has them: by the names of their columns or, which costs less, as lists of values. */
  readonly ask: <Row>(sql: string, values: readonly Asked[], rowMode?: 'array') => Promise<readonly Row[]>
}

export const readingSide = (pool: ReadPool): ReadingSide => {
  const nameOf = statementNames()
  const ask: ReadingSide['ask'] = async <Row>(sql: string, values: readonly Asked[], rowMode?: 'array') => {
    if (values.some(value => typeof value === 'string' && !isStorable(value))) return []
    const storable = values.map(value => (isTexts(value) ? value.filter(isStorable) : value))
    const { rows } = await pool.query<Row>({ ...nameOf(sql), values: storable, ...(rowMode && { rowMode }) })
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

const isTexts = (value: Asked): value is readonly string[] =>
  Array.isArray(value) && value.some(item => typeof item === 'string')

/** PostgreSQL takes no text that holds a zero, so nothing is stored under one. */
const isStorable = (text: string): boolean => !text.includes('\0')

const namesMax = 500

/** Statements by name, so that the server parses and plans each once per connection; lists have many shapes. */
const statementNames = (): ((sql: string) => { text: string; name?: string }) => {
  const known = new Map<string, { text: string; name?: string }>()
  return sql => {
    const found = known.get(sql)
    if (found !== undefined) return found
    const text = numbered(sql)
    if (known.size >= namesMax) return { text }
    const named = { text, name: createHash('sha256').update(text).digest('base64url') }
    known.set(sql, named)
    return named
  }
}
