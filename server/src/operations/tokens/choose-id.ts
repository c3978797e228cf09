import { randomBelow } from '../../crypto/random.ts'
import { newTokenId } from '../../crypto/uuid.ts'
import { invalid } from '../../domain/errors.ts'
import { type Budget, budgetFor } from '../../domain/expressions/budget.ts'
import type { Expression } from '../../domain/expressions/expression.ts'
import { ExpressionError } from '../../domain/expressions/expression-error.ts'
import { holdsLookAlike, lookAlikeSteps } from '../../domain/expressions/filters/card-look-alike.ts'
import { renderedText } from '../../domain/expressions/values.ts'
import type { Json } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { field } from '../../domain/place.ts'
import type { Instant } from '../../domain/time/instant.ts'
import { containsNumber, longNumbers } from '../../domain/tokens/own-number.ts'
import type { TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { tokenIdFault } from '../../domain/tokens/token-id.ts'

/** A definition and the id that its token gets, unless it is taken. */
export type Identified = {
  readonly definition: TokenDefinition
  readonly id: string
  /** Chosen by the caller, by a literal or an expression, and not made by the vault. */
  readonly isChosen: boolean
  /** How many ids were chosen for the token, including this one. */
  readonly attempts: number
  /** The id was already taken when matches were last searched for, so its holder is no match (C15). */
  readonly wasTaken: boolean
}

/** C16: chooses an id of the vault's own, a literal one, or what the expression renders. */
export const chooseId = (definition: TokenDefinition, now: Instant): Pick<Identified, 'id' | 'isChosen'> => {
  const { id, place, costs, content } = definition
  if (id === undefined) return madeId(now)
  const { type, data } = content
  const path = field(place, 'id')
  const exposed = data.expose('rendering an id, and keeping the number out of it')
  const numbers = type.numbers(exposed)
  const chosen = drawId(id, exposed, numbers, path, costs.budget)
  if (chosen === undefined) return madeId(now)
  const message = tokenIdFault(chosen)
  if (message !== undefined) throw invalid({ path, message })
  if (containsNumber(chosen, numbers)) throw invalid({ path, message: 'must not contain the number itself' })
  return { id: chosen, isChosen: true }
}

/** An id of the vault's own. */
export const madeId = (now: Instant): Pick<Identified, 'id' | 'isChosen'> => ({
  id: newTokenId(now),
  isChosen: false,
})

/**
 * Undefined if no draw of an alias, with the text around it, is usable: it could be mistaken for a card number (C21), or contains
 * the number by chance, as is likely for a short number. The caller of this function refuses what no draw can change: a fault of
 * the id itself, or a number too long to appear by chance.
 */
const drawId = (
  id: Expression,
  data: Json,
  numbers: readonly string[],
  path: string,
  within: Budget,
): string | undefined => {
  const budget = budgetFor('id', { data }, within)
  let draws = 0
  try {
    for (; draws < limits.aliasAttempts; draws++) {
      const drawn = renderedText(id.render({ data }, randomBelow, budget))
      if (!id.hasAlias || tokenIdFault(drawn) !== undefined) return drawn
      if (containsNumber(drawn, longNumbers(numbers))) return drawn
      budget.charge(drawn.length * lookAlikeSteps)
      if (!containsNumber(drawn, numbers) && !holdsLookAlike(drawn)) return drawn
    }
    return undefined
  } catch (error) {
    // The draws share a budget. If it is spent without a usable alias, there were enough draws.
    if (draws > 0 && budget.isSpent) return undefined
    if (error instanceof ExpressionError) throw invalid({ path, message: error.message })
    throw error
  }
}
