import { type OracleApplication, readShows, type Shown } from '../rig/access-oracle.ts'

/**
 * A naive model of search, written from C26 alone: tokens in a list, queries as trees. What a caller may see the oracle
 * says. Neither shares anything with the vault.
 */
export type ModelToken = {
  readonly id: string
  readonly type: string
  readonly containers: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
  /** What its search indexes render. */
  readonly indexed: readonly string[]
  readonly fingerprint: string
  readonly createdAt: number
  readonly createdBy: string
  readonly modified?: { readonly at: number; readonly by: string }
  readonly expiresAt?: number
}

export type ModelQuery =
  | { readonly op: 'and' | 'or'; readonly left: ModelQuery; readonly right: ModelQuery }
  | { readonly op: 'not'; readonly of: ModelQuery }
  | ModelTerm
export type ModelTerm = { readonly op: 'term'; readonly field: string } & (
  | { readonly value: string }
  /** Days. An absent end is unbounded, and an `open` end is not part of the range. */
  | { readonly from?: string; readonly to?: string; readonly openFrom: boolean; readonly openTo: boolean }
)

const dayMs = 86_400_000
const fold = (text: string): string => text.normalize('NFC').toLowerCase()

const inRange = (instant: number | undefined, term: ModelTerm): boolean => {
  if (instant === undefined) return false
  if ('value' in term) return instant >= Date.parse(term.value) && instant < Date.parse(term.value) + dayMs
  const { from, to, openFrom, openTo } = term
  const isLateEnough = from === undefined || instant >= Date.parse(from) + (openFrom ? dayMs : 0)
  const isEarlyEnough = to === undefined || instant < Date.parse(to) + (openTo ? 0 : dayMs)
  return isLateEnough && isEarlyEnough
}

const meets = (token: ModelToken, query: ModelQuery, transform: Shown): boolean => {
  if (query.op === 'not') return !meets(token, query.of, transform)
  if (query.op !== 'term') {
    const [left, right] = [query.left, query.right].map(part => meets(token, part, transform))
    return query.op === 'and' ? left === true && right === true : left === true || right === true
  }
  if (query.field === 'created_at') return inRange(token.createdAt, query)
  if (query.field === 'modified_at') return inRange(token.modified?.at, query)
  const value = 'value' in query ? query.value : ''
  if (query.field.startsWith('metadata.')) {
    const own = token.metadata[query.field.slice('metadata.'.length)]
    return own !== undefined && fold(own) === fold(value)
  }
  const facts: Record<string, () => boolean> = {
    id: () => token.id === value,
    type: () => token.type === value,
    data: () => transform !== 'redact' && token.indexed.some(text => fold(text) === fold(value)),
    fingerprint: () => transform !== 'redact' && token.fingerprint === value,
    container: () =>
      value.endsWith('*')
        ? token.containers.some(container => container.startsWith(value.slice(0, -1)))
        : token.containers.includes(value),
    created_by: () => token.createdBy === value,
    modified_by: () => token.modified?.by === value,
  }
  return facts[query.field]!()
}

/** Ids of everything the caller finds, newest first, ties by id; a list needs only token:read. */
export const modelSearch = (
  tokens: readonly ModelToken[],
  application: OracleApplication,
  query: ModelQuery,
  now: number,
  permissions: readonly ('token:read' | 'token:search')[] = ['token:read', 'token:search'],
): string[] =>
  tokens
    .filter(token => {
      const transform = readShows(application, token.containers)
      return (
        transform !== undefined &&
        permissions.every(permission => readShows(application, token.containers, permission) !== undefined) &&
        (token.expiresAt === undefined || token.expiresAt > now) &&
        meets(token, query, transform)
      )
    })
    .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
    .map(token => token.id)

const unindexed = ['created_by', 'modified_by', 'modified_at']

/** C26.8 by its meaning: can unindexed or negated terms alone make the query true? */
export const isAnswerable = (query: ModelQuery): boolean =>
  branches(query, true).every(branch => branch.includes('indexed'))

const branches = (query: ModelQuery, positive: boolean): string[][] => {
  if (query.op === 'not') return branches(query.of, !positive)
  if (query.op === 'term') return [[positive && !unindexed.includes(query.field) ? 'indexed' : 'other']]
  const left = branches(query.left, positive)
  const right = branches(query.right, positive)
  return (query.op === 'or') === positive
    ? [...left, ...right]
    : left.flatMap(one => right.map(other => [...one, ...other]))
}
