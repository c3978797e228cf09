// Without imports, because every command loads it to explain what failed (cli/explain.ts).

const busy = 5
const diskFailure = 10
const damaged = 11
const full = 13
const notADatabase = 26

/** SQLITE_BUSY: another connection holds the lock. */
export const isBusy = (error: unknown): boolean => codeOf(error) === busy

/** SQLITE_CORRUPT or SQLITE_NOTADB: the file of the vault is damaged, and not merely out of reach or in use. */
export const isDamage = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  return [damaged, notADatabase].includes(codeOf(error)) || isDamage(error.cause)
}

/** SQLITE_FULL: the disk of the file that is written is full. */
export const isFull = (error: unknown): boolean => codeOf(error) === full

/** SQLITE_IOERR: within a VACUUM it does not tell which file failed. */
export const isDiskFailure = (error: unknown): boolean => codeOf(error) === diskFailure

/** The result code without its details, which are in the upper bits. */
const codeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
