import type { Effect } from '../../store/write-set.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import type { DeadField, Differences, ExtraEntry, MissingEntry } from './verification.ts'

/**
 * Repairs what a page of a verification found: storage is made to agree with the opened tokens. A token is repaired only while
 * its row is the one that was verified. A counter is moved by its difference, which later writes do not change. Rows that do not
 * open stay. A transient field that does not open is dropped: it keeps its token from being shown, and would be gone within the
 * hour anyway.
 */
export const repairTenant = async (
  { store }: Vault,
  { tenantNumber }: UnlockedTenant,
  { deadFields = [], missing = [], extra = [], matches = [], counters = [] }: Differences,
): Promise<void> => {
  const whileUnchanged = (
    { tokenId, sealed }: MissingEntry | ExtraEntry | DeadField,
    effect: Effect,
  ): Promise<unknown> =>
    store.commit({
      tenant: tenantNumber,
      guarded: [{ kind: 'expectToken', id: tokenId, sealed }],
      effects: [effect],
      counters: [],
      log: null,
    })
  const repair = (entry: MissingEntry | ExtraEntry, kind: 'addTerms' | 'removeTerms') =>
    whileUnchanged(entry, { kind, of: entry, terms: [entry] })
  await inGroups(deadFields, dead =>
    whileUnchanged(dead, { kind: 'dropTransient', tokenId: dead.tokenId, field: dead.field }),
  )
  await inGroups(extra, entry => repair(entry, 'removeTerms'))
  await inGroups(missing, entry => repair(entry, 'addTerms'))
  if (matches.length === 0 && counters.length === 0) return
  await store.commit({
    tenant: tenantNumber,
    guarded: [],
    effects: matches.map(({ tokenId, ...match }): Effect => ({ kind: 'releaseMatch', match, tokenId })),
    counters: counters.map(({ name, stored, counted }) => ({ name, by: counted - stored })),
    log: null,
  })
}

/** Works in groups, because write sets that are submitted together share a commit. */
const inGroups = async <T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> => {
  const groupSize = 500
  for (let at = 0; at < all.length; at += groupSize)
    await Promise.all(all.slice(at, at + groupSize).map(work))
}
