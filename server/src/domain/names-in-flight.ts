/** Names of things in flight, each with its holder. A name has at most one holder at a time. */
export class NamesInFlight<Holder> {
  readonly #holders = new Map<string, Holder>()

  /** False if the name is already taken. */
  take(name: string, holder: Holder): boolean {
    if (this.#holders.has(name)) return false
    this.#holders.set(name, holder)
    return true
  }

  release(name: string): void {
    this.#holders.delete(name)
  }

  /** Used when a holder is gone. */
  releaseAllOf(holder: Holder): void {
    for (const [name, own] of this.#holders) if (own === holder) this.#holders.delete(name)
  }
}
