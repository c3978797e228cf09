import type { WriteSet } from '../write-set.ts'
import type { Connection } from './connection.ts'

export type ZeroCounters = {
  /** To be called with sets that were committed. */
  lookAfter(sets: readonly WriteSet[]): void
  /** Resolves once nothing is under way. */
  settled(): Promise<void>
}

/**
 * Removes counters that stand at zero. A counter is spread over several rows, and several nodes change them at the same time. So no
 * node can tell within its transaction that the sum has become zero. Each node looks again after its commit, and the last one sees
 * it. If that look fails, rows that add up to zero remain, and readers leave them out.
 */
export const zeroCounters = (connect: () => Promise<Connection>): ZeroCounters => {
  const lowered = new Map<number, Set<string>>()
  let running: Promise<void> | undefined

  const run = async (): Promise<void> => {
    for (const [tenant, names] of lowered) {
      lowered.delete(tenant)
      try {
        const connection = await connect()
        await connection.query({
          text: 'SELECT remove_zero_counters($1, $2)',
          values: [tenant, [...names].sort()],
        })
      } catch {
        // They are looked at again the next time they go down.
      }
    }
    running = undefined
  }

  return {
    lookAfter: sets => {
      for (const { tenant, counters } of sets)
        for (const { name, by } of counters) {
          if (by >= 0) continue
          const names = lowered.get(tenant) ?? new Set()
          lowered.set(tenant, names.add(name))
        }
      if (lowered.size > 0) running ??= run()
    },
    settled: async () => running,
  }
}
