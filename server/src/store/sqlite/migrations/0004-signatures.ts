import type { Migration } from '../../sql/migration.ts'

/** Adds to each index entry a rough record of all the token's terms (term-signature.ts). Existing entries have none. */
export const signatures: Migration = {
  number: 4,
  name: 'signatures',
  sql: 'ALTER TABLE terms ADD COLUMN signature INTEGER;',
}
