import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { PendingDeadlines } from '../../../src/domain/time/instant.ts'
import { type Store, StoreUnavailableError } from '../../../src/store/port.ts'
import { signatureOf, type TokenRow, type TransientRow } from '../../../src/store/rows.ts'
import type { Effect, Match, WriteSet } from '../../../src/store/write-set.ts'
import { madeTenantLog } from '../../rig/log-parts.ts'
import { temporaryFolder } from '../../rig/temporary-folder.ts'

/** Opens the engine's storage in this folder. Called again with the same folder, it opens the same storage. */
export type OpenStore = (folder: string) => Store | Promise<Store>

/** Storage for the tests of one `describe`. Tests stay independent by using tenants of their own. */
export class StoreRig {
  readonly #open: OpenStore
  readonly #opened: Store[] = []
  #folder = { path: '', remove: () => {} }
  store!: Store

  constructor(open: OpenStore) {
    this.#open = open
    before(async () => {
      this.#folder = temporaryFolder()
      this.store = await this.again()
    })
    after(async () => {
      for (const store of this.#opened) await store.close()
      this.#folder.remove()
    })
  }

  /** One more connection to the same storage. */
  async again(): Promise<Store> {
    const store = await this.#open(this.#folder.path)
    this.#opened.push(store)
    return store
  }

  /** For a store that the test closes itself. */
  forget(store: Store): void {
    this.#opened.splice(this.#opened.indexOf(store), 1)
  }

  newTenant(): Promise<number> {
    return this.store.createTenant(
      {
        id: crypto.randomUUID(),
        sealed: bytes('tenant'),
        keys: [],
        applications: [],
        apiKeys: [],
      },
      madeTenantLog(),
    )
  }

  /** Commits a set and requires that it succeeds. */
  async write(set: WriteSet): Promise<void> {
    assert.deepEqual(await this.store.commit(set), { committed: true })
  }
}

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

export const writeSet = (tenant: number, parts: Partial<Omit<WriteSet, 'tenant'>>): WriteSet => ({
  tenant,
  guarded: [],
  effects: [],
  counters: [],
  log: null,
  ...parts,
})

export const tokenRow = (tenant: number, id: string, more: Partial<TokenRow> = {}): TokenRow => ({
  tenant,
  id,
  type: 'token',
  version: 1,
  createdAt: 1_000,
  createdBy: 'an application',
  modifiedAt: null,
  modifiedBy: null,
  expiresAt: null,
  transientUntil: null,
  activeMonth: 202_601,
  sealed: bytes(`sealed ${id}`),
  ...more,
})

/** The tag that the terms of these tests carry. */
export const tag = bytes('tag')

/** The same bytes as a match for deduplication. */
export const matchOf = (term: Uint8Array): Match => ({ term, tag })

/** Adds or removes index entries of a token that has no others. */
export const terms = (
  kind: 'addTerms' | 'removeTerms',
  token: TokenRow,
  hashes: readonly Uint8Array[],
): Effect => ({ ...adding(token, hashes), kind })

/** Adds all index entries of a token. */
export const adding = (
  token: TokenRow,
  hashes: readonly Uint8Array[],
): Extract<Effect, { kind: 'addTerms' }> => ({
  kind: 'addTerms',
  of: {
    tokenId: token.id,
    createdAt: token.createdAt,
    expiresAt: token.expiresAt,
    signature: signatureOf(hashes),
  },
  terms: hashes.map(term => ({ term, tag })),
})

export const transientRow = (
  tenant: number,
  tokenId: string,
  more: Partial<TransientRow> = {},
): TransientRow => ({
  tenant,
  tokenId,
  field: 'cvc',
  expiresAt: 5_000,
  sealed: bytes(`sealed cvc of ${tokenId}`),
  ...more,
})

/** No deadline is too far ahead. */
export const pendingAfter = (after: number): PendingDeadlines => ({ after, upTo: Number.MAX_SAFE_INTEGER })

/** Inserts tokens with their terms, as every create does. */
export const insertion = (
  tenant: number,
  tokens: readonly { row: TokenRow; terms: Uint8Array[] }[],
): WriteSet =>
  writeSet(tenant, {
    guarded: tokens.map(({ row }) => ({ kind: 'insertToken', row })),
    effects: tokens.map(({ row, terms: hashes }) => adding(row, hashes)),
  })

/** Rows with their bytes as text, so that an engine may return any kind of byte array. */
const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]))
}

export const assertRows = (actual: unknown, expected: unknown): void =>
  assert.deepEqual(plain(actual), plain(expected))

export const isUnavailable = (error: unknown): boolean => error instanceof StoreUnavailableError
