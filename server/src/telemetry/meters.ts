/**
 * Counts what happens, so cheaply that the hot path may: each value is a cell of an array, and who counts holds its index. All values
 * are whole numbers (time in microseconds), so that a sum over processes does not depend on the order: a total that shrank by a
 * rounding error would look like a restart to whoever reads it.
 */
export type Family = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** How the gauges of several processes become one. `latest` also outlives its process, as counters do. */
  readonly combine: 'sum' | 'max' | 'min' | 'latest'
  /** What is counted is a value times this: 1,000,000 for seconds that are counted in microseconds. */
  readonly scale: number
  /** The upper bounds of a histogram's buckets, as shown. */
  readonly bounds: readonly number[]
  /** The dimensions by which it is split. Each has a closed list of values: a caller cannot add one. */
  readonly by: readonly string[]
}

/** By dimension, the labels of each of its values, in the form in which they are shown: `status="2xx"`. */
export type Dimensions = Readonly<Record<string, readonly string[]>>

/** A family with its series: plain data, for another process. */
export type Laid = Omit<Family, 'by'> & { readonly series: readonly string[] }

/** What was counted so far. The values of each series follow one another, in the order of the layout. */
export type Snapshot = { readonly layout: readonly Laid[]; readonly values: Float64Array }

/** The cells of a series: a histogram has one for each bucket, one for what is above them, and the sum. */
export const cellsOf = ({ type, bounds }: Pick<Family, 'type' | 'bounds'>): number =>
  type === 'histogram' ? bounds.length + 2 : 1

export class Meters<Name extends string> {
  readonly layout: readonly Laid[]
  readonly values: Float64Array
  /** For another thread; empty unless it is shared. */
  readonly buffer: SharedArrayBuffer
  readonly #families: Readonly<Record<Name, Family>>
  readonly #dimensions: Dimensions
  readonly #starts = new Map<Family, number>()

  /** Over a buffer that is shared, meters on another thread count into the same cells. Only one thread may count in a cell. */
  constructor(
    families: Readonly<Record<Name, Family>>,
    dimensions: Dimensions = {},
    { buffer, isShared = false }: { readonly buffer?: SharedArrayBuffer; readonly isShared?: boolean } = {},
  ) {
    this.#families = families
    this.#dimensions = dimensions
    let size = 0
    this.layout = Object.values<Family>(families).map(family => {
      const { by, ...rest } = family
      const series = by.reduce<readonly string[]>(
        (labels, dimension) =>
          labels.flatMap(label => this.#valuesOf(dimension).map(value => joined(label, value))),
        [''],
      )
      this.#starts.set(family, size)
      size += series.length * cellsOf(family)
      return { ...rest, series }
    })
    const bytes = size * Float64Array.BYTES_PER_ELEMENT
    const isNew = buffer === undefined
    this.buffer = buffer ?? new SharedArrayBuffer(isShared ? bytes : 0)
    this.values = new Float64Array(isShared || !isNew ? this.buffer : new ArrayBuffer(bytes))
    // A gauge that nobody has set is not shown.
    if (isNew)
      for (const [family, start] of this.#starts)
        if (family.type === 'gauge') this.values.fill(Number.NaN, start, start + this.#sizeOf(family))
  }

  counter(name: Name, ...at: readonly number[]): Counter {
    return new Counter(this.values, this.#cell(name, at))
  }

  gauge(name: Name, ...at: readonly number[]): Gauge {
    return new Gauge(this.values, this.#cell(name, at))
  }

  histogram(name: Name, ...at: readonly number[]): Histogram {
    return new Histogram(this.values, this.#cell(name, at), this.#families[name])
  }

  #cell(name: Name, at: readonly number[]): number {
    const family = this.#families[name]
    let series = 0
    family.by.forEach((dimension, position) => {
      const { length } = this.#valuesOf(dimension)
      const value = at[position] ?? -1
      if (value < 0 || value >= length) throw new Error(`${family.name} has no such ${dimension}`)
      series = series * length + value
    })
    return (this.#starts.get(family) ?? 0) + series * cellsOf(family)
  }

  #sizeOf(family: Family): number {
    return family.by.reduce((size, dimension) => size * this.#valuesOf(dimension).length, cellsOf(family))
  }

  #valuesOf(dimension: string): readonly string[] {
    return this.#dimensions[dimension] ?? []
  }
}

const joined = (labels: string, more: string): string => (labels === '' ? more : `${labels},${more}`)

export class Counter {
  readonly #values: Float64Array
  readonly #at: number

  constructor(values: Float64Array, at: number) {
    this.#values = values
    this.#at = at
  }

  add(count = 1): void {
    this.#values[this.#at] = (this.#values[this.#at] ?? 0) + count
  }

  /** For time, which is counted in microseconds. */
  addMs(ms: number): void {
    this.add(Math.round(ms * 1_000))
  }

  /** For what the system counts. */
  reach(total: number): void {
    this.#values[this.#at] = total
  }
}

export class Gauge {
  readonly #values: Float64Array
  readonly #at: number

  constructor(values: Float64Array, at: number) {
    this.#values = values
    this.#at = at
  }

  /** Undefined: there is no value, and none is shown. */
  set(value: number | undefined): void {
    this.#values[this.#at] = value ?? Number.NaN
  }

  /** For a span of time, which is kept in microseconds. */
  setMs(ms: number): void {
    this.set(Math.round(ms * 1_000))
  }
}

export class Histogram {
  readonly #values: Float64Array
  readonly #at: number
  readonly #bounds: readonly number[]

  constructor(values: Float64Array, at: number, { bounds, scale }: Pick<Family, 'bounds' | 'scale'>) {
    this.#values = values
    this.#at = at
    this.#bounds = bounds.map(bound => Math.round(bound * scale))
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++
    const at = this.#at + bucket
    const sum = this.#at + bounds.length + 1
    this.#values[at] = (this.#values[at] ?? 0) + 1
    this.#values[sum] = (this.#values[sum] ?? 0) + value
  }

  /** For time, which is counted in microseconds. */
  observeMs(ms: number): void {
    this.observe(Math.round(ms * 1_000))
  }
}
