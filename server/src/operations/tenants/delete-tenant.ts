import { settingsOf } from '../../domain/acts/grants.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/**
 * §4.9, C31: when this returns, the tenant's keys are destroyed and its API keys no longer work. A job removes its rows later.
 */
export const deleteTenant = async (vault: Vault, caller: Caller): Promise<void> => {
  await reviseTenant(vault, caller, ({ tenant }) => ({
    effects: [{ kind: 'deleteTenant' }],
    answer: null,
    record: { entityId: tenant.id, before: settingsOf(tenant) },
  }))
  vault.keyring.forget(caller.tenantNumber)
}
