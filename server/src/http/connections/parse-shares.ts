/** How long all connections together may parse in one iteration of the event loop. */
const shareMs = 4

/**
 * Shares out the time of Node's parser, because some bytes (chunks of one byte) cost a thousand times as much to parse as others.
 * Connections parse one piece each, in the order in which they asked. When the time is used up, the rest waits for the next
 * iteration of the event loop, so that others get in.
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
