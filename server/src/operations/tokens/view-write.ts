import type { Permission } from '../../domain/access/permissions.ts'
import { readTransform, writeTransform } from '../../domain/access/transforms.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import type { Token } from '../../domain/tokens/token.ts'
import { viewUnreadable } from '../../domain/tokens/token-view.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import type { CreatedToken } from './create-tokens.ts'
import { showToken } from './show-token.ts'

/** The answer to a create or an update (C12, C15). */
const viewWritten = (vault: Vault, caller: Caller, permission: Permission, token: Token): JsonObject =>
  showToken(vault, token, writeTransform(caller.application, permission, token), vault.clock())

/** Another token that stands for the same value. A caller that may not read it learns only that it exists. */
export const viewMatch = (vault: Vault, caller: Caller, permission: Permission, match: Token): JsonObject =>
  readTransform(caller.application, match.containers) === undefined
    ? viewUnreadable(match, writeTransform(caller.application, permission, match))
    : viewWritten(vault, caller, permission, match)

export const viewCreated = (
  vault: Vault,
  caller: Caller,
  { token, deduplicated }: CreatedToken,
): JsonObject => ({
  ...(deduplicated ? viewMatch : viewWritten)(vault, caller, 'token:create', token),
  _extras: { deduplicated },
})
