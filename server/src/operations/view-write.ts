import type { JsonObject } from '../domain/json.ts'
import type { Permission } from '../domain/permissions.ts'
import type { Token } from '../domain/token.ts'
import { viewToken, viewUnreadable } from '../domain/token-view.ts'
import { readTransform, writeTransform } from './access-checks.ts'
import type { Caller, Vault } from './vault.ts'

/** The answer to a create or an update (C12, C15). */
export const viewWritten = (vault: Vault, caller: Caller, permission: Permission, token: Token): JsonObject =>
  viewToken(token, writeTransform(caller, permission, token), vault.clock())

/** Another token that stands for the same value; a caller that may not read it learns that it exists, no more. */
export const viewMatch = (vault: Vault, caller: Caller, permission: Permission, match: Token): JsonObject =>
  readTransform(caller, match.containers) === undefined
    ? viewUnreadable(match, writeTransform(caller, permission, match))
    : viewWritten(vault, caller, permission, match)
