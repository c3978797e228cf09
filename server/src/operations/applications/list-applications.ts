import type { ApplicationListQuery } from '../../contract/applications/query.ts'
import { viewApplication } from '../../domain/access/application.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { numberedPage } from '../finding/page.ts'
import { loadGrants } from '../grants/load-grants.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** C29: newest first. Reads all applications, because a tenant has few. */
export const listApplications = async (
  vault: Vault,
  caller: Caller,
  { page, size, ids, types }: ApplicationListQuery,
): Promise<JsonObject> => {
  const { grants } = await loadGrants(vault, caller)
  const found = grants.applications.filter(
    ({ id, type }) => (ids?.includes(id) ?? true) && (types?.includes(type) ?? true),
  )
  return numberedPage(found, { page, size }, viewApplication)
}
