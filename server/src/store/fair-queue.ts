type Item<T> = { readonly value: T; readonly weight: number; next: Item<T> | undefined }

/** What one tenant has waiting, and how much it has been served, on a scale that all lines share. */
type Line<T> = {
  first: Item<T> | undefined
  last: Item<T> | undefined
  weight: number
  served: number
}

/**
 * Work of several tenants. Each has a line of its own, in which order is kept, and the tenant that was served the least comes
 * next, by weight: whoever asks for much waits behind himself. A tenant that had nothing waiting begins where the others are.
 */
export class FairQueue<T> {
  /** Of tenants that wait, or that are ahead of the others. */
  readonly #lines = new Map<number, Line<T>>()
  /** How far the tenant that was served last had been served before. */
  #reached = 0
  #weight = 0

  /** Of everything that waits. */
  get weight(): number {
    return this.#weight
  }

  weightOf(tenant: number): number {
    return this.#lines.get(tenant)?.weight ?? 0
  }

  add(tenant: number, value: T, weight: number): void {
    const item: Item<T> = { value, weight, next: undefined }
    let line = this.#lines.get(tenant)
    if (line === undefined) {
      line = { first: undefined, last: undefined, weight: 0, served: this.#reached }
      this.#lines.set(tenant, line)
    }
    if (line.last === undefined) {
      line.first = item
      line.served = Math.max(line.served, this.#reached)
    } else line.last.next = item
    line.last = item
    line.weight += weight
    this.#weight += weight
  }

  /**
   * Takes what is next, up to a weight. Something heavier is taken alone, or with `onlyLight` left where it is, with all that is
   * behind it in its line. With `oneTenant`, takes from one line only.
   */
  take(
    weightMax: number,
    { oneTenant = false, onlyLight = false }: { oneTenant?: boolean; onlyLight?: boolean } = {},
  ): T[] {
    const taken: T[] = []
    let left = weightMax
    let line = this.#next(onlyLight ? weightMax : Number.POSITIVE_INFINITY)
    while (line?.first !== undefined && (taken.length === 0 || line.first.weight <= left)) {
      left -= line.first.weight
      taken.push(this.#takeFirst(line, line.first))
      if (!oneTenant) line = this.#next(weightMax)
    }
    for (const [tenant, { first, served }] of this.#lines)
      if (first === undefined && served <= this.#reached) this.#lines.delete(tenant)
    return taken
  }

  /** Whether `take` would find something. */
  has(weightMax: number, { onlyLight = false }: { onlyLight?: boolean } = {}): boolean {
    return this.#next(onlyLight ? weightMax : Number.POSITIVE_INFINITY) !== undefined
  }

  /** The last of each line. Once these were taken, so was everything that waits now. */
  lasts(): T[] {
    return [...this.#lines.values()].flatMap(({ last }) => (last === undefined ? [] : [last.value]))
  }

  #takeFirst(line: Line<T>, item: Item<T>): T {
    line.first = item.next
    if (item.next === undefined) line.last = undefined
    line.weight -= item.weight
    this.#weight -= item.weight
    this.#reached = Math.max(this.#reached, line.served)
    line.served += item.weight
    return item.value
  }

  #next(weightMax: number): Line<T> | undefined {
    let next: Line<T> | undefined
    for (const line of this.#lines.values())
      if (line.first !== undefined && line.first.weight <= weightMax)
        if (next === undefined || line.served < next.served) next = line
    return next
  }
}
