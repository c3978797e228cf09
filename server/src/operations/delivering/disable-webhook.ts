import type { ActKind } from '../../domain/acts/act.ts'
import type { Effect } from '../../store/write-set.ts'
import { loadGrants } from '../grants/load-grants.ts'
import { webhookRow } from '../grants/resource-rows.ts'
import { jobAct } from '../log/acting.ts'
import type { LogOwner } from '../log/log-owner.ts'
import type { Vault } from '../vault/vault.ts'
import { commitSet } from '../writing/commit.ts'
import { retryOnConflict } from '../writing/retry-on-conflict.ts'

const kind: ActKind = { operation: 'disable-webhook', entityType: 'webhook' }

/** E4: what its receiver, or five days of failure, asks for. Its record says why, and so does the webhook. */
export const disableWebhook = (
  vault: Vault,
  { tenantNumber, keys: { tenantId } }: LogOwner,
  webhookId: string,
  reason: 'gone' | 'failing',
): Promise<void> =>
  retryOnConflict(vault, `${tenantNumber}:`, async () => {
    const { grants, revision } = await loadGrants(vault, { tenantNumber, tenant: { id: tenantId } })
    const webhook = grants.webhooks.find(({ resource }) => resource.id === webhookId)?.resource
    if (webhook?.status !== 'enabled') return { outcome: { committed: true }, answer: undefined }
    const disabled = { ...webhook, status: 'disabled', disabledBecause: reason } as const
    const row = webhookRow(vault.vaultKeys, tenantId, disabled)
    const effects: Effect[] = [{ kind: 'putResource', row }]
    const act = jobAct(kind)
    act.says({
      entityId: webhookId,
      before: { status: 'enabled' },
      after: { status: 'disabled', disabled_because: reason },
    })
    const outcome = await commitSet(vault, {
      tenant: tenantNumber,
      guarded: [{ kind: 'reviseTenant', ifRevision: revision }],
      effects,
      counters: [],
      log: vault.acts.partOf({ tenantNumber, keys: { tenantId } }, act),
    })
    return { outcome, answer: undefined }
  })
