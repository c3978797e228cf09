import type { CreateToken } from '../contract/token-schemas.ts'
import { type Issue, invalid } from '../domain/errors.ts'
import type { JsonObject } from '../domain/json/json.ts'
import { readDefinition } from '../domain/tokens/token-definition.ts'
import { createTokens } from './tokens/create-tokens.ts'
import { viewCreated } from './tokens/view-write.ts'
import type { Caller, Vault } from './vault/vault.ts'

/** §4.2 */
export const createToken = (vault: Vault, caller: Caller, body: CreateToken): Promise<JsonObject> => {
  const issues: Issue[] = []
  const definition = readDefinition(body, '', vault.clock(), issues)
  // Not thrown, nor awaited: this would be one more promise on the way of each create.
  if (definition === undefined) return Promise.reject(invalid(...issues))
  return createTokens(vault, caller, [definition], ([created]) => {
    if (created === undefined) throw new Error('a create made nothing')
    return viewCreated(vault, caller, created)
  })
}
