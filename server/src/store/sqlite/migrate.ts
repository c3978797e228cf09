import type { DatabaseSync } from 'node:sqlite'
import { type Migration, schemaMismatch } from '../sql/migration.ts'
import { vault } from './migrations/0001-vault.ts'

/** In order, without gaps. A released migration is never edited. */
export const migrations: readonly Migration[] = [vault]

export const newestSchema = (): number => migrations.at(-1)?.number ?? 0

/** Brings the schema up to date, each step in its own transaction. Refuses storage written by a newer release. */
export const migrate = (database: DatabaseSync): void => {
  const [current, newest] = [schemaNumber(database), newestSchema()]
  if (current > newest)
    throw new Error(`${schemaMismatch('storage', { current, newest })}: install the newer release`)
  migrateTo(database, newest)
}

export const migrateTo = (database: DatabaseSync, number: number): void => {
  const current = schemaNumber(database)
  for (const migration of migrations) {
    if (migration.number <= current || migration.number > number) continue
    database.exec('BEGIN IMMEDIATE')
    try {
      // Another process may have migrated while this one waited for the lock.
      if (schemaNumber(database) < migration.number) {
        database.exec(migration.sql)
        database.exec(`PRAGMA user_version = ${migration.number}`)
      }
      database.exec('COMMIT')
    } catch (error) {
      database.exec('ROLLBACK')
      throw error
    }
  }
}

export const schemaNumber = (database: DatabaseSync): number =>
  Number(database.prepare('PRAGMA user_version').get()?.user_version ?? 0)
