import { newTokenId } from '../../crypto/token-id.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { commitSet } from '../writing/commit.ts'
import { chooseId, type Identified } from './choose-id.ts'
import { removeExpired } from './remove-expired.ts'
import { TokenWrites } from './token-writes.ts'

/**
 * Frees or replaces taken ids where it may. An expired token that the sweeper has not reached yet gives its id back (C17). An
 * alias that hit a taken id is drawn again and, after too many draws, replaced by an id of the vault's own (C16). An id whose
 * holder is gone by now is free. Any other taken id is the caller's conflict.
 */
export const replaceTakenIds = async (
  vault: Vault,
  caller: Caller,
  identified: readonly Identified[],
  drawAgain: boolean,
): Promise<Identified[]> => {
  const now = vault.clock()
  const replaced: Identified[] = []
  const isRepeated = (id: string): boolean => replaced.some(before => before.id === id)
  for (const one of identified) {
    const { definition, id } = one
    if (definition.id === undefined || (await tryToFree(vault, caller, id, isRepeated(id))))
      replaced.push(one)
    else if (definition.id.hasAlias)
      replaced.push({ definition, id: drawAgain ? chooseId(definition, now) : newTokenId(now) })
    else throw new VaultError('idTaken')
  }
  return replaced
}

/** Returns whether the id is free now; `isRepeated`: an earlier definition of the request takes it. */
const tryToFree = async (vault: Vault, caller: Caller, id: string, isRepeated: boolean): Promise<boolean> => {
  const writes = new TokenWrites(caller)
  const holder = await removeExpired(vault, caller, writes, id)
  if (holder === 'absent') return !isRepeated
  if (holder === 'living') return false
  // The outcome does not matter: in a conflict, another request has removed or changed the holder, and the next round finds
  // the id free or judges its holder anew.
  await commitSet(vault, writes.set)
  return true
}
