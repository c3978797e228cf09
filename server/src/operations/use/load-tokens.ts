import { VaultError } from '../../domain/errors.ts'
import { ceilings, limits } from '../../domain/limits.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import { countCharacters } from '../../domain/text/characters.ts'
import { isExpired, type Token } from '../../domain/tokens/token.ts'
import type { TokensWithTransients } from '../../store/port.ts'
import { openTokenRow } from '../tokens/token-rows.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** Tokens whose sealed bytes are no more than this are read without asking for memory first. */
const readAtOnceBytes = 1 << 17
/** What a sealed card takes, and a little more. Many ids are expected to weigh as much each, so that few rows are read in vain. */
const usualTokenBytes = 512

/**
 * The living tokens among these ids, all of one snapshot, with the transient fields that are still visible. Each is read and opened
 * once. What they may weigh is known before it is read (U5), and counts as memory of the caller's. Nothing is decided about access.
 */
export const loadTokens = async (
  vault: Vault,
  caller: Caller,
  ids: Iterable<string>,
): Promise<Map<string, Token>> => {
  const wanted = [...ids].filter(mayBeId)
  const tokens = new Map<string, Token>()
  if (wanted.length === 0) return tokens
  const { rows, transients } = await read(vault, caller, wanted)
  const asked = new Set(wanted)
  const now = vault.clock()
  const fieldsOf = Map.groupBy(
    transients.filter(({ expiresAt }) => expiresAt > now),
    ({ tokenId }) => tokenId,
  )
  // From the end, so that each row is let go once it is open.
  for (let row = rows.pop(); row !== undefined; row = rows.pop()) {
    if (!caller.work.hasTurn) await caller.work.turn()
    const { id } = row
    // Storage could return one genuine row in place of another.
    if (!asked.delete(id)) throw new TamperedError({ kind: 'token', id, tenantId: caller.keys.tenantId })
    const token = openTokenRow(row, fieldsOf.get(id) ?? [], caller.keys)
    if (!isExpired(token, now)) tokens.set(id, token)
  }
  return tokens
}

const read = async (vault: Vault, caller: Caller, ids: readonly string[]): Promise<TokensWithTransients> => {
  const { memory } = caller
  const heldBefore = memory?.held ?? 0
  const mayHold = (bytes: number): boolean => memory === undefined || memory.hold(heldBefore + bytes)
  const usualBytes = ids.length * usualTokenBytes
  let bytesMax = usualBytes > readAtOnceBytes && mayHold(usualBytes) ? usualBytes : readAtOnceBytes
  for (;;) {
    const found = await vault.store.getTokensUpTo(caller.tenantNumber, ids, bytesMax)
    if (!caller.work.hasTurn) await caller.work.turn()
    if ('rows' in found) return found
    bytesMax = found.sealedBytes
    if (bytesMax > limits.detokenizeTokenBytes) throw tooLong()
    if (!mayHold(bytesMax)) throw new VaultError('overloaded')
  }
}

const tooLong = (): VaultError =>
  new VaultError('invalidRequest', {
    issues: [
      {
        path: '$',
        message: `must name tokens of at most ${limits.detokenizeTokenBytes} bytes together, as they are stored`,
      },
    ],
  })

/** No token has any other id, and storage would take an ill-formed text for another one. */
const mayBeId = (id: string): boolean =>
  !/[\p{Cc}\p{Cs}]/u.test(id) && countCharacters(id) <= ceilings.idCharactersMax
