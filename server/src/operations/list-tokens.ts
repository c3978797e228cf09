import type { ListQuery } from '../contract/list-query.ts'
import { grantedRoots } from '../domain/access.ts'
import { containerTerm } from '../domain/index-terms.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { matchesFilter, type TokenFilter } from '../domain/token-filter.ts'
import { tokenTypes } from '../domain/token-types/registry.ts'
import type { TokenQuery } from '../store/port.ts'
import { containerCounter, severalContainersCounter, typeCounter } from './counters.ts'
import { findByIndex } from './find-by-index.ts'
import { findByOpening } from './find-by-opening.ts'
import { listQuery, mayMeetHiddenFingerprints } from './list-query.ts'
import { type Matches, showTokens } from './show-tokens.ts'
import { hashTerm } from './token-writes.ts'
import type { Caller, Vault } from './vault.ts'

/** §4.3, C24: newest first, only what the caller may read, with an exact count of it. */
export const listTokens = async (
  vault: Vault,
  caller: Caller,
  { filter, page, size }: ListQuery,
): Promise<JsonObject> => {
  const query = listQuery(caller, filter, vault.clock())
  const matches: Matches = (token, transform) => matchesFilter(token, filter, transform)
  const position = { offset: (page - 1) * size, limit: size }
  const { rows, total } = await (mayMeetHiddenFingerprints(caller, filter)
    ? findByOpening(vault, caller, query, matches, position)
    : findByIndex(vault, query, position, countTokens(vault, caller, filter, query)))
  return tokenPage(page, size, total, await showTokens(vault, caller, rows, matches))
}

/** §2.6, C24. */
export const tokenPage = (page: number, size: number, total: number, data: Json[]): JsonObject => ({
  pagination: {
    total_items: total,
    page_number: page,
    page_size: size,
    total_pages: Math.ceil(total / size),
  },
  data,
})

/** Kept counters where they can answer, the index otherwise; tokens are never counted row by row. */
const countTokens = async (
  vault: Vault,
  caller: Caller,
  filter: TokenFilter,
  query: TokenQuery,
): Promise<number> => {
  const { store } = vault
  const roots = grantedRoots(caller.application, 'token:read')
  const isNarrow =
    filter.ids !== undefined ||
    (filter.container !== undefined && filter.container !== '/') ||
    filter.fingerprint !== undefined ||
    filter.metadata.size > 0
  if (isNarrow) return store.countTokens(query)

  const types = filter.types ?? [...tokenTypes.keys()]
  const seesAll = roots.includes('/')
  const names = seesAll
    ? types.map(typeCounter)
    : roots.map(root => containerCounter(hashTerm(caller, containerTerm(root))))
  const { counters, expired } = await store.readCounts(
    caller.tenantNumber,
    [...names, severalContainersCounter],
    query.now,
  )
  const counterValue = (wanted: string): number => counters.find(({ name }) => name === wanted)?.value ?? 0
  const counted = names.reduce((sum, name) => sum + counterValue(name), 0)
  if (seesAll) return types.reduce((total, type) => total - (expired.get(type) ?? 0), counted)
  // Counters of several containers add up only while no token lies in two of them.
  const countersAdd =
    filter.types === undefined &&
    expired.size === 0 &&
    (roots.length === 1 || counterValue(severalContainersCounter) === 0)
  return countersAdd ? counted : store.countTokens(query)
}
