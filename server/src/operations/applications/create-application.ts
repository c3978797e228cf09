import type { CreateApplication } from '../../contract/applications/schemas.ts'
import { newUuid } from '../../crypto/uuid.ts'
import { type Application, viewApplication, withoutKey } from '../../domain/access/application.ts'
import { readHeld } from '../../domain/access/application-definition.ts'
import { grantsOf } from '../../domain/acts/grants.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import type { Effect } from '../../store/write-set.ts'
import { requireOwnPermissions } from '../grants/grant-checks.ts'
import { sealApplication } from '../grants/grant-rows.ts'
import type { Grants } from '../grants/load-grants.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import { newApiKey } from '../keys/new-api-key.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'

/** C29: creates the application, with its first key on request. Only this answer contains the text of the key. */
export const createApplication = async (
  vault: Vault,
  caller: Caller,
  body: CreateApplication,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const issues: Issue[] = []
  const granted = readHeld(body.type, body, vault.destinationPorts, issues)
  requireNone(issues)
  requireOwnPermissions(caller, { type: body.type, permissions: granted.permissions })
  const decide = ({ tenant }: Grants): Revision<JsonObject> => {
    const now = vault.clock()
    const application: Application = {
      id: newUuid(),
      tenantId: tenant.id,
      name: body.name,
      type: body.type,
      ...granted,
      createdBy: caller.application.id,
      createdAt: now,
    }
    const putApplication: Effect = {
      kind: 'putApplication',
      id: application.id,
      sealed: sealApplication(vault.vaultKeys, application),
    }
    const view = viewApplication(application)
    const record = { entityId: application.id, after: grantsOf(application) }
    if (body.create_key === false) return { effects: [putApplication], answer: view, record }
    const key = newApiKey(vault.vaultKeys, application, { createdBy: caller.application.id, createdAt: now })
    const answer = { ...view, key: key.text }
    return {
      effects: [putApplication, { kind: 'putApiKey', row: key.row }],
      answer,
      kept: withoutKey(answer),
      record,
    }
  }
  return reviseTenant(vault, caller, decide, idempotent)
}
