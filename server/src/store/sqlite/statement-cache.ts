import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** A statement for columns.ts. It reads bigints, because the driver would throw on an integer too large for a double. */
export const prepareRead = (database: DatabaseSync, sql: string): StatementSync => {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** A statement takes some twenty times the memory of its text, so all together take some 10 MB. */
const shortOnes = { statementsMax: 200, charactersMax: 500_000 }
/** The text of a search of many alternatives is longer. Each has a shape of its own and would drop those that come again. */
const shortCharactersMax = 20_000
/** A search asks again for the few that are its own, once for each slice of the index: another 20 MB at most. */
const longOnes = { statementsMax: 4, charactersMax: 1_000_000 }

/** Prepared statements for SQL whose shape depends on the request. */
export const statementCache = <Statement>(
  prepare: (sql: string) => Statement,
): ((sql: string) => Statement) => {
  const [short, long] = [latestUsed(prepare, shortOnes), latestUsed(prepare, longOnes)]
  return sql => (sql.length > shortCharactersMax ? long : short)(sql)
}

type Kept<Statement> = { readonly statement: Statement; lastUse: number }

/**
 * When there are too many, the least recently used one is dropped. A hit only notes its use: a map that is kept in the order of use is
 * rebuilt all the time, where only the slow collector looks.
 */
const latestUsed = <Statement>(
  prepare: (sql: string) => Statement,
  { statementsMax, charactersMax }: typeof shortOnes,
): ((sql: string) => Statement) => {
  const statements = new Map<string, Kept<Statement>>()
  let uses = 0
  let characters = 0

  const dropOldest = (): void => {
    let oldest = ''
    let oldestUse = Number.POSITIVE_INFINITY
    for (const [sql, { lastUse }] of statements)
      if (lastUse < oldestUse) {
        oldest = sql
        oldestUse = lastUse
      }
    statements.delete(oldest)
    characters -= oldest.length
  }

  return sql => {
    const known = statements.get(sql)
    if (known !== undefined) {
      known.lastUse = ++uses
      return known.statement
    }
    const statement = prepare(sql)
    statements.set(sql, { statement, lastUse: ++uses })
    characters += sql.length
    while (statements.size > statementsMax || characters > charactersMax) dropOldest()
    return statement
  }
}
