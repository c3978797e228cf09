import type { Migration } from '../../sql/migration.ts'

/** Which node does a job that only one of them should do, and until when. */
export const leases: Migration = {
  number: 2,
  name: 'leases',
  sql: `
    CREATE TABLE leases (
      name TEXT NOT NULL PRIMARY KEY,
      holder TEXT NOT NULL,
      until INTEGER NOT NULL
    ) WITHOUT ROWID;
  `,
}
