import { readTransform, writeTransform } from '../../domain/access/access.ts'
import type { Transform } from '../../domain/access/application.ts'
import type { Permission } from '../../domain/access/permissions.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { rowLogName } from '../../domain/tampered-error.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { Token } from '../../domain/tokens/token.ts'
import { viewToken, viewUnreadable } from '../../domain/tokens/token-view.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import type { CreatedToken } from './create-tokens.ts'

/** Shows a token in an answer. If its mask takes too much work, the log says so; the caller just sees no mask. */
export const showToken = (
  { log }: Pick<Vault, 'log'>,
  token: Token,
  transform: Transform,
  now: Instant,
): JsonObject =>
  viewToken(token, transform, now, () => {
    const { id, tenantId } = token
    log.info(
      { row: rowLogName({ kind: 'token', id, tenantId }) },
      'a mask takes too much work and shows nothing',
    )
  })

/** The answer to a create or an update (C12, C15). */
const viewWritten = (vault: Vault, caller: Caller, permission: Permission, token: Token): JsonObject =>
  showToken(vault, token, writeTransform(caller.application, permission, token), vault.clock())

/** Shows another token that stands for the same value. A caller that may not read it learns only that it exists. */
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
