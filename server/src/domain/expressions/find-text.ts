import { prices, type Run } from './budget.ts'

/**
 * Offsets of the pattern in the text, left to right, not overlapping. Knuth-Morris-Pratt: `indexOf` compares
 * up to text × pattern characters where both repeat themselves, and both may come from a hostile caller.
 * The pattern is not empty.
 */
export const findAll = (
  text: string,
  pattern: string,
  run: Run,
  most = Number.POSITIVE_INFINITY,
): number[] => {
  if (pattern.length === 1) return findUnit(text, pattern, run, most)
  run.budget.charge((text.length + pattern.length) * prices.walkedCharacter)
  const found: number[] = []
  if (pattern.length > text.length) return found
  const borders = bordersOf(pattern)
  let matched = 0
  for (let offset = 0; offset < text.length && found.length < most; offset++) {
    const unit = text.charCodeAt(offset)
    while (matched > 0 && pattern.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0
    if (pattern.charCodeAt(matched) === unit) matched++
    if (matched === pattern.length) {
      run.budget.charge(prices.piece)
      found.push(offset + 1 - pattern.length)
      matched = 0
    }
  }
  return found
}

/** A single unit, which the engine finds faster. */
const findUnit = (text: string, unit: string, run: Run, most: number): number[] => {
  run.budget.charge(text.length * prices.copiedCharacter)
  const found: number[] = []
  for (let offset = text.indexOf(unit); offset !== -1 && found.length < most; ) {
    run.budget.charge(prices.piece)
    found.push(offset)
    offset = text.indexOf(unit, offset + 1)
  }
  return found
}

/** For each prefix of the pattern, the length of its longest proper prefix that is also its suffix. */
const bordersOf = (pattern: string): Uint32Array => {
  const borders = new Uint32Array(pattern.length)
  let length = 0
  for (let offset = 1; offset < pattern.length; offset++) {
    const unit = pattern.charCodeAt(offset)
    while (length > 0 && pattern.charCodeAt(length) !== unit) length = borders[length - 1] ?? 0
    if (pattern.charCodeAt(length) === unit) length++
    borders[offset] = length
  }
  return borders
}

/** The text between the places where the pattern was found. Whoever found them has paid for the pieces. */
export const piecesBetween = (text: string, found: readonly number[], patternLength: number): string[] => {
  const pieces: string[] = []
  let start = 0
  for (const offset of found) {
    pieces.push(text.slice(start, offset))
    start = offset + patternLength
  }
  pieces.push(text.slice(start))
  return pieces
}
