import type { Migration } from '../../sql/migration.ts'

/** Which terms a token has, roughly, in each of its entries (term-signature.ts); those of before have none. */
export const signatures: Migration = {
  number: 4,
  name: 'signatures',
  sql: 'ALTER TABLE terms ADD COLUMN signature INTEGER;',
}
