import { randomBelow } from '../../crypto/random.ts'
import { newTokenId } from '../../crypto/token-id.ts'
import { invalid } from '../../domain/errors.ts'
import type { Allowance } from '../../domain/expressions/budget.ts'
import type { Expression } from '../../domain/expressions/expression.ts'
import { ExpressionError } from '../../domain/expressions/expression-error.ts'
import { holdsLookAlike } from '../../domain/expressions/filters/card-look-alike.ts'
import { renderedText } from '../../domain/expressions/rendered-text.ts'
import { budgetFor } from '../../domain/expressions/run.ts'
import type { Json } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { field } from '../../domain/place.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { containsNumber, tokenIdFault } from '../../domain/tokens/token-id.ts'

/** A definition and the id that its token gets. */
export type Identified = { readonly definition: TokenDefinition; readonly id: string }

/** C16: an id of the vault's own, a literal one, or what the expression renders. */
export const chooseId = (definition: TokenDefinition, now: Instant): string => {
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
      const drawn = renderedText(id.render({ data }, randomBelow, budgetFor('id', { data }, allowance)))
      if (!id.hasAlias || !holdsLookAlike(drawn)) return drawn
    }
    return undefined
  } catch (error) {
    if (error instanceof ExpressionError) throw invalid({ path, message: error.message })
    throw error
  }
}
