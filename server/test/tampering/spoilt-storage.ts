import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import pg from 'pg'
import { foreignCode } from '../../src/domain/foreign-code.ts'
import type { Store } from '../../src/store/port.ts'
import { typeParser } from '../../src/store/postgres/client-config.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { type Engine, postgres, type StoredRow, sqlite } from '../rig/engines.ts'
import { databaseOf, settingsOf } from '../rig/postgres-databases.ts'

/** One value in storage: where it is, and the row it is in. */
export type Place = { readonly table: string; readonly column: string; readonly row: StoredRow }

/** Storage that nothing writes to any more, with one value at a time changed. */
export type SpoiltStorage = {
  readonly rows: (table: string) => Promise<readonly StoredRow[]>
  readonly tables: readonly string[]
  /** Works on the unchanged storage. */
  readonly sound: <T>(work: (store: Store) => Promise<T>) => Promise<T>
  /** Works on storage with the value changed. Returns false without doing the work if the schema itself refuses the value. */
  readonly spoilt: (
    place: Place,
    value: SQLInputValue,
    work: (store: Store) => Promise<unknown>,
  ) => Promise<boolean>
  readonly close: () => Promise<void>
}

const change = ({ table, column, row }: Place): string =>
  `UPDATE ${table} SET ${column} = ? WHERE ${Object.keys(row)
    .map(name => `${name} IS NOT DISTINCT FROM ?`)
    .join(' AND ')}`

/** For embedded storage a copy is spoilt, so nothing has to be restored. */
const spoiltFile = async (folder: string): Promise<SpoiltStorage> => {
  const source = join(folder, 'vault.db')
  const copy = join(folder, 'spoilt.db')
  const database = new DatabaseSync(source, { readOnly: true })
  const onCopy = async <T>(work: (store: Store) => Promise<T>): Promise<T> => {
    const store = openSqlite({ path: copy, writing: 'inline' })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }
  return {
    tables: database
      .prepare(sqlite.tables)
      .all()
      .map(({ name }) => String(name)),
    rows: async table => database.prepare(`SELECT * FROM ${table}`).all(),
    sound: work => {
      cpSync(source, copy)
      return onCopy(work)
    },
    spoilt: async (place, value, work) => {
      cpSync(source, copy)
      const spoiling = new DatabaseSync(copy)
      try {
        const values = Object.values(place.row) as SQLInputValue[]
        assert.equal(spoiling.prepare(change(place)).run(value, ...values).changes, 1)
      } catch (error) {
        assert.equal(foreignCode(error), 'ERR_SQLITE_ERROR', `${error}`)
        return false
      } finally {
        spoiling.close()
      }
      await onCopy(work)
      return true
    },
    close: async () => {
      database.close()
      rmSync(copy, { force: true })
    },
  }
}

/** A server's storage is spoilt in place and restored afterwards; meanwhile work on it may only read. */
const spoiltDatabase = async (folder: string): Promise<SpoiltStorage> => {
  const url = await databaseOf(folder)
  const hand = new pg.Client({ connectionString: url, types: { getTypeParser: typeParser as never } })
  await hand.connect()
  const name = new URL(url).pathname.slice(1)
  await hand.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
  const store = await openPostgres(settingsOf(url))
  const put = async (place: Place, value: SQLInputValue): Promise<void> => {
    let at = 0
    const sql = change(place).replace(/\?/g, () => `$${++at}`)
    const { rowCount } = await hand.query(sql, [value, ...Object.values(place.row)].map(asParameter))
    assert.equal(rowCount, 1)
  }
  const tables = await hand.query(postgres.tables)
  return {
    tables: tables.rows.map(row => String(row.name)),
    rows: async table => (await hand.query(`SELECT * FROM ${table}`)).rows,
    sound: work => work(store),
    spoilt: async (place, value, work) => {
      try {
        await put(place, value)
      } catch (error) {
        assert.ok(error instanceof pg.DatabaseError, `${error}`)
        return false
      }
      await work(store)
      const { row, column } = place
      await put({ ...place, row: { ...row, [column]: value as StoredRow[string] } }, row[column] ?? null)
      return true
    },
    close: async () => {
      await store.close()
      await hand.end()
    },
  }
}

const asParameter = (value: unknown): unknown =>
  value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value

export const spoil = ({ name }: Engine, folder: string): Promise<SpoiltStorage> =>
  name === 'sqlite' ? spoiltFile(folder) : spoiltDatabase(folder)
