/** SQLite's numbers for a file whose content is wrong: SQLITE_CORRUPT and SQLITE_NOTADB. */
const damaged: readonly number[] = [11, 26]

/** Whether the file of the vault is damaged, and not merely out of reach or in use. */
export const isDamage = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  return damaged.includes(numberOf(error)) || isDamage(error.cause)
}

/** SQLITE_FULL: the disk of the file that is written is full. */
export const isFull = (error: unknown): boolean => numberOf(error) === 13

/** SQLITE_IOERR: within a VACUUM it does not tell which file failed. */
export const isDiskFailure = (error: unknown): boolean => numberOf(error) === 10

/** The result code without its details, which are in the upper bits. */
const numberOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0
