import type { Migration } from '../../sql/migration.ts'

/** Where index entries wait until they are moved into `terms` (waiting-entries.ts). */
export const waiting: Migration = {
  number: 5,
  name: 'waiting',
  sql: `
    -- In the order in which they came. A place is never used twice; an entry that waits no more has an empty term.
    CREATE TABLE waiting_terms (
      place INTEGER PRIMARY KEY,
      tenant INTEGER NOT NULL,
      term BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      token_id TEXT NOT NULL,
      expires_at INTEGER,
      tag BLOB,
      signature INTEGER
    );

    -- One row: of the entries up to this place, those in this many parts are in terms already. Parts go by the first byte.
    CREATE TABLE waiting_moved (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      up_to INTEGER NOT NULL,
      parts INTEGER NOT NULL
    );
    INSERT INTO waiting_moved VALUES (1, 0, 256);
  `,
}
