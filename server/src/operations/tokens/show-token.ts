import type { Transform } from '../../domain/access/application.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { rowLogName } from '../../domain/tampered-error.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { Token } from '../../domain/tokens/token.ts'
import { viewToken } from '../../domain/tokens/token-view.ts'
import type { Vault } from '../vault/vault.ts'

/** A token for an answer. That its mask takes too much work is told to the log alone: to the caller it shows nothing. */
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
