import { setImmediate as nextTurn } from 'node:timers/promises'
import { sealedKeyVersion } from '../crypto/aead.ts'
import type { TenantKeys } from '../crypto/keys.ts'
import { TamperedError } from '../domain/errors.ts'
import type { Token } from '../domain/token.ts'
import type { IndexEntry, MatchRow, TokenRow } from '../store/rows.ts'
import { sealsCounter } from './tokens/counters.ts'
import { entriesOf, matchOf, sameMatch } from './tokens/index-entries.ts'
import { categoryOf } from './tokens/token-category.ts'
import { toToken } from './tokens/token-rows.ts'
import type { UnlockedTenant, Vault } from './vault.ts'

/** What storage holds otherwise than the opened tokens say. */
export type Audit = {
  /** Tokens whose rows do not open. */
  readonly unreadable: string[]
  /** Index entries that a token should have while its row is sealed so. */
  readonly missing: (IndexEntry & { sealed: Uint8Array })[]
  /** Entries that no token stands for; `sealed` is null where the token is not there. */
  readonly extra: (IndexEntry & { sealed: Uint8Array | null })[]
  /** Claims on a match by tokens that do not have it. */
  readonly matches: MatchRow[]
  readonly counters: { name: string; stored: number; counted: number }[]
  /** The tenant was written to meanwhile, so its counters could not be judged. */
  readonly wasWritten: boolean
}

const tokensPerPage = 500
const entriesPerPage = 2_000

/**
 * Goes through everything of a tenant, in pages between which others write. A difference counts only if the
 * token is still the same once it was found: no two writes seal the same bytes, so nothing moved in between.
 */
export const auditTenant = async (vault: Vault, tenant: UnlockedTenant): Promise<Audit> => {
  const before = await vault.store.listCounters(tenant.tenantNumber)
  const tokens = await auditTokens(vault, tenant, pagesOfAll(vault, tenant))
  const isWhole = (await countEntries(vault, tenant)) === tokens.entries && tokens.missing.length === 0
  const extra = isWhole ? [] : await findExtra(vault, tenant, new Set(tokens.unreadable))
  const matches = await findStaleMatches(vault, tenant, new Set(tokens.unreadable))
  const after = await vault.store.listCounters(tenant.tenantNumber)
  const wasWritten = !sameCounters(before, after)
  const { unreadable, missing } = tokens
  const counters =
    wasWritten || unreadable.length > 0 ? [] : wrongCounters(tokens.counted, tokens.seals, after)
  return { unreadable, missing, extra, matches, counters, wasWritten }
}

/** Looks at about so many tokens of any time; what needs all of them to be judged is left out. */
export const auditSample = async (
  vault: Vault,
  tenant: UnlockedTenant & { createdAt: number },
  size: number,
  random: () => number,
): Promise<Audit> => {
  const { unreadable, missing } = await auditTokens(vault, tenant, pagesOfSome(vault, tenant, size, random))
  return { unreadable, missing, extra: [], matches: [], counters: [], wasWritten: false }
}

async function* pagesOfAll(vault: Vault, { tenantNumber }: UnlockedTenant): AsyncGenerator<TokenRow[]> {
  for (let after: string | undefined; ; ) {
    const rows = await vault.store.scanTokens(tenantNumber, after, tokensPerPage)
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1)?.id
    await nextTurn()
  }
}

/** A few tokens at each of many places; ids that the vault made begin with their time. */
async function* pagesOfSome(
  vault: Vault,
  { tenantNumber, createdAt }: UnlockedTenant & { createdAt: number },
  size: number,
  random: () => number,
): AsyncGenerator<TokenRow[]> {
  const runLength = 20
  const seen = new Set<string>()
  for (let run = 0; run < Math.ceil(size / runLength); run++) {
    const at = Math.floor(createdAt + random() * (vault.clock() - createdAt))
    const text = at.toString(16).padStart(12, '0')
    const place = `${text.slice(0, 8)}-${text.slice(8)}`
    const found = await vault.store.scanTokens(tenantNumber, place, runLength)
    const more =
      found.length < runLength
        ? await vault.store.scanTokens(tenantNumber, undefined, runLength - found.length)
        : []
    const fresh = [...found, ...more].filter(({ id }) => !seen.has(id)).slice(0, size - seen.size)
    for (const { id } of fresh) seen.add(id)
    if (fresh.length > 0) yield fresh
  }
}

type TokenAudit = {
  readonly unreadable: string[]
  readonly missing: Audit['missing']
  readonly counted: Map<string, number>
  readonly seals: Map<string, number>
  /** How many index entries the tokens should have. */
  readonly entries: number
}

const auditTokens = async (
  vault: Vault,
  tenant: UnlockedTenant,
  pages: AsyncIterable<TokenRow[]>,
): Promise<TokenAudit> => {
  const unreadable: string[] = []
  const missing: Audit['missing'] = []
  const counted = new Map<string, number>()
  const seals = new Map<string, number>()
  let entries = 0
  const count = (sums: Map<string, number>, name: string): void => {
    sums.set(name, (sums.get(name) ?? 0) + 1)
  }
  for await (const rows of pages) {
    const expected: IndexEntry[] = []
    const sealed = new Map<string, Uint8Array>()
    for (const row of rows) {
      const token = opened(row, tenant.keys)
      if (token === undefined) {
        unreadable.push(row.id)
        continue
      }
      sealed.set(token.id, row.sealed)
      expected.push(...entriesOf(tenant, token))
      const { typeCounter, containerCounters } = categoryOf(tenant.keys, token)
      for (const name of [typeCounter, ...containerCounters]) count(counted, name)
      count(seals, sealsCounter(sealedKeyVersion(row.sealed) ?? 0))
    }
    entries += expected.length
    const absent = await vault.store.absentTerms(tenant.tenantNumber, expected)
    if (absent.length === 0) continue
    const now = await sealedNow(vault, tenant, absent)
    for (const entry of absent) {
      const then = sealed.get(entry.tokenId)
      if (then && isSame(then, now.get(entry.tokenId))) missing.push({ ...entry, sealed: then })
    }
  }
  return { unreadable, missing, counted, seals, entries }
}

const opened = (row: TokenRow, keys: TenantKeys): Token | undefined => {
  try {
    return toToken(row, [], keys)
  } catch (error) {
    if (error instanceof TamperedError) return undefined
    throw error
  }
}

const sealedNow = async (
  vault: Vault,
  { tenantNumber }: UnlockedTenant,
  entries: readonly { tokenId: string }[],
): Promise<Map<string, Uint8Array>> => {
  const ids = [...new Set(entries.map(({ tokenId }) => tokenId))]
  const { rows } = await vault.store.getTokens(tenantNumber, ids)
  return new Map(rows.map(({ id, sealed }) => [id, sealed]))
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0

async function* pagesOfEntries(
  vault: Vault,
  { tenantNumber }: UnlockedTenant,
  limit: number,
): AsyncGenerator<IndexEntry[]> {
  for (let after: IndexEntry | undefined; ; ) {
    const page = await vault.store.scanTerms(tenantNumber, after, limit)
    if (page.length === 0) return
    yield page
    after = page.at(-1)
    await nextTurn()
  }
}

const countEntries = async (vault: Vault, tenant: UnlockedTenant): Promise<number> => {
  let count = 0
  for await (const page of pagesOfEntries(vault, tenant, entriesPerPage)) count += page.length
  return count
}

/** Opens the token of every entry, so it is done only where there are more entries than there should be. */
const findExtra = async (
  vault: Vault,
  tenant: UnlockedTenant,
  unreadable: ReadonlySet<string>,
): Promise<Audit['extra']> => {
  const extra: Audit['extra'] = []
  for await (const page of pagesOfEntries(vault, tenant, tokensPerPage)) {
    const ids = [...new Set(page.map(({ tokenId }) => tokenId))]
    const { rows } = await vault.store.getTokens(tenant.tenantNumber, ids)
    const expected = new Map<string, { sealed: Uint8Array; names: Set<string> }>()
    for (const row of rows) {
      const token = opened(row, tenant.keys)
      if (token === undefined) continue
      expected.set(row.id, { sealed: row.sealed, names: new Set(entriesOf(tenant, token).map(entryName)) })
    }
    const suspects = page.filter(
      entry => !unreadable.has(entry.tokenId) && !expected.get(entry.tokenId)?.names.has(entryName(entry)),
    )
    const gone = new Set(await vault.store.absentTerms(tenant.tenantNumber, suspects))
    const now = await sealedNow(vault, tenant, suspects)
    for (const entry of suspects) {
      const then = expected.get(entry.tokenId)?.sealed
      if (!gone.has(entry) && isSame(then, now.get(entry.tokenId)))
        extra.push({ ...entry, sealed: then ?? null })
    }
  }
  return extra
}

/** What makes an entry another one; its expiry, tag and signature can be wrong, which `missing` tells. */
const entryName = ({ term, createdAt }: IndexEntry): string =>
  `${createdAt} ${Buffer.from(term).toString('base64')}`

const findStaleMatches = async (
  vault: Vault,
  tenant: UnlockedTenant,
  unreadable: ReadonlySet<string>,
): Promise<MatchRow[]> => {
  const stale: MatchRow[] = []
  for (let after: MatchRow | undefined; ; ) {
    const page = await vault.store.scanMatches(tenant.tenantNumber, after, tokensPerPage)
    const { rows } = await vault.store.getTokens(
      tenant.tenantNumber,
      page.map(({ tokenId }) => tokenId),
    )
    const holders = new Map(rows.map(row => [row.id, row]))
    for (const match of page) {
      const row = holders.get(match.tokenId)
      const holder = row && opened(row, tenant.keys)
      if (unreadable.has(match.tokenId) || (holder && sameMatch(matchOf(tenant, holder), match))) continue
      // Another one may have claimed it meanwhile, or its holder has changed.
      const now = await vault.store.matchHolder(tenant.tenantNumber, match)
      const rowNow = await vault.store.getToken(tenant.tenantNumber, match.tokenId)
      if (now === match.tokenId && isSame(row?.sealed, rowNow?.sealed)) stale.push(match)
    }
    if (page.length < tokensPerPage) return stale
    after = page.at(-1)
    await nextTurn()
  }
}

type Counters = readonly { readonly name: string; readonly value: number }[]

/** Every write of a token moves one of these; reads move only those of monthly activity. */
const isOfTokens = ({ name }: { name: string }): boolean => !name.startsWith('active:')

const sameCounters = (before: Counters, after: Counters): boolean => {
  const text = (counters: Counters): string =>
    counters
      .filter(isOfTokens)
      .map(({ name, value }) => `${name}=${value}`)
      .sort()
      .join()
  return text(before) === text(after)
}

/** Seals are only counted up, so there must be at least as many as rows that a key has sealed. */
const wrongCounters = (
  counted: ReadonlyMap<string, number>,
  seals: ReadonlyMap<string, number>,
  stored: Counters,
): Audit['counters'] => {
  const values = new Map(stored.map(({ name, value }) => [name, value]))
  const names = [...new Set([...counted.keys(), ...stored.filter(isOfTokens).map(({ name }) => name)])]
  const exact = names
    .filter(name => !name.startsWith('seals:'))
    .map(name => ({ name, stored: values.get(name) ?? 0, counted: counted.get(name) ?? 0 }))
    .filter(counter => counter.stored !== counter.counted)
  const atLeast = [...seals]
    .map(([name, count]) => ({ name, stored: values.get(name) ?? 0, counted: count }))
    .filter(counter => counter.stored < counter.counted)
  return [...exact, ...atLeast]
}
