/** Numbers that depend on a seed alone (mulberry32): the same seed repeats the same attack. */
export class Seeded {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to, but not including, `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end)
  }

  between(min: number, max: number): number {
    return min + this.below(max - min + 1)
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)]
  }
}
