import { Audit, type Tell } from './audit/audit.ts'
import { countNotRekeyed, wasWrittenBetween, wrongCounters } from './audit/audit-counters.ts'
import { auditTokens } from './audit/audit-tokens.ts'
import { findExtraEntries } from './audit/find-extra-entries.ts'
import { findStaleMatches } from './audit/find-stale-matches.ts'
import { pagesOfEntries, pagesOfSome } from './audit/pages.ts'
import { pagesOfAll } from './tokens/token-pages.ts'
import type { UnlockedTenant, Vault } from './vault/vault.ts'

/**
 * Audits everything a tenant has, page by page, while other requests keep writing. A difference counts only if the token's row is
 * still the same after the difference was found. `repair` gets the differences of a page before the next page is read.
 */
export const auditTenant = async (
  vault: Vault,
  tenant: UnlockedTenant,
  repair: Tell = async () => {},
): Promise<Audit> => {
  const audit = new Audit()
  const tell: Tell = async found => {
    audit.note(found)
    await repair(found)
  }
  const before = await vault.store.listCounters(tenant.tenantNumber)
  // Before any is repaired, so that a lost index is not gone through again as soon as it is back.
  const entries = await countEntries(vault, tenant)
  const tokens = await auditTokens(vault, tenant, pagesOfAll(vault, tenant), tell)
  if (entries !== tokens.entries) await findExtraEntries(vault, tenant, tell)
  await findStaleMatches(vault, tenant, tell)
  const after = await vault.store.listCounters(tenant.tenantNumber)
  audit.notRekeyed = countNotRekeyed(tenant.keys, tokens, after)
  audit.wasWritten = wasWrittenBetween(before, after)
  const areAllCounted = !audit.wasWritten && audit.unreadable.isEmpty
  if (areAllCounted) await tell({ counters: wrongCounters(tokens, after) })
  return audit
}

/** Audits about `size` tokens from random moments. Checks that need all tokens are left out. */
export const auditSample = async (
  vault: Vault,
  tenant: UnlockedTenant & { createdAt: number },
  size: number,
  random: () => number,
): Promise<Audit> => {
  const audit = new Audit()
  await auditTokens(vault, tenant, pagesOfSome(vault, tenant, size, random), async found => audit.note(found))
  return audit
}

const countEntries = async (vault: Vault, tenant: UnlockedTenant): Promise<number> => {
  const entriesPerPage = 2_000
  let count = 0
  for await (const page of pagesOfEntries(vault, tenant, entriesPerPage)) count += page.length
  return count
}
