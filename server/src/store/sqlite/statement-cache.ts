import type { DatabaseSync, StatementSync } from 'node:sqlite'

const statementsMax = 200
/** A statement takes some twenty times the memory of its text, so all together take some 10 MB. */
const charactersMax = 500_000
/** The text of a search of many alternatives is longer. Each has a shape of its own and would drop those that come again. */
const statementCharactersMax = 20_000

/** A statement for columns.ts. It reads bigints, because the driver would throw on an integer too large for a double. */
export const prepareRead = (database: DatabaseSync, sql: string): StatementSync => {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** Prepared statements for SQL whose shape depends on the request. The least recently used one is dropped first. */
export const statementCache = (database: DatabaseSync): ((sql: string) => StatementSync) => {
  const statements = new Map<string, StatementSync>()
  let characters = 0
  const drop = (sql: string): void => {
    if (statements.delete(sql)) characters -= sql.length
  }
  return sql => {
    const statement = statements.get(sql) ?? prepareRead(database, sql)
    if (sql.length > statementCharactersMax) return statement
    drop(sql)
    statements.set(sql, statement)
    characters += sql.length
    for (const oldest of statements.keys()) {
      if (statements.size <= statementsMax && characters <= charactersMax) break
      drop(oldest)
    }
    return statement
  }
}
