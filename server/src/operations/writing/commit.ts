import { VaultError } from '../../domain/errors.ts'
import type { Outcome, WriteSet } from '../../store/write-set.ts'
import type { Vault } from '../vault/vault.ts'

/** Commits the set, unless it is empty. C27: the API keys of a tenant that was deleted meanwhile are gone, hence 401. */
export const commitSet = async (
  { store, changesWaiting }: Pick<Vault, 'store' | 'changesWaiting'>,
  set: WriteSet,
): Promise<Outcome> => {
  if (set.guarded.length + set.effects.length + set.counters.length === 0) return { committed: true }
  const changes = set.guarded.length + set.effects.length
  changesWaiting.count += changes
  try {
    const outcome = await store.commit(set)
    if (!outcome.committed && outcome.conflict === 'tenantGone') throw new VaultError('unauthorized')
    return outcome
  } finally {
    changesWaiting.count -= changes
  }
}
