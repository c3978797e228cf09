import { shownByWrite } from '../../domain/access.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Permission } from '../../domain/permissions.ts'
import type { Token } from '../../domain/token.ts'
import { replacesData, type TokenPatch } from '../../domain/token-patch.ts'
import { viewToken, viewUnreadable } from '../../domain/token-view.ts'
import type { Caller, Vault } from '../vault.ts'
import { readTransform, writeTransform } from './access-checks.ts'
import type { CreatedToken } from './create-tokens.ts'

/** The answer to a create or an update (C12, C15). */
export const viewWritten = (vault: Vault, caller: Caller, permission: Permission, token: Token): JsonObject =>
  viewToken(token, writeTransform(caller, permission, token), vault.clock())

/** Data that the caller has just sent whole is no secret to them, whatever mask they chose (§2.1.22). */
export const viewUpdated = (vault: Vault, caller: Caller, token: Token, patch: TokenPatch): JsonObject =>
  replacesData(patch)
    ? viewToken(token, shownByWrite(caller.application, 'token:update', token.containers), vault.clock())
    : viewWritten(vault, caller, 'token:update', token)

/** Another token that stands for the same value; a caller that may not read it learns that it exists, no more. */
export const viewMatch = (vault: Vault, caller: Caller, permission: Permission, match: Token): JsonObject =>
  readTransform(caller, match.containers) === undefined
    ? viewUnreadable(match, writeTransform(caller, permission, match))
    : viewWritten(vault, caller, permission, match)

export const viewCreated = (
  vault: Vault,
  caller: Caller,
  { token, deduplicated }: CreatedToken,
): JsonObject => ({
  ...(deduplicated ? viewMatch : viewWritten)(vault, caller, 'token:create', token),
  _extras: { deduplicated },
})
