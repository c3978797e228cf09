import { DatabaseSync } from 'node:sqlite'
import { openToRead, withoutForeignCode } from './open-database.ts'

/** A copy as of one moment, without transient fields, also beside processes that write; `to` is not there yet, or empty. */
export const backUpSqlite = (path: string, to: string): void => {
  copy(path, to)
  forgetTransients(to)
}

const copy = (path: string, to: string): void => {
  const database = openToRead(path)
  try {
    // temp_store keeps sorter spills off the disk. The copy takes secure_delete over from here: without it SQLite leaves the
    // first rows of a table a second time where they lay before the table had more than a page.
    database.exec('PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON')
    database.prepare('VACUUM INTO ?').run(to)
  } finally {
    database.close()
  }
}

/** C11: a cvc has an hour, a backup has years. The cards are whole without, as they are after the sweep of upkeep. */
const forgetTransients = (to: string): void => {
  const database = withoutForeignCode(new DatabaseSync(to))
  try {
    // A journal would hold what is wiped, and a copy that did not get so far is thrown away.
    database.exec('PRAGMA journal_mode = OFF; PRAGMA secure_delete = ON; DELETE FROM transients')
  } finally {
    database.close()
  }
}
