/** In longer texts no search is made: each of its steps costs what reading the text costs. */
const searchedCharactersMax = 8_192

/**
 * Where a text is not JSON, as ` (line 2 column 3)`, to stand behind what is said of it; '' where that is not known. Nothing else
 * of the engine's message goes on: it quotes the text.
 */
export const faultPlace = (text: string, error: unknown): string => {
  const [told] = / \(line \d+ column \d+\)$/.exec(messageOf(error)) ?? []
  if (told !== undefined) return told
  if (!isWrongToken(error) || text.length > searchedCharactersMax) return ''
  const before = text.slice(0, wrongTokenAt(text)).split(/\r\n|\r|\n/)
  return ` (line ${before.length} column ${(before.at(-1) ?? '').length + 1})`
}

/** The one fault whose place the engine does not tell: it stays the same in all beginnings of the text that hold it. */
const wrongTokenAt = (text: string): number => {
  let [sound, faulty] = [0, text.length]
  while (faulty - sound > 1) {
    const middle = (sound + faulty) >> 1
    if (isWrongToken(faultOf(text.slice(0, middle)))) faulty = middle
    else sound = middle
  }
  return sound
}

const faultOf = (text: string): unknown => {
  try {
    JSON.parse(text)
  } catch (error) {
    return error
  }
}

const isWrongToken = (error: unknown): boolean => messageOf(error).startsWith('Unexpected token ')

const messageOf = (error: unknown): string => (error instanceof SyntaxError ? error.message : '')
