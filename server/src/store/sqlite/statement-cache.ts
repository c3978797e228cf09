import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** A statement for columns.ts. It reads bigints, because the driver would throw on an integer too large for a double. */
export const prepareRead = (database: DatabaseSync, sql: string): StatementSync => {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** A statement takes some twenty times the memory of its text. All together take some 10 MB. */
const shortOnes = { statementsMax: 200, charactersMax: 500_000 }
/** Searches with many alternatives have longer texts. Nearly every one is different, and would push out statements that recur. */
const shortCharactersMax = 20_000
/** For the statements of such searches, which each search needs once per slice of the index: another 20 MB at most. */
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
 * When there are too many, the least recently used statement is dropped. A hit only notes the time of use: a map that is kept in order
 * of use is rebuilt all the time, and only a major garbage collection frees the old ones.
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
