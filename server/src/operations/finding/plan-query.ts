import { grantedRoots, mayRedact, transformFor } from '../../domain/access/access.ts'
import type { Permission } from '../../domain/access/permissions.ts'
import { matchesQuery } from '../../domain/search/match.ts'
import { parseQuery } from '../../domain/search/parser.ts'
import { type PlannedBranch, planSearch } from '../../domain/search/plan.ts'
import { describeQuery, type HashedTerm } from '../../domain/search/query.ts'
import { containerTerm, type Term } from '../../domain/tokens/index-terms.ts'
import type { TokenBranch } from '../../store/port.ts'
import { keptHash } from '../tokens/hash-terms.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { mergeSteps, rarestFirst, type Step, stepsOf, termGroups } from './branch-steps.ts'
import { estimateTerms } from './estimate-terms.ts'
import { isOpeningCheaper, openingInstead } from './opening-instead.ts'
import type { Planned } from './planned.ts'

/** A search as it was understood and as it is answered. */
export type PlannedQuery = Planned & {
  /** One list for each branch, in the order of the query. */
  readonly steps: readonly Step[][]
  /** Returns the steps of a branch as they are carried out, given their order. */
  readonly carriedOut: (steps: readonly Step[]) => readonly Step[]
}

/**
 * With `isExplained`, the frequency of each term is looked up, because the explanation shows it. Otherwise it is looked up only
 * if a branch has several groups to start from.
 */
export const planQuery = async (
  vault: Vault,
  caller: Caller,
  text: string,
  { isExplained = false } = {},
): Promise<PlannedQuery> => {
  const { application } = caller
  const asked = parseQuery(text)
  caller.act.says({ query: describeQuery(asked) })
  const plan = planSearch(asked, { mayRedact: mayRedact(application, 'token:read') })
  const access = accessTerms(caller).map(terms => ({ field: 'access', terms }))
  const wanted = plan.branches.map(branch => [...termGroups(branch), ...access])
  const estimateOf = await estimateTerms(
    vault,
    caller,
    wanted
      .filter(({ length }) => isExplained || length > 1)
      .flatMap(groups => groups.flatMap(({ terms }) => terms)),
  )
  const steps = plan.branches.map(branch => stepsOf(caller, branch, access, estimateOf))
  const isOpened = isOpeningCheaper(steps)
  const carriedOut: PlannedQuery['carriedOut'] = isOpened ? openingInstead : order => order
  const branches = steps.map(branch => mergeSteps(carriedOut(rarestFirst(branch))))
  const hashed = keptHashes(caller)
  const only = access.length === 0 ? onlyTerms(plan.branches) : undefined
  return {
    steps,
    carriedOut,
    query: {
      tenant: caller.tenantNumber,
      now: vault.clock(),
      anyOf: isOpened ? distinct(branches) : branches,
    },
    matches: (token, transform) =>
      transformFor(application, 'token:search', token.containers) !== undefined &&
      matchesQuery(asked, token, transform, hashed),
    isExact: plan.isExact && !isOpened,
    ...(only && { onlyTerms: only }),
  }
}

/** Hashes each term once, however many tokens are opened. */
const keptHashes = (caller: Caller): HashedTerm => {
  const known = new Map<Term, string>()
  return term => {
    const hash = known.get(term) ?? keptHash(caller, term)
    known.set(term, hash)
    return hash
  }
}

/** Branches with the same start ask storage for the same. */
const distinct = (branches: readonly TokenBranch[]): TokenBranch[] => [
  ...new Map(branches.map(branch => [JSON.stringify(branch), branch])).values(),
]

/** C28: to find a token at all, a caller needs a rule with token:search and one with token:read. */
const permissions: readonly Permission[] = ['token:search', 'token:read']

/** Returns groups of container terms: no group if the caller finds everything, an empty group if it finds nothing. */
const accessTerms = ({ application }: Caller): Term[][] => {
  const roots = permissions
    .map(permission => grantedRoots(application, permission))
    .filter(containers => !containers.includes('/'))
  const isSame =
    roots.length === 2 && [...(roots[0] ?? [])].sort().join() === [...(roots[1] ?? [])].sort().join()
  return (isSame ? roots.slice(1) : roots).map(containers => containers.map(containerTerm))
}

/** The terms of a search that asks for one of them and nothing else. Undefined if it asks for more. */
const onlyTerms = ([branch, ...others]: readonly PlannedBranch[]): readonly Term[] | undefined => {
  const [condition, ...more] = branch ?? []
  if (condition === undefined || others.length + more.length > 0) return undefined
  const { lookup, negated, isOpened } = condition
  return lookup?.by === 'term' && !negated && !isOpened ? lookup.terms : undefined
}
