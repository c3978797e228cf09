import { sealedKeyVersion } from '../../crypto/aead.ts'
import type { IndexEntry, TokenRow } from '../../store/rows.ts'
import { categoryOf, entriesOf } from '../tokens/index-entries.ts'
import { openIfWhole } from '../tokens/token-rows.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import { isUnchanged, sealedNow } from './sealed-rows.ts'
import type { DeadField, MissingEntry, Tell } from './verification.ts'

/** What the tokens add up to. */
export type TokenSums = {
  /** What the counters of types and containers should be. */
  readonly counted: Map<string, number>
  /** How many rows each data key has sealed. */
  readonly seals: Map<string, number>
  /** How many of the tokens' index entries exist. */
  readonly entries: number
}

/** Opens the tokens with their transient fields, and checks that each token has the index entries it should have. */
export const verifyTokens = async (
  vault: Vault,
  verified: UnlockedTenant,
  pages: AsyncIterable<TokenRow[]>,
  tell: Tell,
): Promise<TokenSums> => {
  const counted = new Map<string, number>()
  const seals = new Map<string, number>()
  let entries = 0
  const count = (sums: Map<string, number>, name: string): void => {
    sums.set(name, (sums.get(name) ?? 0) + 1)
  }
  let tenant = verified
  for await (const rows of pages) {
    tenant = await withKeysOf(vault, tenant, rows)
    const unreadable: string[] = []
    const expected: IndexEntry[] = []
    const sealed = new Map<string, Uint8Array>()
    for (const row of rows) {
      const token = openIfWhole(row, tenant.keys)
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
    const absent = await vault.store.findAbsentTerms(tenant.tenantNumber, expected)
    entries += expected.length - absent.length
    await tell({
      unreadable,
      deadFields: await findDeadFields(vault, tenant, rows),
      missing: await whereUnchanged(vault, tenant, absent, sealed),
    })
  }
  return { counted, seals, entries }
}

/** A verification takes long, and a data key made meanwhile may have sealed some of the rows. */
const withKeysOf = async (
  vault: Vault,
  tenant: UnlockedTenant,
  rows: readonly TokenRow[],
): Promise<UnlockedTenant> => {
  const { tenantNumber, keys } = tenant
  const isKnown = ({ sealed }: TokenRow): boolean => keys.data.has(sealedKeyVersion(sealed) ?? 0)
  if (rows.every(isKnown)) return tenant
  return { tenantNumber, keys: await vault.keyring.readAgain(tenantNumber, keys.tenantId) }
}

/** The entries whose token's row is still the one that was opened. */
const whereUnchanged = async (
  vault: Vault,
  tenant: UnlockedTenant,
  entries: readonly IndexEntry[],
  sealed: ReadonlyMap<string, Uint8Array>,
): Promise<MissingEntry[]> => {
  if (entries.length === 0) return []
  const now = await sealedNow(vault, tenant, entries)
  return entries.flatMap(entry => {
    const then = sealed.get(entry.tokenId)
    return then && isUnchanged(then, now.get(entry.tokenId)) ? [{ ...entry, sealed: then }] : []
  })
}

const findDeadFields = async (
  vault: Vault,
  { tenantNumber, keys }: UnlockedTenant,
  verified: readonly TokenRow[],
): Promise<DeadField[]> => {
  const ids = verified.filter(({ transientUntil }) => transientUntil !== null).map(({ id }) => id)
  if (ids.length === 0) return []
  const { rows, transients } = await vault.store.getTokens(tenantNumber, ids)
  const tokens = new Map(rows.map(row => [row.id, row]))
  return transients.flatMap(transient => {
    const { tokenId, field } = transient
    const row = tokens.get(tokenId)
    if (row === undefined || openIfWhole(row, keys) === undefined) return []
    return openIfWhole(row, keys, [transient]) === undefined ? [{ tokenId, field, sealed: row.sealed }] : []
  })
}
