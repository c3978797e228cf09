import { grantedRoots, mayRedact } from '../domain/access.ts'
import { filterTerms, type TokenFilter, visibleTerms } from '../domain/token-filter.ts'
import type { TokenQuery } from '../store/port.ts'
import { hashTerm } from './token-writes.ts'
import type { Caller } from './vault.ts'

/** Filters first, then what the caller may see; who sees everything needs no group for that, unless it is the only one. */
export const listQuery = (caller: Caller, filter: TokenFilter, now: number): TokenQuery => {
  const roots = grantedRoots(caller.application, 'token:read')
  const filters = filterTerms(filter)
  const isFiltered = filters.length > 0 || filter.ids !== undefined
  const groups = roots.includes('/') && isFiltered ? filters : [...filters, visibleTerms(roots)]
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
