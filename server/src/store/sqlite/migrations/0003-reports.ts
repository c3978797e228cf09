import type { Migration } from '../../sql/migration.ts'

/** What background jobs have found out about a tenant, and how far they have come, sealed. */
export const reports: Migration = {
  number: 3,
  name: 'reports',
  sql: `
    CREATE TABLE reports (
      tenant INTEGER NOT NULL,
      name TEXT NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, name)
    );
  `,
}
