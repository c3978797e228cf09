import { migrations as onPostgres } from '../../src/store/postgres/migrate.ts'
import type { Migration } from '../../src/store/sql/migration.ts'
import { migrations as onSqlite } from '../../src/store/sqlite/migrate.ts'

/** Makes this process one of a later release, whose only difference is one more migration. Returns how to undo that. */
export const becomeLaterRelease = (): (() => void) => {
  const lists = [onSqlite, onPostgres] as Migration[][]
  for (const migrations of lists)
    migrations.push({
      number: migrations.length + 1,
      name: 'later',
      sql: 'CREATE TABLE later (x integer NOT NULL)',
    })
  return () => {
    for (const migrations of lists) migrations.pop()
  }
}

/** The environment that makes a program one of that release. */
export const laterRelease = {
  NODE_OPTIONS: `--import=${new URL('./later-release.ts', import.meta.url).href}`,
}
