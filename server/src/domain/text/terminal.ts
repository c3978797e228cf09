// Texts that people read and paste in a terminal.

/** Removes control characters: text from a caller, or from tampered storage, may hold some that a terminal would obey. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}')

/** Quotes a text as one word of a POSIX shell, because operators paste printed commands. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`

/** `1 row`, `2 rows`. */
export const counted = (count: number, one: string, more = `${one}s`): string =>
  `${count} ${count === 1 ? one : more}`
