import type { Migration } from '../../src/store/sql/migration.ts'

/**
 * How to revert storage to the first schema: the statements, newest migration first, and the schema number they leave.
 * A function that a migration only replaced is dropped too, because the migration that created it is also reverted.
 */
export const olderSchema = (
  migrations: readonly Migration[],
): { statements: string[]; number: number | undefined } => {
  const [first, ...later] = migrations
  return { statements: later.toReversed().flatMap(({ sql }) => undo(sql, migrations)), number: first?.number }
}

const undo = (sql: string, migrations: readonly Migration[]): string[] => [
  ...[...sql.matchAll(/DROP INDEX (\w+)/g)].flatMap(([drop, name = '']) => [
    drop,
    madeAtFirst(name, migrations),
  ]),
  ...[...sql.matchAll(/CREATE (?:OR REPLACE )?(TABLE|FUNCTION) (\w+)/g)].map(
    ([, kind, name]) => `DROP ${kind} IF EXISTS ${name}`,
  ),
  ...[...sql.matchAll(/(ALTER TABLE \w+) ADD (COLUMN \w+)/g)].map(
    ([, table, column]) => `${table} DROP ${column}`,
  ),
]

const madeAtFirst = (index: string, [first]: readonly Migration[]): string => {
  const [made] = new RegExp(`CREATE UNIQUE INDEX ${index} [^;]+`).exec(first?.sql ?? '') ?? []
  if (made === undefined) throw new Error(`no migration made the index ${index} at first`)
  return made
}
