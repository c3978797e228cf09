import type { CreateApiKey } from '../../contract/applications/schemas.ts'
import { type ApiKeyGrant, isLive, viewApiKey, withoutKey } from '../../domain/access/application.ts'
import { grantsOf } from '../../domain/acts/grants.ts'
import { type Issue, invalid, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { formatExpiry, readExpiry } from '../../domain/time/date-time.ts'
import { requireOwnPermissions } from '../grants/grant-checks.ts'
import type { Grants } from '../grants/load-grants.ts'
import { applicationOf } from '../grants/load-grants.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { newApiKey } from './new-api-key.ts'

/** C29: adds a key and keeps the live ones, so that keys can be rotated without a gap. */
export const createApiKey = async (
  vault: Vault,
  caller: Caller,
  applicationId: string,
  body: CreateApiKey,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const now = vault.clock()
  const issues: Issue[] = []
  const expiry =
    body.expires_at === undefined ? undefined : readExpiry(body.expires_at, 'expires_at', now, issues)
  requireNone(issues)
  const decide = (grants: Grants): Revision<JsonObject> => {
    const application = applicationOf(grants, applicationId)
    requireOwnPermissions(caller, application)
    const living = grants.apiKeys.filter(({ row }) => row.applicationId === applicationId && isLive(row, now))
    if (living.length >= limits.liveKeysPerApplication)
      throw invalid({
        path: '$',
        message: `the application has ${limits.liveKeysPerApplication} live keys already; revoke one first`,
      })
    const grant: ApiKeyGrant = {
      createdBy: caller.application.id,
      createdAt: now,
      ...(expiry && { expiry }),
    }
    const key = newApiKey(vault.vaultKeys, application, grant)
    const answer = { ...viewApiKey(key.row.id, grant, null), key: key.text }
    return {
      effects: [{ kind: 'putApiKey', row: key.row }],
      answer,
      kept: withoutKey(answer),
      record: {
        entityId: key.row.id,
        after: {
          application_id: applicationId,
          ...grantsOf(application),
          ...(expiry && { expires_at: formatExpiry(expiry) }),
        },
      },
    }
  }
  return reviseTenant(vault, caller, decide, idempotent)
}
