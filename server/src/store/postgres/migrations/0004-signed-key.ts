import type { Migration } from '../../sql/migration.ts'

/**
 * Adds signatures to the index, so that lists still read the index alone. A separate migration, because entries stay
 * readable while an index is built, but would not in one transaction with the new column.
 */
export const signedKey: Migration = {
  number: 4,
  name: 'signed-key',
  sql: `
    DO $$ BEGIN
      CREATE UNIQUE INDEX terms_signed_key ON terms (tenant, term, created_at, token_id DESC)
        INCLUDE (expires_at, tag, signature);
      ALTER TABLE terms REPLICA IDENTITY USING INDEX terms_signed_key;
      DROP INDEX terms_key;
      ALTER INDEX terms_signed_key RENAME TO terms_key;
    END $$;
  `,
}
