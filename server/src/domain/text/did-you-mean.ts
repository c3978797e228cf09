/** A hint to append to the message about an unknown name (C6), or nothing. It contains only known names, never what was sent. */
export const didYouMean = (name: string, known: readonly string[], prefix = ''): string =>
  suggestion(nearestName(name, known), prefix)

export const suggestion = (meant: string | undefined, prefix = ''): string =>
  meant === undefined ? '' : ` (did you mean ${prefix}${meant}?)`

/**
 * The known name that a misspelt one probably stands for. It is either the only known name that starts with what was sent
 * (`meta`), or the nearest one within two typing errors. For names of up to three letters only one is allowed: two would turn nearly
 * anything into `cvc`.
 */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  const sent = name.toLowerCase()
  if (sent.length >= 3) {
    const [longer, other] = known.filter(candidate => candidate.toLowerCase().startsWith(sent))
    if (other === undefined && longer !== undefined) return longer
  }
  let best: string | undefined
  let fewest = sent.length <= 3 ? 1 : 2
  for (const candidate of known) {
    // This also bounds the work, however long the name that was sent.
    if (Math.abs(candidate.length - sent.length) > 2) continue
    const slips = countSlips(sent, candidate.toLowerCase())
    if (slips > fewest || (slips === fewest && best !== undefined)) continue
    best = candidate
    fewest = slips
  }
  return best
}

/** Damerau-Levenshtein (optimal string alignment): a letter added, left out or changed, or two swapped. */
const countSlips = (a: string, b: string): number => {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const changed = a[row - 1] === b[column - 1] ? 0 : 1
      const swapped =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
          ? cell(beforePrevious, column - 2) + 1
          : Number.POSITIVE_INFINITY
      current.push(
        Math.min(
          cell(previous, column) + 1,
          cell(current, column - 1) + 1,
          cell(previous, column - 1) + changed,
          swapped,
        ),
      )
    }
    beforePrevious = previous
    previous = current
  }
  return cell(previous, b.length)
}

const cell = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY
