import { printable } from '../../domain/text/terminal.ts'
import { EncodingError } from '../../store/postgres/require-unicode.ts'
import type { StorageDoctor } from './storage-doctor.ts'

/** The database server takes care of files and disk space. */
export const serverDoctor: StorageDoctor = {
  accessChecks: [],
  roomChecks: [],
  explain: error =>
    error instanceof EncodingError
      ? {
          problem: error.problem,
          remedy: { byHand: `${error.advice}, and name that one in STRONGROOM_DATABASE_URL` },
        }
      : {
          problem: `the database does not answer or refuses this user${causeOf(error)}`,
          remedy: {
            byHand:
              "start the database server, or correct address, user and password (STRONGROOM_DATABASE_URL, STRONGROOM_DATABASE_PASSWORD_FILE); the database must exist, and the vault's tables in it must belong to the user",
          },
        },
  restore: () => ({
    byHand:
      'restore a backup into a new, empty database (psql -v ON_ERROR_STOP=1 --single-transaction), and name that one in STRONGROOM_DATABASE_URL',
  }),
  compareClocks:
    'compare "date -u" on every node with a clock that you trust, and set the one that is wrong; if all are right',
}

/** In the words of the server or the system, which may name the operator's own settings. */
const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return ''
  // The error of a refused statement comes as it is. The error of a failed connection comes as a cause.
  const { message } = error.cause instanceof Error ? error.cause : error
  return `: ${printable(message)}`
}
