import type { TenantKeys } from '../../crypto/keys.ts'
import { pace } from '../../domain/pace.ts'
import { requireProgress } from '../../domain/tokens/list-position.ts'
import type { TokenQuery } from '../../store/port.ts'
import type { TokenRow } from '../../store/rows.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** The recent row length of a tenant, in bytes. */
const rowBytes = new WeakMap<TenantKeys, number>()
const rowBytesUnknown = 256 << 10

/** Reads the rows of a page in list order, in pieces that memory can hold. Short rows come all at once. */
export async function* rowsInBatches(
  vault: Vault,
  caller: Caller,
  query: TokenQuery,
  { offset, limit }: { offset: number; limit: number },
): AsyncGenerator<TokenRow[]> {
  let rest = query
  for (let left = limit; left > 0; ) {
    const most = Math.min(left, rowsAtATime(caller))
    const page = { offset: left === limit ? offset : 0, limit: most }
    const rows = await vault.store.listTokens(rest, page, caller.work)
    if (!caller.work.hasTurn) await caller.work.turn()
    const last = rows.at(-1)
    if (last === undefined) return
    noteLength(caller, rows)
    yield rows
    if (rows.length < most) return
    left -= rows.length
    const after = { createdAt: last.createdAt, id: last.id }
    requireProgress(rest.after, after)
    rest = { ...query, after }
  }
}

/** How many rows of this tenant are read at a time. */
const rowsAtATime = ({ keys }: Caller): number =>
  Math.max(1, Math.floor(pace.pageBatchBytes / (rowBytes.get(keys) ?? rowBytesUnknown)))

/** Long rows raise the average at once. Short rows lower it slowly. */
const noteLength = ({ keys }: Caller, rows: readonly TokenRow[]): void => {
  const mean = rows.reduce((sum, { sealed }) => sum + sealed.length, 0) / rows.length
  const before = rowBytes.get(keys) ?? rowBytesUnknown
  rowBytes.set(keys, Math.max(1, mean, 0.8 * before + 0.2 * mean))
}
