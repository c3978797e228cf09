import { VaultError } from '../domain/errors.ts'
import type { Store } from '../store/port.ts'
import type { Outcome, WriteSet } from '../store/write-set.ts'

/** Commits what there is to commit; C27: a tenant that was deleted meanwhile has no keys any more. */
export const commitSet = async (store: Store, set: WriteSet): Promise<Outcome> => {
  if (set.guarded.length + set.effects.length + set.counters.length === 0) return { committed: true }
  const outcome = await store.commit(set)
  if (!outcome.committed && outcome.conflict === 'tenantGone') throw new VaultError('unauthorized')
  return outcome
}
