import type { EndpointId, endpoints } from '../contract/endpoints.ts'
import type { QueryPair } from '../contract/query-pairs.ts'
import type { Json } from '../domain/json/json.ts'
import type { Page } from '../operations/finding/page.ts'
import type { Caller, Idempotent, Vault } from '../operations/vault/vault.ts'

/** The names after colons in a path: `'id' | 'keyId'` of `/applications/:id/keys/:keyId`. */
type ParamsIn<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamsIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** What an operation is told: who calls, and what the declaration says is in the request. */
export type Call<K extends EndpointId> = {
  readonly vault: Vault
  readonly headerPrefix: string
  /** Path parameters, decoded. */
  readonly params: Readonly<Record<ParamsIn<(typeof endpoints)[K]['path']>, string>>
  readonly query: readonly QueryPair[]
  /** For a request with an idempotency key: its answer is kept with whatever it commits. */
  readonly idempotent: Idempotent | undefined
  readonly caller: (typeof endpoints)[K]['permission'] extends 'open' ? undefined : Caller
  readonly body: (typeof endpoints)[K] extends { checkBody?: (...input: never[]) => infer B }
    ? Exclude<B, undefined>
    : undefined
}

/** A call of any endpoint, before its types are known. */
export type AnyCall = {
  readonly [Part in keyof Call<EndpointId>]: Part extends 'params' | 'caller' | 'body'
    ? unknown
    : Call<EndpointId>[Part]
}

/** What is sent back: JSON, a page of tokens that is sent as it is made, ready-made text with its type, or undefined for an answer without a body. */
export type Answer = Json | ReadyText | Page | undefined

export class ReadyText {
  readonly type: string
  readonly content: string
  readonly headers: Readonly<Record<string, string>>

  constructor(type: string, content: string, headers: Record<string, string> = {}) {
    this.type = type
    this.content = content
    this.headers = headers
  }
}

export const jsonContentType = 'application/json; charset=utf-8'

/** Answers the calls of an endpoint. */
export type Handle = (call: AnyCall) => Promise<Answer>
