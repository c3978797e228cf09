import type { Connection } from './connection.ts'
import { request, type Tenant } from './tenant.ts'

/** What one of the connections does over and over. */
export type Run = (connection: Connection, number: number, round: number) => Promise<unknown>

export type Attack = {
  readonly name: string
  /** The weakest that can do it. */
  readonly key: string
  readonly connections: number
  /** What may come of its requests beside 2xx, 400, 413 and 503 with Retry-After. */
  readonly also?: readonly string[]
  readonly isTls?: true
  /** The vault calls another server for it (far-side.ts). */
  readonly callsOut?: true
  /** Stores what it needs. */
  readonly prepare: (tenant: Tenant) => Promise<Run>
}

/** Of the attacker's processes, so that they take nothing from the server that they would not take from another machine. */
export const niceness = 5

export const list = <Item>(length: number, make: (at: number) => Item): Item[] =>
  Array.from({ length }, (_, at) => make(at))

export const letters = (length: number): string =>
  list(length, at => String.fromCharCode(97 + ((at * 7 + (at >> 5)) % 26))).join('')

export const token = (data: unknown, more: object = {}): object => ({ type: 'token', data, ...more })

/** Each connection sends these requests in turn, each once the one before is answered. */
export const flood =
  (...requests: readonly Uint8Array[]): Run =>
  (connection, number, round) =>
    connection.ask(requests[(number + round) % requests.length] ?? Buffer.alloc(0))

/** Nearly a whole body. */
export const longCharacters = 900_000

/** The most expensive first. The last is of the kind that can never be too expensive. */
export const heavyExpressions = [
  "{{ data | split: '' | sort | size }}",
  '{{ data | escape | url_encode | size }}',
  '{{ data | upcase | downcase | size }}',
  '{{ data | size }}',
]

/** Ten containers of sixteen levels that share no level with those of another token. */
export const deepContainers = (at: number): string[] =>
  list(10, n => `/${at}c${n}/${list(15, level => level.toString(16)).join('/')}/`)
export const deep = (tokens: number): object[] =>
  list(tokens, at => token(at, { containers: deepContainers(at) }))

/** A search that has to open 160 long tokens and render their index. */
export const openingSearches = async (tenant: Tenant): Promise<Buffer[]> => {
  const data = letters(120_000)
  const tokens = heavyExpressions.map(text => token(data, { search_indexes: [`${text}0`] }))
  const { token: accepted } = await tenant.firstAccepted(tokens)
  await tenant.store(159, accepted)
  const key = await tenant.key('token:read', 'token:search')
  return list(16, n => request('POST', '/tokens/search', key, { query: `type:token AND NOT data:zz${n}` }))
}

/** Twenty thousand tokens. */
export const manyTokens = async (
  tenant: Tenant,
  more: (at: number) => object = () => ({}),
): Promise<void> => {
  for (let batch = 0; batch < 20; batch++) {
    const tokens = list(1_000, at => token(at, more(batch * 1_000 + at)))
    await tenant.call('POST', '/tokenize', tenant.keys.api_key, tokens)
  }
}
