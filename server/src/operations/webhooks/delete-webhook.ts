import { webhookOf } from '../../domain/acts/grants.ts'
import { webhookIn } from '../grants/load-grants.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** E3: nothing more is sent to it. */
export const deleteWebhook = async (vault: Vault, caller: Caller, id: string): Promise<void> => {
  await reviseTenant(vault, caller, grants => {
    const { resource } = webhookIn(grants, id, caller.act)
    return {
      effects: [
        { kind: 'deleteResource', of: 'webhook', id },
        { kind: 'dropDeliveries', webhookId: id },
      ],
      answer: null,
      record: { entityId: id, before: webhookOf(resource) },
    }
  })
}
