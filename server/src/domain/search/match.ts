import type { Transform } from '../access/application.ts'
import type { Token } from '../tokens/token.ts'
import type { HashedTerm, Query } from './query.ts'

/** Whether the opened token meets the query, for a caller who sees it under this transform. */
export const matchesQuery = (
  query: Query,
  token: Token,
  transform: Transform,
  hashed: HashedTerm,
): boolean => {
  switch (query.kind) {
    case 'and':
      return query.parts.every(part => matchesQuery(part, token, transform, hashed))
    case 'or':
      return query.parts.some(part => matchesQuery(part, token, transform, hashed))
    case 'not':
      return !matchesQuery(query.part, token, transform, hashed)
    case 'term': {
      const { hiddenUnderRedact, matches } = query.condition
      return !(hiddenUnderRedact === true && transform === 'redact') && matches(token, hashed)
    }
  }
}
