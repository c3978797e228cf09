import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import type { BackUp } from './back-up.ts'
import { openToRead, withoutForeignCode } from './open-database.ts'

const copy = ({ path, to }: BackUp): void => {
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
const forgetTransients = ({ to }: BackUp): void => {
  const database = withoutForeignCode(new DatabaseSync(to))
  try {
    // A journal would hold what is wiped, and a copy that did not get so far is thrown away.
    database.exec('PRAGMA journal_mode = OFF; PRAGMA secure_delete = ON; DELETE FROM transients')
  } finally {
    database.close()
  }
}

const flush = ({ to }: BackUp): void => {
  const handle = openSync(to, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

const backUp = workerData as BackUp
copy(backUp)
forgetTransients(backUp)
flush(backUp)
