/** More marks on one letter than any script has (UAX #15, stream-safe text). */
const manyMarks = /\p{M}{30}/gu
const joiner = '\u034f'

/** The form in which filters and search compare values (§4.3, C24, C26): letter case and composition do not matter. */
export const foldText = (value: string): string =>
  // Normalized twice: a letter may have a composed form in lower case and none in upper case.
  bounded(value).normalize('NFC').toLowerCase().normalize('NFC')

/** Composing sorts the marks of a letter in quadratic time: a quarter of a megabyte of them took 11 s. */
const bounded = (value: string): string => value.replace(manyMarks, `$&${joiner}`)
