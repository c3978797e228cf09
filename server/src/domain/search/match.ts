import type { Token } from '../tokens/token.ts'
import type { Transform } from '../tokens/transform.ts'
import type { Query } from './query.ts'

/** Whether the opened token meets the query, for a caller who sees it under this transform. */
export const matchesQuery = (query: Query, token: Token, transform: Transform): boolean => {
  switch (query.kind) {
    case 'and':
      return query.parts.every(part => matchesQuery(part, token, transform))
    case 'or':
      return query.parts.some(part => matchesQuery(part, token, transform))
    case 'not':
      return !matchesQuery(query.part, token, transform)
    case 'term': {
      const { hiddenUnderRedact, matches } = query.condition
      return !(hiddenUnderRedact === true && transform === 'redact') && matches(token)
    }
  }
}
