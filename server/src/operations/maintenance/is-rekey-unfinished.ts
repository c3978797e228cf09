import { tokenTypes } from '../../domain/tokens/types/registry.ts'
import { sealsCounter, typeCounter } from '../vault/counters.ts'
import { rekeyedVersion } from '../vault/rekeyed-version.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'

/**
 * Whether an older data key still seals tokens that a rekey has not reached, as far as kept counters tell: a key that has sealed
 * less often than there are tokens has not sealed all of them. `true` is reliable; `false` may be wrong, because other seals are
 * counted too.
 */
export const isRekeyUnfinished = async (
  { store }: Vault,
  { tenantNumber, keys: { currentDataVersion } }: UnlockedTenant,
): Promise<boolean> => {
  if (currentDataVersion === 1) return false
  const types = [...tokenTypes.keys()].map(typeCounter)
  const versions = Array.from({ length: currentDataVersion }, (_, at) => at + 1)
  const counters = await store.readCounters(tenantNumber, [...types, ...versions.map(sealsCounter)])
  const values = new Map(counters.map(({ name, value }) => [name, value]))
  const sum = (names: readonly string[]): number =>
    names.reduce((total, name) => total + (values.get(name) ?? 0), 0)
  const rekeyed = rekeyedVersion(currentDataVersion, version => sum([sealsCounter(version)]))
  if (rekeyed === undefined) return false
  return sum(versions.slice(rekeyed - 1).map(sealsCounter)) < sum(types)
}
