import type { EndpointId, endpoints } from '../contract/endpoints.ts'
import { type QueryPair, readListQuery } from '../contract/list-query.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import { checkReady } from '../operations/check-ready.ts'
import { createToken } from '../operations/create-token.ts'
import { deleteToken } from '../operations/delete-token.ts'
import { getToken } from '../operations/get-token.ts'
import { listTokens } from '../operations/list-tokens.ts'
import { tokenize } from '../operations/tokenize.ts'
import { updateToken } from '../operations/update-token.ts'
import type { Caller, Vault } from '../operations/vault.ts'
import { docsPage, openApiText } from './documentation.ts'

/** What an operation is told: who calls, and what the declaration says is in the request. */
export type Call<K extends EndpointId> = {
  readonly vault: Vault
  readonly id: string
  readonly query: readonly QueryPair[]
  readonly caller: (typeof endpoints)[K]['permission'] extends 'open' ? undefined : Caller
  readonly body: (typeof endpoints)[K] extends { checkBody?: (...input: never[]) => infer B }
    ? Exclude<B, undefined>
    : undefined
}

export type Answer = {
  readonly body?: Json
  /** Text that is ready to be sent, with its type. */
  readonly text?: { readonly type: string; readonly content: string }
  readonly headers?: Readonly<Record<string, string>>
}

export type Handlers = { readonly [K in EndpointId]: (call: Call<K>) => Promise<Answer> }

/** Which operation answers which endpoint. */
export const handlers: Handlers = {
  tokenize: async ({ vault, caller, body }) => ({ body: await tokenize(vault, caller, body) }),
  createToken: async ({ vault, caller, body }) => {
    const token = await createToken(vault, caller, body)
    return { body: token, headers: { location: tokenLocation(token) } }
  },
  listTokens: async ({ vault, caller, query }) => ({
    body: await listTokens(vault, caller, readListQuery(query)),
  }),
  getToken: async ({ vault, caller, id }) => ({ body: await getToken(vault, caller, id) }),
  updateToken: async ({ vault, caller, id, body }) => ({ body: await updateToken(vault, caller, id, body) }),
  deleteToken: async ({ vault, caller, id }) => {
    await deleteToken(vault, caller, id)
    return {}
  },
  health: async () => ({ body: { status: 'up' } }),
  ready: async ({ vault }) => {
    await checkReady(vault)
    return { body: { status: 'ready' } }
  },
  openapi: async () => ({ text: { type: 'application/json; charset=utf-8', content: openApiText() } }),
  docs: async () => ({
    text: { type: 'text/html; charset=utf-8', content: docsPage() },
    headers: { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" },
  }),
}

const tokenLocation = (token: JsonObject): string => `/tokens/${encodeURIComponent(String(token.id))}`
