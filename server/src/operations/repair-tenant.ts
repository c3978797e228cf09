import type { Effect } from '../store/write-set.ts'
import type { Audit, DeadField, ExtraEntry, MissingEntry } from './audit/audit.ts'
import type { UnlockedTenant, Vault } from './vault/vault.ts'

/**
 * Makes storage say what the opened tokens say. Each token is repaired only while its row is the one that was
 * audited; a counter is moved by its difference, which later writes do not change. Rows that do not open stay; a field that
 * would be gone within the hour, and keeps its token from being shown, goes.
 */
export const repairTenant = async (
  { store }: Vault,
  { tenantNumber }: UnlockedTenant,
  audit: Audit,
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
    })
  const repair = (entry: MissingEntry | ExtraEntry, kind: 'addTerms' | 'removeTerms') =>
    whileUnchanged(entry, { kind, of: entry, terms: [entry] })
  await inGroups(audit.deadFields, dead =>
    whileUnchanged(dead, { kind: 'dropTransient', tokenId: dead.tokenId, field: dead.field }),
  )
  // The extra ones first: one that is missing may differ from an extra one in nothing but its tag.
  await inGroups(audit.extra, entry => repair(entry, 'removeTerms'))
  await inGroups(audit.missing, entry => repair(entry, 'addTerms'))
  await store.commit({
    tenant: tenantNumber,
    guarded: [],
    effects: audit.matches.map(({ tokenId, ...match }): Effect => ({ kind: 'releaseMatch', match, tokenId })),
    counters: audit.counters.map(({ name, stored, counted }) => ({ name, by: counted - stored })),
  })
}

/** What is handed over together shares a commit. */
const inGroups = async <T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> => {
  const groupSize = 500
  for (let at = 0; at < all.length; at += groupSize)
    await Promise.all(all.slice(at, at + groupSize).map(work))
}
