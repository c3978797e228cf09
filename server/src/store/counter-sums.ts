import type { CounterMove } from './write-set.ts'

/** Sums the counter moves of a write set or a whole batch: a thousand creates of one tenant move its counter once. */
export class CounterSums {
  readonly #sums = new Map<number, Map<string, { name: string; by: number; at?: number }>>()

  add(tenant: number, { name, by, at }: CounterMove): void {
    let ofTenant = this.#sums.get(tenant)
    if (ofTenant === undefined) {
      ofTenant = new Map()
      this.#sums.set(tenant, ofTenant)
    }
    let sum = ofTenant.get(name)
    if (sum === undefined) {
      sum = { name, by: 0 }
      ofTenant.set(name, sum)
    }
    sum.by += by
    if (at !== undefined) sum.at = Math.max(sum.at ?? at, at)
  }

  of(tenant: number): CounterMove[] {
    return [...(this.#sums.get(tenant)?.values() ?? [])]
  }

  forEach(move: (tenant: number, move: CounterMove) => void): void {
    for (const [tenant, sums] of this.#sums) for (const sum of sums.values()) move(tenant, sum)
  }
}
