import { lessRevealing, shownByWrite } from '../../domain/access.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Permission } from '../../domain/permissions.ts'
import type { Token } from '../../domain/token.ts'
import { replacesData, type TokenPatch } from '../../domain/token-patch.ts'
import { viewToken, viewUnreadable } from '../../domain/token-view.ts'
import type { Caller, Vault } from '../vault.ts'
import { readTransform, writeTransform } from './access-checks.ts'
import type { CreatedToken } from './create-tokens.ts'

/** The answer to a create or an update (C12, C15). */
const viewWritten = (vault: Vault, caller: Caller, permission: Permission, token: Token): JsonObject =>
  viewToken(token, writeTransform(caller, permission, token), vault.clock())

/**
 * Data that the caller has just sent whole is no secret to it, whatever mask it chose (§2.1.22). What was moved is
 * shown as little as where it was before (C13).
 */
export const viewUpdated = (
  vault: Vault,
  caller: Caller,
  before: Token,
  token: Token,
  patch: TokenPatch,
): JsonObject => {
  const shown = replacesData(patch)
    ? shownByWrite(caller.application, 'token:update', token.containers)
    : writeTransform(caller, 'token:update', token)
  const shownBefore = shownByWrite(caller.application, 'token:update', before.containers)
  return viewToken(token, lessRevealing(shown, shownBefore), vault.clock())
}

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
