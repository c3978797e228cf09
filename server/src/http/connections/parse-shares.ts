/** How long bytes are parsed in one iteration of the event loop, for all connections together. */
const shareMs = 4

/**
 * Shares out the time in which Node's parser works: bytes cost up to a thousand times as much to parse as others (chunks of a byte).
 * Connections parse a piece each, whoever has waited longest first; what is left when the time is over waits for the next iteration of
 * the event loop, so that everybody else gets in.
 */
export class ParseShares {
  readonly #now: () => number
  readonly #waiting: (() => void)[] = []
  #spentMs = 0
  #isPlanned = false

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  take(parse: () => void): void {
    if (this.#waiting.length === 0 && this.#spentMs < shareMs) this.#run(parse)
    else this.#waiting.push(parse)
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => this.#begin())
  }

  #begin(): void {
    this.#isPlanned = false
    this.#spentMs = 0
    while (this.#spentMs < shareMs) {
      const parse = this.#waiting.shift()
      if (parse === undefined) return
      this.#run(parse)
    }
    if (this.#waiting.length === 0 || this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => this.#begin())
  }

  #run(parse: () => void): void {
    const begun = this.#now()
    parse()
    this.#spentMs += this.#now() - begun
  }
}
