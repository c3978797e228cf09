/**
 * Where the text continues after its first `count` characters. Characters are code points (C8): nothing here splits a
 * surrogate pair, and a lone surrogate is one character. Offsets are UTF-16 offsets.
 */
export const offsetAfterFirst = (text: string, count: number): number => {
  let offset = 0
  for (let seen = 0; seen < count && offset < text.length; seen++) offset = nextOffset(text, offset)
  return offset
}

/** Where the last `count` characters of the text start. */
export const offsetOfLast = (text: string, count: number): number => {
  let offset = text.length
  for (let seen = 0; seen < count && offset > 0; seen++)
    offset -= offset > 1 && isPairAt(text, offset - 2) ? 2 : 1
  return offset
}

export const isDigit = (character: string): boolean => character >= '0' && character <= '9'
export const isLower = (character: string): boolean => character >= 'a' && character <= 'z'
export const isUpper = (character: string): boolean => character >= 'A' && character <= 'Z'

/** What people may group digits with: neither a digit nor a letter of a script that has two cases. */
export const isSeparator = (character: string): boolean =>
  !isDigit(character) && character.toLowerCase() === character.toUpperCase()

/** White space as `trim` sees it; the end of a text, read as '', does not count. */
export const isBlank = (character: string): boolean => character !== '' && character.trim() === ''

const nextOffset = (text: string, offset: number): number => offset + (isPairAt(text, offset) ? 2 : 1)

const isPairAt = (text: string, offset: number): boolean => (text.codePointAt(offset) ?? 0) > 0xffff
