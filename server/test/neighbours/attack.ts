import type { Connection } from './connection.ts'
import type { Tenant } from './tenant.ts'

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
  /** Stores what it needs. */
  readonly prepare: (tenant: Tenant) => Promise<Run>
}

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
