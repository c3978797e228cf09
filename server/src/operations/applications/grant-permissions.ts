import { type Application, viewApplication } from '../../domain/access/application.ts'
import { readHeld } from '../../domain/access/application-definition.ts'
import { grantsOf } from '../../domain/acts/grants.ts'
import { modifiedNow } from '../../domain/authorship.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { sealApplication } from '../grants/grant-rows.ts'
import { applicationOf, type Grants } from '../grants/load-grants.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/**
 * L9: the operator adds permissions to a management application. By C29 nobody else can grant what no application of the tenant holds
 * yet, such as a permission of a later release.
 */
export const grantPermissions = (
  vault: Vault,
  operator: Caller,
  id: string,
  wanted: readonly string[],
): Promise<JsonObject> => {
  const issues: Issue[] = []
  const { permissions } = readHeld('management', { permissions: wanted }, vault.destinationPorts, issues)
  if (wanted.length === 0) issues.push({ path: 'permissions', message: 'must name some' })
  const decide = (grants: Grants): Revision<JsonObject> => {
    const application = applicationOf(grants, id, operator.act)
    if (application.type !== 'management')
      issues.push({ path: '$', message: 'only management applications are granted permissions this way' })
    requireNone(issues)
    const updated: Application = {
      ...application,
      permissions: [...new Set([...application.permissions, ...permissions])],
      modifiedBy: operator.application.id,
      modifiedAt: modifiedNow(application, vault.clock()),
    }
    return {
      effects: [{ kind: 'putApplication', id, sealed: sealApplication(vault.vaultKeys, updated) }],
      answer: viewApplication(updated),
      record: {
        entityId: id,
        fields: ['permissions'],
        before: grantsOf(application),
        after: grantsOf(updated),
      },
    }
  }
  return reviseTenant(vault, operator, decide)
}
