/** A sketch as it is stored. */
export type SketchState = {
  readonly tokens: number
  readonly smallest: readonly number[]
  readonly common: readonly (readonly [hash: number, count: number])[]
}

const smallestMax = 512
const commonMax = 128
/**
 * Up to how many different terms the figures are exact. Beyond that, the number of terms is off by about 1/√k, and the
 * largest share is too low by at most 1/(k + 1).
 */
export const sketchPrecision = {
  distinctExactMax: smallestMax - 1,
  distinctErrorPercent: Math.round(100 / Math.sqrt(smallestMax)),
  shareExactMax: commonMax,
  shareErrorParts: commonMax + 1,
} as const
/** Terms come as evenly distributed whole numbers of 48 bits. */
const hashRange = 2 ** 48

/**
 * Estimates how many different terms there were and how often the commonest occurred, in bounded memory. The k-th
 * smallest of evenly distributed numbers tells how many there are; the counts are those of Misra and Gries.
 */
export class TermSketch {
  #tokens: number
  /** Ascending, each once. */
  readonly #smallest: number[]
  readonly #common: Map<number, number>

  constructor(state: SketchState = { tokens: 0, smallest: [], common: [] }) {
    this.#tokens = state.tokens
    this.#smallest = [...state.smallest]
    this.#common = new Map(state.common)
  }

  get state(): SketchState {
    return { tokens: this.#tokens, smallest: this.#smallest, common: [...this.#common] }
  }

  get tokens(): number {
    return this.#tokens
  }

  get distinct(): number {
    const last = this.#smallest[smallestMax - 1]
    return last === undefined
      ? this.#smallest.length
      : Math.round((smallestMax - 1) / ((last + 1) / hashRange))
  }

  get largestShare(): number {
    return this.#tokens === 0 ? 0 : Math.max(1, ...this.#common.values()) / this.#tokens
  }

  add(hash: number): void {
    this.#tokens++
    this.#noteSmallest(hash)
    this.#noteCommon(hash)
  }

  #noteSmallest(hash: number): void {
    const smallest = this.#smallest
    if (smallest.length === smallestMax && hash >= (smallest[smallestMax - 1] ?? 0)) return
    const at = firstNotBelow(smallest, hash)
    if (smallest[at] === hash) return
    smallest.splice(at, 0, hash)
    if (smallest.length > smallestMax) smallest.pop()
  }

  #noteCommon(hash: number): void {
    const count = this.#common.get(hash)
    if (count !== undefined || this.#common.size < commonMax) this.#common.set(hash, (count ?? 0) + 1)
    // Everything that is counted down here was counted up before, so the total cost stays small.
    else
      for (const [other, times] of this.#common)
        if (times === 1) this.#common.delete(other)
        else this.#common.set(other, times - 1)
  }
}

const firstNotBelow = (sorted: readonly number[], value: number): number => {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
