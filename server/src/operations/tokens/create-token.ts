import type { CreateToken } from '../../contract/tokens/schemas.ts'
import { type Issue, invalid } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { RequestCosts } from '../../domain/tokens/request-costs.ts'
import { readDefinition } from '../../domain/tokens/token-definition.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { type CreatedToken, createTokens } from './create-tokens.ts'
import { viewCreated } from './show-token.ts'

/** §4.2 */
export const createToken = async (
  vault: Vault,
  caller: Caller,
  body: CreateToken,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const issues: Issue[] = []
  const definition = readDefinition(body, '', vault.clock(), issues, new RequestCosts(body.data))
  if (definition === undefined) throw invalid(...issues)
  const answerShape = {
    show: (created: CreatedToken) => viewCreated(vault, caller, created),
    answer: ([token]: readonly JsonObject[]) => {
      if (token === undefined) throw new Error('a create made nothing')
      return token
    },
  }
  return await createTokens(vault, caller, [definition], answerShape, idempotent)
}
