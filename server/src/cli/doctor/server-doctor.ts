import { printable } from '../../domain/text/terminal.ts'
import { EncodingError } from '../../store/postgres/require-unicode.ts'
import type { StorageDoctor } from './storage-doctor.ts'

/** Files and room are for the database server to look after. */
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

/** In the words of the server or the system: the operator's own settings may be named. */
const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return ''
  // What a statement is refused for comes as it is, what a connection fails for as a cause.
  const { message } = error.cause instanceof Error ? error.cause : error
  return `: ${printable(message)}`
}
