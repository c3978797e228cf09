import { sealedKeyVersion } from '../../crypto/aead.ts'
import type { IndexEntry, TokenRow } from '../../store/rows.ts'
import { entriesOf } from '../tokens/index-entries.ts'
import { categoryOf } from '../tokens/token-category.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import type { DeadField, MissingEntry } from './audit.ts'
import { isUnchanged, openRow, sealedNow } from './sealed-rows.ts'

export type TokenAudit = {
  readonly unreadable: string[]
  readonly deadFields: DeadField[]
  readonly missing: MissingEntry[]
  /** What the counters of types and containers should be. */
  readonly counted: Map<string, number>
  /** How many rows each data key has sealed. */
  readonly seals: Map<string, number>
  /** How many index entries the tokens should have. */
  readonly entries: number
}

/** Opens the tokens with their transient fields, and checks that each token has the index entries it should have. */
export const auditTokens = async (
  vault: Vault,
  tenant: UnlockedTenant,
  pages: AsyncIterable<TokenRow[]>,
): Promise<TokenAudit> => {
  const unreadable: string[] = []
  const deadFields: DeadField[] = []
  const missing: MissingEntry[] = []
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
      const token = openRow(row, tenant.keys)
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
    deadFields.push(...(await findDeadFields(vault, tenant, rows)))
    const absent = await vault.store.absentTerms(tenant.tenantNumber, expected)
    if (absent.length === 0) continue
    const now = await sealedNow(vault, tenant, absent)
    for (const entry of absent) {
      const then = sealed.get(entry.tokenId)
      if (then && isUnchanged(then, now.get(entry.tokenId))) missing.push({ ...entry, sealed: then })
    }
  }
  return { unreadable, deadFields, missing, counted, seals, entries }
}

const findDeadFields = async (
  vault: Vault,
  { tenantNumber, keys }: UnlockedTenant,
  audited: readonly TokenRow[],
): Promise<DeadField[]> => {
  const ids = audited.filter(({ transientUntil }) => transientUntil !== null).map(({ id }) => id)
  if (ids.length === 0) return []
  const { rows, transients } = await vault.store.getTokens(tenantNumber, ids)
  const tokens = new Map(rows.map(row => [row.id, row]))
  return transients.flatMap(transient => {
    const { tokenId, field } = transient
    const row = tokens.get(tokenId)
    if (row === undefined || openRow(row, keys) === undefined) return []
    return openRow(row, keys, [transient]) === undefined ? [{ tokenId, field, sealed: row.sealed }] : []
  })
}
