/**
 * What work costs, in steps of about a nanosecond of CPU, as docs/decisions/0020 measures it, rounded up. Prices of a single filter
 * stand beside it.
 */
export const prices = {
  /** An output or a literal text between outputs. */
  output: 300,
  filterCall: 200,
  pathSegment: 60,
  /** A leaf of a mask beside its expression, and a list or an object. */
  maskLeaf: 100,
  maskListOrObject: 300,

  /** A character that leaves the expression, to be written into an answer or hashed. */
  shownCharacter: 4,
  /** A value within a list or an object that leaves it. */
  shownValue: 40,
  /** A character that the engine reads or copies at once: `slice`, `repeat`, `trim`. */
  copiedCharacter: 1,
  /** A character that a loop of ours looks at. */
  walkedCharacter: 40,
  /** A character that becomes a text of its own. */
  cutCharacter: 40,

  /** An element that is copied into another list. */
  element: 20,
  /** A text in a list that is made or joined. */
  piece: 120,
  /** A list or an object that is written as JSON, each value in it, and each of its characters. */
  writing: 400,
  writtenValue: 60,
  writtenCharacter: 4,
  /** The same in canonical form, with its keys in order. */
  canonicalValue: 400,
  canonicalCharacter: 12,
  /** A number that becomes text. */
  numberText: 250,
  /** A number that JavaScript writes with an exponent, or that no double holds. */
  numberInDigits: 2_500,
} as const
