import type { Transform } from '../../domain/access/application.ts'
import { getOwn, type Json, type JsonObject, setOwn } from '../../domain/json/json.ts'
import { cardDetails } from '../../domain/rendering/card-details.ts'
import type { ShownToken } from '../../domain/rendering/render.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { Token } from '../../domain/tokens/token.ts'
import { wholeData } from '../../domain/tokens/transients.ts'
import { showToken } from '../tokens/show-token.ts'
import type { Vault } from '../vault/vault.ts'

/** What expressions may take from a token under this transform. The transform comes first: filters see nothing else (U3). */
export const shownToken = (
  vault: Pick<Vault, 'log'>,
  token: Token,
  transform: Transform,
  now: Instant,
): ShownToken => {
  let object: JsonObject | undefined
  const view = (): JsonObject => {
    object ??= showToken(vault, token, transform, now)
    return object
  }
  return {
    // The view would render the mask as well, which takes as long as opening the token.
    data: () => (transform === 'reveal' ? wholeData(token, now) : getOwn(view(), 'data')),
    object: () => withEnrichments(present(view()), token, transform),
    mayBeCut: true,
  }
}

/** A view has its absent fields as `undefined`, which filters would take for values. */
const present = (view: JsonObject): JsonObject => {
  const object: JsonObject = {}
  for (const [field, value] of Object.entries(view)) if (value !== undefined) setOwn(object, field, value)
  return object
}

/** U6. */
const withEnrichments = (object: JsonObject, { type, data }: Token, transform: Transform): Json => {
  const number =
    transform === 'reveal' ? type.cardNumber?.read(data.expose('enriching a card shown in full')) : undefined
  return number === undefined ? object : { ...object, enrichments: { card_details: cardDetails(number) } }
}
