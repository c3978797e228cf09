/** More marks on one letter than any script has (UAX #15, stream-safe text). */
const manyMarks = /\p{M}{30}/gu
const joiner = '\u034f'

/** What filters and search compare (§4.3, C24, C26): values match whatever their letter case and composition. */
export const foldText = (value: string): string =>
  // A letter may have one composed form in lower case and none in upper case.
  bounded(value).normalize('NFC').toLowerCase().normalize('NFC')

/** Marks are sorted when they are composed, in a time that is the square of their number: a quarter of a megabyte took 11 s. */
const bounded = (value: string): string => value.replace(manyMarks, `$&${joiner}`)
