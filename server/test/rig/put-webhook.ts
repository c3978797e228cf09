import assert from 'node:assert/strict'
import { newUuid } from '../../src/crypto/uuid.ts'
import type { VaultEvent } from '../../src/domain/events/event.ts'
import { formatInstant } from '../../src/domain/time/instant.ts'
import { deliveryIdOf, type FailedDelivery } from '../../src/domain/webhooks/delivery.ts'
import type { Webhook } from '../../src/domain/webhooks/webhook.ts'
import { deliveryRow } from '../../src/operations/delivering/delivery-rows.ts'
import { webhookRow } from '../../src/operations/grants/resource-rows.ts'
import type { Effect } from '../../src/store/write-set.ts'
import type { TestVault } from './test-vault.ts'

const revise = async (vault: TestVault, tenantId: string, effect: Effect): Promise<void> => {
  const tenant = await vault.tenantNumber(tenantId)
  const row = await vault.store.getTenant(tenant)
  assert.ok(row)
  const guarded = [{ kind: 'reviseTenant', ifRevision: row.revision }] as const
  const outcome = await vault.store.commit({ tenant, guarded, effects: [effect], counters: [], log: null })
  assert.ok(outcome.committed)
}

/** Stores a webhook past the interface, which tells nobody its secret a second time. */
export const putWebhook = (vault: TestVault, tenantId: string, webhook: Webhook): Promise<void> =>
  revise(vault, tenantId, {
    kind: 'putResource',
    row: webhookRow(vault.service.vault.vaultKeys, tenantId, webhook),
  })

export const removeWebhook = (vault: TestVault, tenantId: string, id: string): Promise<void> =>
  revise(vault, tenantId, { kind: 'deleteResource', of: 'webhook', id })

/** A webhook whose port is not allowed: nothing is looked up or sent. */
export const unreachable = { url: 'https://hooks.partner.example:9/' }

/** An event that could not be delivered to it. Returns the delivery's id. */
export const putFailedDelivery = async (
  vault: TestVault,
  tenantId: string,
  webhookId: string,
  more: Partial<FailedDelivery> = {},
): Promise<string> => {
  const tenant = await vault.tenantNumber(tenantId)
  const id = `evt_${newUuid()}`
  const event: VaultEvent = {
    id,
    type: 'token.deleted',
    timestamp: formatInstant(vault.now),
    tenant_id: tenantId,
    sequence: '0.1',
    data: { token: { id: 'a-token', type: 'token', containers: ['/general/high/'] }, actor: { type: 'job' } },
  }
  const attempts = [{ at: vault.now, ms: 12, status: 500, error: 'status' as const }]
  const owner = { tenantNumber: tenant, keys: { tenantId } }
  const row = deliveryRow(
    vault.service.vault,
    owner,
    webhookId,
    { event, attempts, ...more },
    vault.now + 5_000,
  )
  const effects = [{ kind: 'putDelivery', row }] as const
  const outcome = await vault.store.commit({ tenant, guarded: [], effects, counters: [], log: null })
  assert.ok(outcome.committed)
  return deliveryIdOf(id)
}
