import { workerData } from 'node:worker_threads'
import { type BackUp, flush } from './back-up.ts'
import { openFile, openToRead, withoutForeignCode } from './open-database.ts'
import { requireOwnSchema } from './own-storage.ts'

const copy = ({ path, to }: BackUp): void => {
  const database = openToRead(path)
  try {
    // temp_store keeps sorter spills off the disk. The copy inherits secure_delete from this connection: without it
    // SQLite leaves a second copy of a table's first rows on the page that held them before the table outgrew one page.
    database.exec('PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON')
    database.prepare('VACUUM INTO ?').run(to)
  } finally {
    database.close()
  }
}

/** C11: a cvc lives for an hour, a backup for years. Cards are complete without it, as they are after upkeep's sweep. */
const forgetTransients = ({ path, to }: BackUp): void => {
  const database = withoutForeignCode(openFile(to))
  try {
    requireOwnSchema(database, path)
    // A journal would keep the wiped bytes. None is needed, because an unfinished copy is deleted.
    database.exec('PRAGMA journal_mode = OFF; PRAGMA secure_delete = ON; DELETE FROM transients')
  } finally {
    database.close()
  }
}

const backUp = workerData as BackUp
copy(backUp)
forgetTransients(backUp)
flush(backUp.to)
