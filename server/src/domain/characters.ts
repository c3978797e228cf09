/** C8: characters are code points. A lone surrogate counts as one. */
export const countCharacters = (text: string): number => {
  let count = 0
  for (const _character of text) count++
  return count
}
