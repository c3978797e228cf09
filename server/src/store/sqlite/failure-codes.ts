// No imports here: every command loads this file to explain failures (cli/explain.ts).

const busy = 5
const diskFailure = 10
const damaged = 11
const full = 13
const notADatabase = 26

/** SQLITE_BUSY: another connection holds the lock. */
export const isBusy = (error: unknown): boolean => codeOf(error) === busy

/** SQLITE_CORRUPT or SQLITE_NOTADB: the file of the vault is damaged, not just unreachable or in use. */
export const isDamage = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  return [damaged, notADatabase].includes(codeOf(error)) || isDamage(error.cause)
}

/** SQLITE_FULL: the disk is full. */
export const isFull = (error: unknown): boolean => codeOf(error) === full

/** SQLITE_IOERR. During a VACUUM it does not say which file failed. */
export const isDiskFailure = (error: unknown): boolean => codeOf(error) === diskFailure

/** The primary result code; the upper bits hold details. */
const codeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
