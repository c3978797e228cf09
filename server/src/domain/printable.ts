/** What was written past the vault, or chosen by a caller, may hold characters that a terminal would obey. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}')
