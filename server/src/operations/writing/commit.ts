import { VaultError } from '../../domain/errors.ts'
import type { Store } from '../../store/port.ts'
import type { Outcome, WriteSet } from '../../store/write-set.ts'

/** How many changes wait for a store: no more requests are taken in than it can keep up with. */
const waiting = new WeakMap<Store, number>()

export const changesWaiting = (store: Store): number => waiting.get(store) ?? 0

/** Commits the set, unless it is empty. C27: a tenant that was deleted meanwhile has no API keys any more. */
export const commitSet = async (store: Store, set: WriteSet): Promise<Outcome> => {
  if (set.guarded.length + set.effects.length + set.counters.length === 0) return { committed: true }
  const changes = set.guarded.length + set.effects.length
  waiting.set(store, changesWaiting(store) + changes)
  try {
    const outcome = await store.commit(set)
    if (!outcome.committed && outcome.conflict === 'tenantGone') throw new VaultError('unauthorized')
    return outcome
  } finally {
    waiting.set(store, changesWaiting(store) - changes)
  }
}
