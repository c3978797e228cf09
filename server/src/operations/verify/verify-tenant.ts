import { pagesOfAll } from '../tokens/token-pages.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import { findExtraEntries } from './find-extra-entries.ts'
import { findStaleMatches } from './find-stale-matches.ts'
import { pagesOfEntries, pagesOfSome } from './pages.ts'
import { type Tell, Verification } from './verification.ts'
import { countNotRekeyed, wasWrittenBetween, wrongCounters } from './verify-counters.ts'
import { verifyTokens } from './verify-tokens.ts'

/**
 * Verifies everything that a tenant has, page by page, while other requests write. A difference counts only if the token's row is
 * unchanged after it was found. `repair` gets the differences of a page before the next page is read.
 */
export const verifyTenant = async (
  vault: Vault,
  tenant: UnlockedTenant,
  repair: Tell = async () => {},
): Promise<Verification> => {
  const verification = new Verification()
  const tell: Tell = async found => {
    verification.note(found)
    await repair(found)
  }
  const before = await vault.store.listCounters(tenant.tenantNumber)
  // Before any repair: otherwise a lost index would be searched again as soon as it is back.
  const entries = await countEntries(vault, tenant)
  const tokens = await verifyTokens(vault, tenant, pagesOfAll(vault, tenant), tell)
  if (entries !== tokens.entries) await findExtraEntries(vault, tenant, tell)
  await findStaleMatches(vault, tenant, tell)
  const after = await vault.store.listCounters(tenant.tenantNumber)
  verification.notRekeyed = countNotRekeyed(tenant.keys, tokens, after)
  verification.wasWritten = wasWrittenBetween(before, after)
  const areAllCounted = !verification.wasWritten && verification.unreadable.isEmpty
  if (areAllCounted) await tell({ counters: wrongCounters(tokens, after) })
  return verification
}

/** Verifies about `size` tokens from random moments. Checks that need all tokens are left out. */
export const verifySample = async (
  vault: Vault,
  tenant: UnlockedTenant & { createdAt: number },
  size: number,
  random: () => number,
): Promise<Verification> => {
  const verification = new Verification()
  await verifyTokens(vault, tenant, pagesOfSome(vault, tenant, size, random), async found =>
    verification.note(found),
  )
  return verification
}

const countEntries = async (vault: Vault, tenant: UnlockedTenant): Promise<number> => {
  const entriesPerPage = 2_000
  let count = 0
  for await (const page of pagesOfEntries(vault, tenant, entriesPerPage)) count += page.length
  return count
}
