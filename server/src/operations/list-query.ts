import { grantedRoots, mayRedact } from '../domain/access.ts'
import { containerTerm } from '../domain/index-terms.ts'
import { filterTerms, type TokenFilter } from '../domain/token-filter.ts'
import type { TokenQuery } from '../store/port.ts'
import { hashTerm } from './token-writes.ts'
import type { Caller } from './vault.ts'

/** Filters first, then what the caller may see; the root container alone covers everything and costs nothing extra. */
export const listQuery = (caller: Caller, filter: TokenFilter, now: number): TokenQuery => {
  const roots = grantedRoots(caller.application, 'token:read')
  const filters = filterTerms(filter)
  const seesAll = roots.includes('/')
  const groups =
    seesAll && (filters.length > 0 || filter.ids !== undefined)
      ? filters
      : [...filters, roots.map(containerTerm)]
  return {
    tenant: caller.tenantNumber,
    groups: groups.map(terms => terms.map(term => hashTerm(caller, term))),
    ...(filter.ids && { ids: filter.ids }),
    now,
  }
}

/**
 * C12: a token under `redact` has no fingerprint to be found by, or the filter would tell what the token does
 * not. Which tokens those are depends on the rules and on all containers of each, which no index knows.
 */
export const mayMeetHiddenFingerprints = (caller: Caller, { fingerprint }: TokenFilter): boolean =>
  fingerprint !== undefined && mayRedact(caller.application, 'token:read')
