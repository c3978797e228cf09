import { createHash } from 'node:crypto'
import * as columns from '../columns.ts'
import type { Reading } from '../sql/dialect.ts'
import { accessTables, evidenceTables } from '../tables.ts'
import type { QueryAnswer, Statement } from './connection.ts'
import { type List, numbered } from './dialect.ts'

type Asked = columns.Value | List

/** Sends a read for a tenant, or for the vault itself (0). `isOnShard`: on Citus, all that it reads is where the tenant is. */
export type SendRead = <Row>(
  tenant: number,
  statement: Statement,
  isOnShard: boolean,
) => Promise<QueryAnswer<Row>>

/** The connections that read. */
export type ReadingSide = Reading<List> & {
  readonly send: SendRead
  /** Rows as the driver returns them: by column name or, which costs less, as lists of values. */
  readonly ask: <Row>(
    sql: string,
    values: readonly Asked[],
    options?: Pick<Statement, 'rowMode' | 'isLong'>,
  ) => Promise<readonly Row[]>
}

export const readingSide = (send: SendRead): ReadingSide => {
  const nameOf = statementNames()
  const ask: ReadingSide['ask'] = async <Row>(
    sql: string,
    values: readonly Asked[],
    options?: Pick<Statement, 'rowMode' | 'isLong'>,
  ) => {
    const asked = values.map(toStorable)
    const { tenantAt, isOnShard, ...named } = nameOf(sql)
    const tenant = tenantAt === undefined ? noTenant : Number(asked[tenantAt])
    const statement = { ...named, values: asked, ...options }
    const { rows } = await send<Row>(tenant, statement, isOnShard)
    return rows
  }
  const rows: ReadingSide['rows'] = async (sql, values, toRow) =>
    (await ask<columns.Columns>(sql, values)).map(toRow)
  return {
    send,
    ask,
    rows,
    row: async (...asked) => (await rows(...asked))[0],
    tokens: async (sql, values) =>
      (await ask<columns.Value[]>(sql, values, { rowMode: 'array' })).map(columns.tokenRow),
  }
}

/** Reads by the vault itself. Tenants are numbered from 1. */
const noTenant = 0

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

export type NamedText = {
  readonly text: string
  readonly name?: string
  /** Which of its values is the tenant that it reads for. */
  readonly tenantAt?: number
  /** On Citus, all that it reads is where that tenant is. */
  readonly isOnShard: boolean
}

/** Names statements, so that the server parses and plans each once per connection. Lists have many shapes, hence the limits. */
export const statementNames = (): ((sql: string) => NamedText) => {
  const known = new Map<string, NamedText>()
  let characters = 0
  return sql => {
    const found = known.get(sql)
    if (found !== undefined) return found
    const tenantAt = placeOfTenant(sql)
    const isOnShard = tenantAt !== undefined && !onEveryNode.test(sql)
    const text = { text: numbered(sql), isOnShard, ...(tenantAt !== undefined && { tenantAt }) }
    if (sql.length > nameableCharactersMax || characters + sql.length > namedCharactersMax) return text
    characters += sql.length
    const named = { ...text, name: createHash('sha256').update(text.text).digest('base64url') }
    known.set(sql, named)
    return named
  }
}

/** Tables that are read at the coordinator, where their changes are announced (C27). */
const onEveryNode = new RegExp(
  `\\b(?:${[...accessTables, ...evidenceTables].map(({ name }) => name).join('|')})\\b`,
)

const placeOfTenant = (sql: string): number | undefined => {
  const [before] = /^.*?\btenant = \?/s.exec(sql) ?? []
  return before === undefined ? undefined : before.split('?').length - 2
}
