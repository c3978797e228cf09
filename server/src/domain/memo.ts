/**
 * A bounded memo. When it is full it forgets the older half, so that a hit, which is on the path of every read, costs
 * one look-up and nothing else. Keeping the entries in order of use made a hit four times as expensive.
 */
export class Memo<Value> {
  readonly #entries = new Map<string, Value>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  getOrMake(key: string, make: () => Value): Value {
    const known = this.#entries.get(key)
    if (known !== undefined) return known
    const value = make()
    this.set(key, value)
    return value
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: Value): void {
    if (this.#entries.size >= this.#capacity && !this.#entries.has(key)) this.#forgetOlderHalf()
    this.#entries.set(key, value)
  }

  clear(): void {
    this.#entries.clear()
  }

  // A Map iterates in the order of insertion.
  #forgetOlderHalf(): void {
    let left = Math.ceil(this.#capacity / 2)
    for (const key of this.#entries.keys()) {
      if (left-- === 0) return
      this.#entries.delete(key)
    }
  }
}
