import type { TenantKeys } from '../../crypto/keys.ts'
import { isActiveCounter, isSealsCounter, sealsCounter } from '../vault/counters.ts'
import { rekeyedVersion } from '../vault/rekeyed-version.ts'
import type { WrongCounter } from './verification.ts'
import type { TokenSums } from './verify-tokens.ts'

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

/** How many of the tokens are sealed with a data key from before the last rekey. */
export const countNotRekeyed = (
  { currentDataVersion }: TenantKeys,
  { seals }: Pick<TokenSums, 'seals'>,
  stored: Counters,
): number => {
  const values = new Map(stored.map(({ name, value }) => [name, value]))
  const rekeyed = rekeyedVersion(currentDataVersion, version => values.get(sealsCounter(version)) ?? 0)
  let older = 0
  for (let version = 1; version < (rekeyed ?? 1); version++) older += seals.get(sealsCounter(version)) ?? 0
  return older
}

/**
 * Seal counters only grow, so each must be at least the number of rows that its key has sealed. Monthly activity cannot be
 * counted from the tokens. If it is below zero, it starts again at zero, as does a counter that holds no number.
 */
export const wrongCounters = (
  { counted, seals }: Pick<TokenSums, 'counted' | 'seals'>,
  stored: Counters,
): WrongCounter[] => {
  const values = new Map(stored.map(({ name, value }) => [name, value]))
  const judged = stored.filter(counter => movesWithWrites(counter) || counter.value < 0)
  const exact = [...new Set([...counted.keys(), ...judged.map(({ name }) => name)])]
    .filter(name => !isSealsCounter(name))
    .map(name => ({ name, stored: values.get(name) ?? 0, counted: counted.get(name) ?? 0 }))
    .filter(counter => counter.stored !== counter.counted)
  const atLeast = [...new Set([...seals.keys(), ...judged.map(({ name }) => name).filter(isSealsCounter)])]
    .map(name => ({ name, stored: values.get(name) ?? 0, counted: seals.get(name) ?? 0 }))
    .filter(counter => counter.stored < counter.counted)
  return [...exact, ...atLeast]
}
