import { grantsOf } from '../../domain/acts/grants.ts'
import { requireManagementKey } from '../grants/grant-checks.ts'
import { applicationOf } from '../grants/load-grants.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** C29: the application and its keys are gone at once. */
export const deleteApplication = async (vault: Vault, caller: Caller, id: string): Promise<void> => {
  await reviseTenant(vault, caller, grants => {
    const application = applicationOf(grants, id, caller.act)
    const applications = grants.applications.filter(application => application.id !== id)
    requireManagementKey({ before: grants, after: { ...grants, applications } }, vault.clock())
    return {
      effects: [{ kind: 'deleteApplication', id }],
      answer: null,
      record: { entityId: id, before: grantsOf(application) },
    }
  })
}
