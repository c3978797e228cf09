/** Text that a caller chose, or that was written to storage past the vault, may hold characters that a terminal would obey. */
export const printable = (text: string): string => text.replace(/\p{Cc}/gu, '\u{fffd}')
