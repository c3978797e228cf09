import { grantedRoots, mayRedact, transformFor } from '../../domain/access.ts'
import { containerTerm, type Term } from '../../domain/index-terms.ts'
import type { Permission } from '../../domain/permissions.ts'
import { matchesQuery } from '../../domain/search/match.ts'
import { parseQuery } from '../../domain/search/parser.ts'
import { type PlannedBranch, planSearch, type SearchPlan } from '../../domain/search/plan.ts'
import type { TokenBranch, TokenQuery } from '../../store/port.ts'
import { hashTerm } from '../tokens/index-entries.ts'
import type { Caller, Vault } from '../vault.ts'
import { type Look, stepsOf, together } from './branch-steps.ts'
import { estimateTerms } from './estimate-terms.ts'
import type { Matches } from './show-tokens.ts'

/** A branch as it was planned and as storage is asked for it. */
export type SearchBranch = {
  readonly planned: PlannedBranch
  /** In the order of the query, those for access at the end. */
  readonly looks: readonly EstimatedLook[]
  /** The rarest look first. */
  readonly query: TokenBranch
}

type EstimatedLook = Look & { readonly estimate: number }

/** A search as it was understood, as storage is asked for it, and as an opened token is checked against it. */
export type PlannedQuery = {
  readonly plan: SearchPlan
  readonly branches: readonly SearchBranch[]
  readonly query: TokenQuery
  readonly matches: Matches
}

export const planQuery = async (vault: Vault, caller: Caller, text: string): Promise<PlannedQuery> => {
  const { application } = caller
  const asked = parseQuery(text)
  const plan = planSearch(asked, { mayRedact: mayRedact(application, 'token:read') })
  const branches = await searchBranches(vault, caller, plan.branches)
  return {
    plan,
    branches,
    query: {
      tenant: caller.tenantNumber,
      now: vault.clock(),
      anyOf: branches.map(branch => branch.query),
    },
    matches: (token, transform) =>
      transformFor(application, 'token:search', token.containers) !== undefined &&
      matchesQuery(asked, token, transform),
  }
}

/** What a caller may find at all: C28 asks for a rule with token:search and for one with token:read. */
const permissions: readonly Permission[] = ['token:search', 'token:read']
const accessField = 'access'

const searchBranches = async (
  vault: Vault,
  caller: Caller,
  branches: readonly PlannedBranch[],
): Promise<SearchBranch[]> => {
  const access = accessTerms(caller)
  const wanted = branches.map(planned => [
    ...planned.terms,
    ...access.map(terms => ({ field: accessField, terms })),
  ])
  const estimateOf = await estimateTerms(
    vault,
    caller,
    wanted.flat().flatMap(({ terms }) => terms),
  )
  return branches.map((planned, index) => {
    const looks = (wanted[index] ?? []).map(({ field, terms }) => {
      const hashes = terms.map(term => hashTerm(caller, term))
      return {
        field,
        terms: hashes,
        // By identity: an access rule may name the same container, and covers what lies below it, too.
        untagged: hashes.filter((_, at) => planned.inContainers.some(term => term === terms[at])),
        estimate: terms.reduce((sum, term) => sum + estimateOf(term), 0),
      }
    })
    return { planned, looks, query: together(stepsOf(caller, planned, rarestFirst(looks))) }
  })
}

/** Of equally rare ones, a single term before several: its entries come in the order of lists. */
export const rarestFirst = (looks: readonly EstimatedLook[]): EstimatedLook[] =>
  looks.toSorted((a, b) => a.estimate - b.estimate || a.terms.length - b.terms.length)

/** Groups of container terms: no group where the caller finds everything, an empty one where they find nothing. */
const accessTerms = ({ application }: Caller): Term[][] => {
  const roots = permissions
    .map(permission => grantedRoots(application, permission))
    .filter(containers => !containers.includes('/'))
  const isSame =
    roots.length === 2 && [...(roots[0] ?? [])].sort().join() === [...(roots[1] ?? [])].sort().join()
  return (isSame ? roots.slice(1) : roots).map(containers => containers.map(containerTerm))
}

/** A token needs one of these terms and nothing else; undefined where the search asks for more. */
export const onlyTerms = (
  caller: Caller,
  [branch, ...others]: readonly PlannedBranch[],
): readonly Term[] | undefined => {
  if (branch === undefined || others.length > 0) return undefined
  const { ids, createdAt, terms, opened, ...conditions } = branch
  const groups = [...terms.map(group => group.terms), ...accessTerms(caller)]
  const asksMore =
    ids !== undefined ||
    Object.keys(createdAt).length > 0 ||
    opened.length > 0 ||
    Object.values(conditions).some(list => list.length > 0)
  return groups.length === 1 && !asksMore ? groups[0] : undefined
}
