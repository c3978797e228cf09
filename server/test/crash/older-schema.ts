import type { Migration } from '../../src/store/sql/migration.ts'

/**
 * How to revert storage to the first schema: the statements, newest migration first, and the schema number they leave. Later
 * migrations, of which one is the tests' own (rig/later-migration.ts), make tables and functions and add columns.
 */
export const olderSchema = (
  migrations: readonly Migration[],
): { statements: string[]; number: number | undefined } => {
  const [first, ...later] = migrations
  return { statements: later.toReversed().flatMap(({ sql }) => undo(sql)), number: first?.number }
}

const undo = (sql: string): string[] => [
  ...[...sql.matchAll(/CREATE (?:OR REPLACE )?(TABLE|FUNCTION) (\w+)/g)].map(
    ([, kind, name]) => `DROP ${kind} IF EXISTS ${name}`,
  ),
  ...[...sql.matchAll(/(ALTER TABLE \w+) ADD (COLUMN \w+)/g)].map(
    ([, table, column]) => `${table} DROP ${column}`,
  ),
]
