import { grantsOf } from '../../domain/acts/grants.ts'
import { VaultError } from '../../domain/errors.ts'
import { requireManagementKey } from '../grants/grant-checks.ts'
import { applicationOf } from '../grants/load-grants.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** C29: requests with this key get 401 from now on. */
export const deleteApiKey = async (
  vault: Vault,
  caller: Caller,
  applicationId: string,
  id: string,
): Promise<void> => {
  await reviseTenant(vault, caller, grants => {
    const application = applicationOf(grants, applicationId)
    const apiKeys = grants.apiKeys.filter(({ row }) => row.id !== id || row.applicationId !== applicationId)
    if (apiKeys.length === grants.apiKeys.length) throw new VaultError('notFound')
    caller.act.finds(id)
    requireManagementKey({ before: grants, after: { ...grants, apiKeys } }, vault.clock())
    return {
      effects: [{ kind: 'deleteApiKey', applicationId, id }],
      answer: null,
      record: { entityId: id, before: { application_id: applicationId, ...grantsOf(application) } },
    }
  })
}
