import type { ListQuery } from '../contract/list-query.ts'
import { grantedRoots } from '../domain/access.ts'
import { containerTerm } from '../domain/index-terms.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { Token } from '../domain/token.ts'
import { filterTerms, matchesFilter, type TokenFilter, visibleTerms } from '../domain/token-filter.ts'
import { tokenTypes } from '../domain/token-types/registry.ts'
import { viewToken } from '../domain/token-view.ts'
import type { TokenQuery } from '../store/port.ts'
import { readTransform } from './access-checks.ts'
import { containerCounter, severalContainersCounter, typeCounter } from './counters.ts'
import { openTokens } from './load-token.ts'
import { hashTerm } from './token-writes.ts'
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
  const position = { offset: (page - 1) * size, limit: size }
  const [found, total] = await (mayMeetHiddenFingerprints(caller, filter, roots)
    ? findByOpening(vault, caller, filter, query, position)
    : Promise.all([
        vault.store.listTokens(query, position).then(rows => openTokens(vault, caller, rows)),
        countTokens(vault, caller, filter, roots, query),
      ]))
  const data: Json[] = []
  const shown: Token[] = []
  for (const token of found) {
    const transform = readTransform(caller, token.containers)
    if (transform === undefined || !matchesFilter(token, filter)) continue
    shown.push(token)
    data.push(viewToken(token, transform, now))
  }
  vault.activity.note(caller.tenantNumber, shown, now)
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

/**
 * C12: a token under `redact` has no fingerprint to be found by, or the filter would tell what the token does
 * not. Which tokens those are depends on the rules and on all containers of each, which no index knows.
 */
const mayMeetHiddenFingerprints = (
  { application }: Caller,
  { fingerprint }: TokenFilter,
  roots: readonly string[],
): boolean =>
  fingerprint !== undefined &&
  (!roots.includes('/') ||
    application.rules.some(
      ({ transform, permissions }) => transform === 'redact' && permissions.includes('token:read'),
    ))

const openedAtOnce = 500

/** Opens every token that the index proposes; those of one fingerprint are few. */
const findByOpening = async (
  vault: Vault,
  caller: Caller,
  filter: TokenFilter,
  query: TokenQuery,
  { offset, limit }: { offset: number; limit: number },
): Promise<[Token[], number]> => {
  const found: Token[] = []
  for (let start = 0; ; start += openedAtOnce) {
    const rows = await vault.store.listTokens(query, { offset: start, limit: openedAtOnce })
    for (const token of await openTokens(vault, caller, rows))
      if (readTransform(caller, token.containers) !== 'redact' && matchesFilter(token, filter))
        found.push(token)
    if (rows.length < openedAtOnce) break
  }
  return [found.slice(offset, offset + limit), found.length]
}

/** Filters first, then what the caller may see; who sees everything needs no group for that, unless it is the only one. */
const toQuery = (caller: Caller, filter: TokenFilter, roots: readonly string[], now: number): TokenQuery => {
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
