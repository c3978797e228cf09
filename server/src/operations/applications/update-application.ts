import type { UpdateApplication } from '../../contract/applications/schemas.ts'
import { type Application, viewApplication } from '../../domain/access/application.ts'
import { readHeld } from '../../domain/access/application-definition.ts'
import { grantsOf } from '../../domain/acts/grants.ts'
import { modifiedNow } from '../../domain/authorship.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { requireGrantingKey, requireOwnPermissions } from '../grants/grant-checks.ts'
import { sealApplication } from '../grants/grant-rows.ts'
import type { Grants } from '../grants/load-grants.ts'
import { applicationOf } from '../grants/load-grants.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'

/** C29: replaces the name. If permissions or rules are given, replaces both; otherwise both stay. */
export const updateApplication = (
  vault: Vault,
  caller: Caller,
  id: string,
  body: UpdateApplication,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const decide = (grants: Grants): Revision<JsonObject> => {
    const application = applicationOf(grants, id, caller.act)
    const issues: Issue[] = []
    if (body.type !== undefined && body.type !== application.type)
      issues.push({ path: 'type', message: 'cannot be changed' })
    const isGranting = body.permissions !== undefined || body.rules !== undefined
    const granted = isGranting
      ? readHeld(application.type, body, vault.destinationPorts, issues)
      : application
    requireNone(issues)
    if (isGranting)
      requireOwnPermissions(caller, { type: application.type, permissions: granted.permissions })
    const updated: Application = {
      ...application,
      name: body.name,
      permissions: granted.permissions,
      rules: granted.rules,
      modifiedBy: caller.application.id,
      modifiedAt: modifiedNow(application, vault.clock()),
    }
    const applications = grants.applications.map(other => (other.id === id ? updated : other))
    requireGrantingKey({ before: grants, after: { ...grants, applications } }, vault.clock())
    return {
      effects: [{ kind: 'putApplication', id, sealed: sealApplication(vault.vaultKeys, updated) }],
      answer: viewApplication(updated),
      record: {
        entityId: id,
        fields: Object.keys(body),
        before: grantsOf(application),
        after: grantsOf(updated),
      },
    }
  }
  return reviseTenant(vault, caller, decide, idempotent)
}
