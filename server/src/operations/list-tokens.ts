import type { ListQuery } from '../contract/list-query.ts'
import { grantedRoots } from '../domain/access.ts'
import { containerTerm } from '../domain/index-terms.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { isExpired } from '../domain/token.ts'
import { filterTerms, matchesFilter, type TokenFilter } from '../domain/token-filter.ts'
import { tokenTypes } from '../domain/token-types/registry.ts'
import { viewToken } from '../domain/token-view.ts'
import type { TokenQuery } from '../store/port.ts'
import { readTransform } from './access-checks.ts'
import { openTokens } from './load-token.ts'
import { containerCounter, hashTerm, severalContainersCounter, typeCounter } from './token-writes.ts'
import type { Caller, Vault } from './vault.ts'

/** §4.3, C24: newest first, only what the caller may read, with an exact count of it. */
export const listTokens = async (
  vault: Vault,
  caller: Caller,
  { filter, page, size }: ListQuery,
): Promise<JsonObject> => {
  const now = vault.clock()
  const roots = grantedRoots(caller.application, 'token:read')
  const query = toQuery(caller, filter, roots, now)
  const [rows, total] = await Promise.all([
    vault.store.listTokens(query, { offset: (page - 1) * size, limit: size }),
    countTokens(vault, caller, filter, roots, query),
  ])
  const data: Json[] = []
  for (const token of await openTokens(vault, caller, rows)) {
    const transform = readTransform(caller, token.containers)
    // The index proposes, the opened row decides.
    if (transform !== undefined && !isExpired(token, now) && matchesFilter(token, filter))
      data.push(viewToken(token, transform, now))
  }
  return {
    pagination: {
      total_items: total,
      page_number: page,
      page_size: size,
      total_pages: Math.ceil(total / size),
    },
    data,
  }
}

/** Filters first, then what the caller may see; the root container alone covers everything and costs nothing extra. */
const toQuery = (caller: Caller, filter: TokenFilter, roots: readonly string[], now: number): TokenQuery => {
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

/** Kept counters where they can answer, the index otherwise; tokens are never counted row by row. */
const countTokens = async (
  vault: Vault,
  caller: Caller,
  filter: TokenFilter,
  roots: readonly string[],
  query: TokenQuery,
): Promise<number> => {
  const { store } = vault
  const isNarrow =
    filter.ids !== undefined ||
    filter.container !== undefined ||
    filter.fingerprint !== undefined ||
    filter.metadata.size > 0
  if (isNarrow) return store.countTokens(query)

  const expired = await store.countExpired(caller.tenantNumber, query.now)
  if (roots.includes('/')) {
    const types = filter.types ?? [...tokenTypes.keys()]
    const counted = await sumCounters(vault, caller, types.map(typeCounter))
    return types.reduce((total, type) => total - (expired.get(type) ?? 0), counted)
  }
  // Counters of several containers add up only while no token lies in two of them.
  const countersAdd =
    filter.types === undefined &&
    expired.size === 0 &&
    (roots.length === 1 || (await sumCounters(vault, caller, [severalContainersCounter])) === 0)
  if (!countersAdd) return store.countTokens(query)
  const names = roots.map(root => containerCounter(hashTerm(caller, containerTerm(root))))
  return sumCounters(vault, caller, names)
}

const sumCounters = async (vault: Vault, caller: Caller, names: readonly string[]): Promise<number> => {
  const counters = await vault.store.readCounters(caller.tenantNumber, names)
  return counters.reduce((sum, counter) => sum + counter.value, 0)
}
