import { isActiveCounter, isSealsCounter } from '../vault/counters.ts'
import type { WrongCounter } from './audit.ts'
import type { TokenSums } from './audit-tokens.ts'

type Counters = readonly { readonly name: string; readonly value: number }[]

/** Every write of a token moves at least one of these. Reads move only the counters of monthly activity. */
const movesWithWrites = ({ name }: { name: string }): boolean => !isActiveCounter(name)

export const wasWrittenBetween = (before: Counters, after: Counters): boolean => {
  const text = (counters: Counters): string =>
    counters
      .filter(movesWithWrites)
      .map(({ name, value }) => `${name}=${value}`)
      .sort()
      .join()
  return text(before) !== text(after)
}

/** Seal counters only grow, so each must be at least the number of rows that its key has sealed. */
export const wrongCounters = (
  { counted, seals }: Pick<TokenSums, 'counted' | 'seals'>,
  stored: Counters,
): WrongCounter[] => {
  const values = new Map(stored.map(({ name, value }) => [name, value]))
  const names = [...new Set([...counted.keys(), ...stored.filter(movesWithWrites).map(({ name }) => name)])]
  const exact = names
    .filter(name => !isSealsCounter(name))
    .map(name => ({ name, stored: values.get(name) ?? 0, counted: counted.get(name) ?? 0 }))
    .filter(counter => counter.stored !== counter.counted)
  const atLeast = [...seals]
    .map(([name, count]) => ({ name, stored: values.get(name) ?? 0, counted: count }))
    .filter(counter => counter.stored < counter.counted)
  return [...exact, ...atLeast]
}
