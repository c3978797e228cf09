import { VaultError } from '../../domain/errors.ts'
import { pace } from '../../domain/pace.ts'
import { requireProgress } from '../../domain/tokens/list-position.ts'
import type { TokenQuery } from '../../store/port.ts'
import type { TokenRow } from '../../store/rows.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** Some rows in list order, and whether there are more behind them than were asked for. */
type Batch = { readonly rows: TokenRow[]; readonly isCut: boolean }

/** Reads as many of the rows as memory can hold at a time: all of them if they are short. */
export const readBatch = async (
  { store }: Pick<Vault, 'store'>,
  { work, memory }: Pick<Caller, 'work' | 'memory'>,
  query: TokenQuery,
  page: { readonly offset: number; readonly limit: number },
): Promise<Batch> => {
  const rows = await store.listTokens(query, { ...page, bytesMax: pace.pageBatchBytes }, work)
  const bytes = rows.reduce((sum, { sealed }) => sum + sealed.length, 0)
  // They may wait for a turn for as long as others work. What a page is charged anyway is enough for short ones.
  if (memory !== undefined && bytes > memory.held && !memory.hold(bytes)) throw new VaultError('overloaded')
  if (!work.hasTurn) await work.turn()
  return { rows, isCut: bytes >= pace.pageBatchBytes }
}

/** Reads the rows of a page in list order, in pieces that memory can hold. */
export async function* rowsInBatches(
  vault: Vault,
  caller: Caller,
  query: TokenQuery,
  { offset, limit }: { offset: number; limit: number },
): AsyncGenerator<TokenRow[]> {
  let rest = query
  for (let left = limit; left > 0; ) {
    const page = { offset: left === limit ? offset : 0, limit: left }
    const { rows, isCut } = await readBatch(vault, caller, rest, page)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (!isCut) return
    left -= rows.length
    const after = { createdAt: last.createdAt, id: last.id }
    requireProgress(rest.after, after)
    rest = { ...query, after }
  }
}
