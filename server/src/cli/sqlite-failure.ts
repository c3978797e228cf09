/** SQLite's numbers for a file whose content is wrong: SQLITE_CORRUPT and SQLITE_NOTADB. */
const damaged: readonly number[] = [11, 26]

/** Whether the file of the vault is damaged, and not merely out of reach or in use. */
export const isDamage = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false
  // Details are in the upper bits.
  if ('errcode' in error && damaged.includes(Number(error.errcode) & 0xff)) return true
  return isDamage(error.cause)
}
