import { VaultError } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { commitPurge } from '../writing/commit.ts'
import { chooseId, type Identified, madeId } from './choose-id.ts'
import { isDeduplicated } from './deduplication/match.ts'
import { removeExpired } from './remove-expired.ts'
import { TokenWrites } from './token-writes.ts'

/**
 * Frees or replaces taken ids where it may. An expired token that no sweep has reached gives up its id (C17). If an alias hit a
 * taken id, it is drawn again; after too many draws, an id of the vault's own replaces it (C16). If the holder of an id is gone
 * by now, the id is free. Any other taken id is the caller's conflict. Only ids of definitions that were to be inserted count:
 * the others have found a match, which wins over a taken id (C15). A holder may be a match too, if it was created after matches
 * were last searched for. So they are searched for once more.
 */
export const replaceTakenIds = async (
  vault: Vault,
  caller: Caller,
  identified: readonly Identified[],
  inserted: ReadonlySet<Identified>,
): Promise<Identified[]> => {
  const replaced: Identified[] = []
  const ids = new Set<string>()
  for (const one of identified) {
    const isChosen = one.definition.id !== undefined && inserted.has(one)
    const isTaken = isChosen && !(await tryToFree(vault, caller, one.id, ids.has(one.id)))
    const next = isTaken ? replaceTaken(caller, one, vault.clock()) : { ...one, wasTaken: false }
    replaced.push(next)
    if (isChosen) ids.add(next.id)
  }
  return replaced
}

const replaceTaken = (caller: Caller, one: Identified, now: Instant): Identified => {
  const { definition, attempts, wasTaken } = one
  if (definition.id?.hasAlias) {
    const next = attempts < limits.aliasAttempts ? chooseId(definition, now) : madeId(now)
    return { definition, ...next, attempts: attempts + 1, wasTaken: false }
  }
  const mayBeMatch = !wasTaken && isDeduplicated(caller, definition.content.deduplicate)
  if (mayBeMatch) return { ...one, wasTaken: true }
  throw new VaultError('idTaken')
}

/** Returns whether the id is free now. `isRepeated`: an earlier definition of the request takes it. */
const tryToFree = async (vault: Vault, caller: Caller, id: string, isRepeated: boolean): Promise<boolean> => {
  const writes = new TokenWrites(caller)
  const holder = await removeExpired(vault, caller, writes, id)
  if (holder === 'absent') return !isRepeated
  if (holder === 'living') return false
  // The outcome does not matter: in a conflict, another request has removed or changed the holder, and the next attempt finds
  // the id free or judges its holder anew.
  await commitPurge(vault, caller, writes.changes)
  return true
}
