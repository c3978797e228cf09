/** Who works on what at this moment; a name has one holder at a time. */
export class Claims<Holder> {
  readonly #holders = new Map<string, Holder>()

  /** False where somebody has it. */
  take(name: string, holder: Holder): boolean {
    if (this.#holders.has(name)) return false
    this.#holders.set(name, holder)
    return true
  }

  release(name: string): void {
    this.#holders.delete(name)
  }

  /** For a holder that is gone. */
  releaseAllOf(holder: Holder): void {
    for (const [name, own] of this.#holders) if (own === holder) this.#holders.delete(name)
  }
}
