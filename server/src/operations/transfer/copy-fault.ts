/** What is wrong with a row of a copy. */
export type CopyFault = {
  /** Its table and its key. */
  readonly row: string
  readonly problem: 'does not open' | 'is not what the source holds'
}
