import type { BatchResult } from '../../commit-queue.ts'
import type { WriteSet } from '../../write-set.ts'

/** What was made of some sets of a batch, and their positions in it. */
export type OfTenant<Made> = { readonly made: Made; readonly positions: readonly number[] }

/** Makes something of the sets of each tenant. A set of which nothing can be made is left out and harms no other. */
export const byTenant = <Made>(
  sets: readonly WriteSet[],
  make: (tenant: number, sets: readonly WriteSet[]) => Made,
): OfTenant<Made>[] => {
  const makeOf = (tenant: number, positions: readonly number[]): OfTenant<Made>[] => {
    try {
      const ofTenant = positions.flatMap(position => sets[position] ?? [])
      return [{ made: make(tenant, ofTenant), positions }]
    } catch {
      return positions.length === 1 ? [] : positions.flatMap(position => makeOf(tenant, [position]))
    }
  }
  const positions = Map.groupBy(sets.keys(), position => sets[position]?.tenant ?? 0)
  return [...positions].flatMap(([tenant, ofTenant]) => makeOf(tenant, ofTenant))
}

/** The results of all that was made, in the order of the batch. */
export const inOrder = (
  sets: readonly WriteSet[],
  made: readonly OfTenant<unknown>[],
  results: readonly BatchResult[],
): BatchResult[] => {
  const ordered: BatchResult[] = sets.map(() => ({ failed: 'the set cannot be packed' }))
  const positions = made.flatMap(each => each.positions)
  results.forEach((result, index) => {
    ordered[positions[index] ?? ordered.length] = result
  })
  return ordered
}
