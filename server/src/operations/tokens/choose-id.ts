import { randomBelow } from '../../crypto/random.ts'
import { newTokenId } from '../../crypto/token-id.ts'
import { invalid, VaultError } from '../../domain/errors.ts'
import type { Allowance } from '../../domain/expressions/budget.ts'
import type { Expression } from '../../domain/expressions/expression.ts'
import { ExpressionError } from '../../domain/expressions/expression-error.ts'
import { holdsLookAlike } from '../../domain/expressions/filters/card-look-alike.ts'
import { budgetFor } from '../../domain/expressions/run.ts'
import type { Json } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { field } from '../../domain/place.ts'
import type { TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { containsNumber, tokenIdFault } from '../../domain/tokens/token-id.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { commitSet } from '../writing/commit.ts'
import { removeExpired } from './remove-expired.ts'
import { TokenWrites } from './token-writes.ts'

/** A definition and the id that its token gets; a taken id may be replaced. */
export type Identified = { readonly definition: TokenDefinition; id: string }

/** C16: an id of the vault's own, a literal one, or what the expression renders. */
export const chooseId = (definition: TokenDefinition, now: number): string => {
  const { id, place, allowance, content } = definition
  if (id === undefined) return newTokenId(now)
  const { type, data } = content
  const path = field(place, 'id')
  const exposed = data.expose('rendering an id, and keeping the number out of it')
  const chosen = drawId(id, exposed, path, allowance) ?? newTokenId(now)
  const message = tokenIdFault(chosen)
  if (message !== undefined) throw invalid({ path, message })
  if (containsNumber(chosen, type.numbers(exposed)))
    throw invalid({ path, message: 'must not contain the number itself' })
  return chosen
}

/** Undefined if every draw of an alias, with what the expression puts around it, could be mistaken for a card number (C21). */
const drawId = (id: Expression, data: Json, path: string, allowance: Allowance): string | undefined => {
  try {
    for (let draws = 0; draws < limits.aliasAttempts; draws++) {
      const drawn = idText(id.render({ data }, randomBelow, budgetFor('id', { data }, allowance)))
      if (!id.hasAlias || !holdsLookAlike(drawn)) return drawn
    }
    return undefined
  } catch (error) {
    if (error instanceof ExpressionError) throw invalid({ path, message: error.message })
    throw error
  }
}

const idText = (value: Json): string =>
  typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)

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
): Promise<void> => {
  const now = vault.clock()
  for (const one of identified) {
    const { definition, id } = one
    if (definition.id === undefined) continue
    const isRepeated = identified.find(other => other.id === id) !== one
    const writes = new TokenWrites(caller)
    const holder = await removeExpired(vault, caller, writes, id)
    if (holder === 'absent' && !isRepeated) continue
    if (holder === 'removed') {
      // The outcome does not matter: in a conflict, another request has removed or changed the holder, and the next round finds
      // the id free or judges its holder anew.
      await commitSet(vault, writes.set)
    } else if (definition.id.hasAlias) one.id = drawAgain ? chooseId(definition, now) : newTokenId(now)
    else throw new VaultError('idTaken')
  }
}
