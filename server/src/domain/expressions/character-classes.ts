export const isDigit = (character: string): boolean => character >= '0' && character <= '9'
export const isLower = (character: string): boolean => character >= 'a' && character <= 'z'
export const isUpper = (character: string): boolean => character >= 'A' && character <= 'Z'

/** What people may group digits with: neither a digit nor a letter of a script that has two cases. */
export const isSeparator = (character: string): boolean =>
  !isDigit(character) && character.toLowerCase() === character.toUpperCase()

/** White space as `trim` sees it; the end of a text, read as '', does not count. */
export const isBlank = (character: string): boolean => character !== '' && character.trim() === ''
