import { proxyOf } from '../../domain/acts/grants.ts'
import { proxyIn } from '../grants/load-grants.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** U18: the proxy is gone at once, and its key with it. */
export const deleteProxy = async (vault: Vault, caller: Caller, id: string): Promise<void> => {
  await reviseTenant(vault, caller, grants => {
    const { resource } = proxyIn(grants, id, caller.act)
    return {
      effects: [{ kind: 'deleteResource', of: 'proxy', id }],
      answer: null,
      record: { entityId: id, before: proxyOf(resource) },
    }
  })
}
