/**
 * Numbers that no tenant has: a tenant's writes take a lock on its number (`migrations/functions.ts`). The tests have -2
 * for the databases that they make.
 */
export const advisoryLocks = {
  /** One node at a time changes the schema. */
  migration: -1,
  /** One copy at a time goes into a database. */
  copy: -3,
  /** One checkpoint follows another. */
  checkpoint: -4,
} as const
