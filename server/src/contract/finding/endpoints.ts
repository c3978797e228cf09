import { declareEndpoints } from '../endpoint.ts'
import { TokenCursorPage, TokenPage } from '../tokens/schemas.ts'
import { cursorParameters } from './cursor-query.ts'
import { listParameters } from './list-query.ts'
import { FoundTokens, SearchTokens, SearchTokensByCursor } from './search-schemas.ts'

export const findingEndpoints = declareEndpoints({
  listTokens: {
    summary: 'List tokens, newest first',
    tag: 'Tokens',
    method: 'GET',
    path: '/tokens',
    permission: 'token:read',
    logs: { entityType: 'token' },
    isPage: true,
    query: listParameters,
    reply: TokenPage,
    status: 200,
  },

  listTokensByCursor: {
    summary: 'List tokens by cursor, newest first; all pages cost the same',
    tag: 'Tokens',
    method: 'GET',
    path: '/v2/tokens',
    permission: 'token:read',
    logs: { entityType: 'token' },
    isPage: true,
    query: cursorParameters,
    reply: TokenCursorPage,
    status: 200,
  },

  searchTokens: {
    summary: 'Find tokens by a query, newest first',
    tag: 'Tokens',
    method: 'POST',
    path: '/tokens/search',
    permission: 'token:search',
    logs: { entityType: 'token' },
    isPage: true,
    body: SearchTokens,
    foreignFields: ['start'],
    nullIsAbsentExcept: [],
    examples: { query: { query: 'data:"ada@example.com" AND metadata.customer:8' } },
    reply: FoundTokens,
    status: 200,
  },

  searchTokensByCursor: {
    summary: 'Find tokens by a query and cursor, newest first; all pages cost the same',
    tag: 'Tokens',
    method: 'POST',
    path: '/v2/tokens/search',
    permission: 'token:search',
    logs: { entityType: 'token' },
    isPage: true,
    body: SearchTokensByCursor,
    nullIsAbsentExcept: [],
    examples: { query: { query: 'type:token AND metadata.customer:8', size: 50 } },
    reply: TokenCursorPage,
    status: 200,
  },
})
