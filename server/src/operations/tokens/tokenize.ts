import { endpoints } from '../../contract/endpoints.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import type { Json } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { RequestCosts } from '../../domain/tokens/request-costs.ts'
import { readDefinition, type TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { type Tokenizable, walkPayload } from '../../domain/tokens/tokenize-walk.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { type CreatedToken, createTokens } from './create-tokens.ts'
import { viewCreated } from './show-token.ts'

/** §4.1, C23: all or nothing. */
export const tokenize = async (
  vault: Vault,
  caller: Caller,
  payload: Json,
  idempotent?: Idempotent,
): Promise<Json> => {
  const { found, rebuild } = walkPayload(payload)
  const now = vault.clock()
  const issues: Issue[] = []
  const definitions: TokenDefinition[] = []
  const costs = new RequestCosts(payload)
  for (const item of found) {
    if (!caller.work.hasTurn) await caller.work.turn()
    const definition = toDefinition(item, now, issues, costs)
    if (definition !== undefined) definitions.push(definition)
    if (issues.length >= limits.errorsPerAnswer) break
  }
  requireNone(issues)
  const answerShape = {
    show: (created: CreatedToken, index: number): Json =>
      found[index]?.kind === 'definition' ? viewCreated(vault, caller, created) : created.token.id,
    answer: rebuild,
  }
  return createTokens(vault, caller, definitions, answerShape, idempotent)
}

const toDefinition = (
  item: Tokenizable,
  now: number,
  issues: Issue[],
  costs: RequestCosts,
): TokenDefinition | undefined => {
  if (item.kind === 'value')
    return readDefinition({ type: 'token', data: item.data }, item.place, now, issues, costs)
  const body = endpoints.createToken.checkBody(item.body, item.place, issues)
  return body && readDefinition(body, item.place, now, issues, costs)
}
