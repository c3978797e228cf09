import type { Migration } from '../../src/store/sql/migration.ts'

/**
 * What brings storage back to the schema of an older release, as far as its migrations only made new things: the
 * statements, and the number of the schema that they leave.
 */
export const olderSchema = (migrations: readonly Migration[]): { statements: string[]; number: number } => {
  const older = migrations.findLastIndex(({ number, sql }) => number === 1 || sql.includes('ALTER TABLE'))
  const statements = migrations
    .slice(older + 1)
    .flatMap(({ sql }) => [...sql.matchAll(/CREATE (TABLE|FUNCTION) (\w+)/g)])
    .map(([, kind, name]) => `DROP ${kind} ${name}`)
  return { statements, number: migrations[older]?.number ?? 0 }
}
