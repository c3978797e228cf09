/** C8: characters are code points. A lone surrogate counts as one. */
export const countCharacters = (text: string): number =>
  hasSurrogates(text) ? countOneByOne(text) : text.length

/** A regular expression, because a loop over the characters takes ten times as long. */
export const hasSurrogates = (text: string): boolean => surrogate.test(text)
const surrogate = /[\ud800-\udfff]/

export const isAscii = (text: string): boolean => !beyondAscii.test(text)
const beyondAscii = /[^\0-\x7f]/

/** For this few characters, a loop is faster than a scan of the whole text. */
const fewCharacters = 32

const countOneByOne = (text: string): number => {
  let count = 0
  for (const _character of text) count++
  return count
}

/**
 * Where the text continues after its first `count` characters. Nothing here splits a surrogate pair. Offsets are UTF-16
 * offsets.
 */
export const offsetAfterFirst = (text: string, count: number): number => {
  if (count > text.length) return text.length
  if (count > fewCharacters && !hasSurrogates(text)) return count
  let offset = 0
  for (let seen = 0; seen < count && offset < text.length; seen++) offset = nextOffset(text, offset)
  return offset
}

/** Where the last `count` characters of the text start. */
export const offsetOfLast = (text: string, count: number): number => {
  if (count > text.length) return 0
  if (count > fewCharacters && !hasSurrogates(text)) return text.length - count
  let offset = text.length
  for (let seen = 0; seen < count && offset > 0; seen++)
    offset -= offset > 1 && isPairAt(text, offset - 2) ? 2 : 1
  return offset
}

const nextOffset = (text: string, offset: number): number => offset + (isPairAt(text, offset) ? 2 : 1)

const isPairAt = (text: string, offset: number): boolean => (text.codePointAt(offset) ?? 0) > 0xffff
