type Item<T> = { readonly value: T; readonly weight: number; next: Item<T> | undefined }

/** The waiting work of one tenant, and how much work the tenant has been served, on a scale that all lines share. */
type Line<T> = {
  first: Item<T> | undefined
  last: Item<T> | undefined
  weight: number
  served: number
}

/**
 * A queue that is fair to tenants. Each tenant has its own line, first in, first out. The tenant that has been served the least, by
 * weight, comes next, so a tenant that asks for much only delays itself. A tenant with an empty line starts level with the others.
 */
export class FairQueue<T> {
  /** The lines of tenants that are waiting, or that have been served more than the others. */
  readonly #lines = new Map<number, Line<T>>()
  /** How much the tenant that was served last had been served before that. */
  #reached = 0
  #weight = 0
  #length = 0

  get length(): number {
    return this.#length
  }

  /** The weight of everything that is waiting. */
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
    this.#length++
  }

  /**
   * Takes the next items, up to a total weight. An item heavier than that is taken alone. With `onlyLight` it stays, and so does all
   * that is behind it in its line. With `oneTenant`, takes from one line only; the lines of tenants in `but` stay as they are.
   */
  take(
    weightMax: number,
    {
      oneTenant = false,
      onlyLight = false,
      countMax = Number.POSITIVE_INFINITY,
      but,
    }: {
      oneTenant?: boolean
      onlyLight?: boolean
      countMax?: number
      but?: { has(tenant: number): boolean }
    } = {},
  ): T[] {
    const taken: T[] = []
    let left = weightMax
    let line = this.#next(onlyLight ? weightMax : Number.POSITIVE_INFINITY, but)
    while (
      line?.first !== undefined &&
      taken.length < countMax &&
      (taken.length === 0 || line.first.weight <= left)
    ) {
      left -= line.first.weight
      taken.push(this.#takeFirst(line, line.first))
      if (!oneTenant) line = this.#next(weightMax, but)
    }
    for (const [tenant, { first, served }] of this.#lines)
      if (first === undefined && served <= this.#reached) this.#lines.delete(tenant)
    return taken
  }

  /** Takes the first items of each line for which this holds. */
  takeWhile(holds: (value: T) => boolean): T[] {
    const taken: T[] = []
    for (const line of this.#lines.values())
      while (line.first !== undefined && holds(line.first.value)) taken.push(this.#unlink(line, line.first))
    return taken
  }

  /** Whether `take` would find something. */
  has(weightMax: number, { onlyLight = false }: { onlyLight?: boolean } = {}): boolean {
    return this.#next(onlyLight ? weightMax : Number.POSITIVE_INFINITY) !== undefined
  }

  /** The last item of each line. Once these are taken, everything that is waiting now has been taken. */
  lasts(): T[] {
    return [...this.#lines.values()].flatMap(({ last }) => (last === undefined ? [] : [last.value]))
  }

  #takeFirst(line: Line<T>, item: Item<T>): T {
    this.#reached = Math.max(this.#reached, line.served)
    line.served += item.weight
    return this.#unlink(line, item)
  }

  #unlink(line: Line<T>, item: Item<T>): T {
    line.first = item.next
    if (item.next === undefined) line.last = undefined
    line.weight -= item.weight
    this.#weight -= item.weight
    this.#length--
    return item.value
  }

  #next(weightMax: number, but?: { has(tenant: number): boolean }): Line<T> | undefined {
    let next: Line<T> | undefined
    for (const [tenant, line] of this.#lines)
      if (line.first !== undefined && line.first.weight <= weightMax && !but?.has(tenant))
        if (next === undefined || line.served < next.served) next = line
    return next
  }
}
