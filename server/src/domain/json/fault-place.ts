/** Longer texts are not searched: each step of the search costs as much as parsing the text. */
const searchedCharactersMax = 8_192

/**
 * Where a text stops being JSON, as ` (line 2 column 3)`, to be appended to a message; '' if the place is not known.
 * Nothing else of the engine's message is passed on, because it quotes the text.
 */
export const faultPlace = (text: string, error: unknown): string => {
  const [told] = / \(line \d+ column \d+\)$/.exec(messageOf(error)) ?? []
  if (told !== undefined) return told
  if (!isWrongToken(error) || text.length > searchedCharactersMax) return ''
  const before = text.slice(0, wrongTokenAt(text)).split(/\r\n|\r|\n/)
  return ` (line ${before.length} column ${(before.at(-1) ?? '').length + 1})`
}

/** Finds a fault whose place the engine does not report by bisection: every prefix that includes the fault fails in the same way. */
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
