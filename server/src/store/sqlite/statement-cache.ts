import type { DatabaseSync, StatementSync } from 'node:sqlite'

const statementsMax = 200

/** A statement for columns.ts. It reads bigints, because the driver would throw on an integer too large for a double. */
export const prepareRead = (database: DatabaseSync, sql: string): StatementSync => {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** Prepared statements for SQL whose shape depends on the request. The least recently used one is dropped first. */
export const statementCache = (database: DatabaseSync): ((sql: string) => StatementSync) => {
  const statements = new Map<string, StatementSync>()
  return sql => {
    const statement = statements.get(sql) ?? prepareRead(database, sql)
    statements.delete(sql)
    statements.set(sql, statement)
    if (statements.size > statementsMax) {
      const oldest = statements.keys().next().value
      if (oldest !== undefined) statements.delete(oldest)
    }
    return statement
  }
}
