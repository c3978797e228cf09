import type { CounterMove } from './write-set.ts'

type Sum = { name: string; by: number; at?: number }

/** Up to here, looking through the sums is faster than making a map, and most write sets move only a few counters. */
const unmappedMax = 8

/** Sums the counter moves of one tenant, in a write set or a whole batch: a thousand creates move each counter once. */
export class CounterSums {
  readonly #sums: Sum[] = []
  #byName: Map<string, Sum> | undefined

  get moves(): readonly CounterMove[] {
    return this.#sums
  }

  add({ name, by, at }: CounterMove): void {
    const sum = this.#find(name) ?? this.#start(name)
    sum.by += by
    if (at !== undefined) sum.at = Math.max(sum.at ?? at, at)
  }

  #find(name: string): Sum | undefined {
    return this.#byName === undefined ? this.#sums.find(sum => sum.name === name) : this.#byName.get(name)
  }

  #start(name: string): Sum {
    const sum: Sum = { name, by: 0 }
    this.#sums.push(sum)
    if (this.#byName !== undefined) this.#byName.set(name, sum)
    else if (this.#sums.length > unmappedMax)
      this.#byName = new Map(this.#sums.map(each => [each.name, each]))
    return sum
  }
}
