import { grantedRoots, mayRedact } from '../../domain/access/access.ts'
import { type Term, termsUnder } from '../../domain/tokens/index-terms.ts'
import {
  filterNames,
  filterTerms,
  matchesFilter,
  type TokenFilter,
} from '../../domain/tokens/token-filter.ts'
import { hashGroup } from '../tokens/hash-terms.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { byRarity, estimateTerms } from './estimate-terms.ts'
import type { Planned } from './planned.ts'

/**
 * Combines the filters with what the caller may see, rarest first. A caller that may see everything needs no group for that,
 * unless there is no filter.
 */
export const planList = async (vault: Vault, caller: Caller, filter: TokenFilter): Promise<Planned> => {
  const fields = filterNames(filter)
  if (fields.length > 0) caller.act.says({ query: { fields, operators: [] } })
  const roots = grantedRoots(caller.application, 'token:read')
  const filters = filterTerms(filter)
  const isFiltered = filters.length > 0 || filter.ids !== undefined
  const wanted = roots.includes('/') && isFiltered ? filters : [...filters, termsUnder(roots)]
  const groups = filter.ids === undefined ? await rarestGroupsFirst(vault, caller, wanted) : wanted
  const [only] = groups
  return {
    query: {
      tenant: caller.tenantNumber,
      groups: groups.map(terms => hashGroup(caller, terms)),
      ...(filter.ids && { ids: [...filter.ids] }),
      now: vault.clock(),
    },
    matches: (token, transform) => matchesFilter(token, filter, transform),
    isExact: !mayMeetHiddenFingerprints(caller, filter),
    ...(only && groups.length === 1 && filter.ids === undefined && { onlyTerms: only }),
  }
}

/** A list starts from its first group and looks up the others for each of its entries. */
const rarestGroupsFirst = async (
  vault: Vault,
  caller: Caller,
  groups: readonly (readonly Term[])[],
): Promise<readonly (readonly Term[])[]> => {
  if (groups.length < 2) return groups
  const estimateOf = await estimateTerms(vault, caller, groups.flat())
  return groups
    .map(terms => ({ terms, estimate: estimateOf(terms) }))
    .sort(byRarity)
    .map(({ terms }) => terms)
}

/**
 * C12: a token under `redact` must not be found by its fingerprint. Otherwise the filter would disclose what the token hides.
 * Which tokens are under `redact` depends on the rules and on all containers of each token, which no index knows.
 */
const mayMeetHiddenFingerprints = (caller: Caller, { fingerprint }: TokenFilter): boolean =>
  fingerprint !== undefined && mayRedact(caller.application, 'token:read')
