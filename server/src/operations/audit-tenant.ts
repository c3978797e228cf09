import type { Audit } from './audit/audit.ts'
import { wasWrittenBetween, wrongCounters } from './audit/audit-counters.ts'
import { auditTokens } from './audit/audit-tokens.ts'
import { findExtraEntries } from './audit/find-extra-entries.ts'
import { findStaleMatches } from './audit/find-stale-matches.ts'
import { pagesOfAll, pagesOfEntries, pagesOfSome } from './audit/pages.ts'
import type { UnlockedTenant, Vault } from './vault/vault.ts'

/**
 * Audits everything a tenant has, page by page, while other requests keep writing. A difference counts only if the token's row is
 * still the same after the difference was found.
 */
export const auditTenant = async (vault: Vault, tenant: UnlockedTenant): Promise<Audit> => {
  const before = await vault.store.listCounters(tenant.tenantNumber)
  const tokens = await auditTokens(vault, tenant, pagesOfAll(vault, tenant))
  const { missing, deadFields } = tokens
  const unreadable = new Set(tokens.unreadable)
  const isWhole = (await countEntries(vault, tenant)) === tokens.entries && missing.length === 0
  const extra = isWhole ? [] : await findExtraEntries(vault, tenant, unreadable)
  const matches = await findStaleMatches(vault, tenant, unreadable)
  const after = await vault.store.listCounters(tenant.tenantNumber)
  const wasWritten = wasWrittenBetween(before, after)
  const counters = wasWritten || unreadable.size > 0 ? [] : wrongCounters(tokens, after)
  return { unreadable: tokens.unreadable, deadFields, missing, extra, matches, counters, wasWritten }
}

/** Audits about `size` tokens from random moments. Checks that need all tokens are left out. */
export const auditSample = async (
  vault: Vault,
  tenant: UnlockedTenant & { createdAt: number },
  size: number,
  random: () => number,
): Promise<Audit> => {
  const pages = pagesOfSome(vault, tenant, size, random)
  const { unreadable, deadFields, missing } = await auditTokens(vault, tenant, pages)
  return { unreadable, deadFields, missing, extra: [], matches: [], counters: [], wasWritten: false }
}

const countEntries = async (vault: Vault, tenant: UnlockedTenant): Promise<number> => {
  const entriesPerPage = 2_000
  let count = 0
  for await (const page of pagesOfEntries(vault, tenant, entriesPerPage)) count += page.length
  return count
}
