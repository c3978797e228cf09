import type { DatabaseSync } from 'node:sqlite'
import type { Effects } from './appliers.ts'

type DeliveryEffect = 'putDelivery' | 'hastenDelivery' | 'dropDelivery' | 'dropDeliveries'

/** What is kept about the deliveries of webhooks. */
export const deliveryEffects = (database: DatabaseSync): Effects<DeliveryEffect> => {
  const put = database.prepare(
    `INSERT INTO deliveries (tenant, webhook_id, delivery_id, due_at, sealed) VALUES (?,?,?,?,?)
     ON CONFLICT DO UPDATE SET due_at = excluded.due_at, sealed = excluded.sealed`,
  )
  const hasten = database.prepare(
    'UPDATE deliveries SET due_at = ? WHERE tenant = ? AND webhook_id = ? AND delivery_id = ?',
  )
  const drop = database.prepare(
    'DELETE FROM deliveries WHERE tenant = ? AND webhook_id = ? AND delivery_id = ?',
  )
  const dropAll = database.prepare('DELETE FROM deliveries WHERE tenant = ? AND webhook_id = ?')
  return {
    putDelivery: (tenant, { row }) => {
      put.run(tenant, row.webhookId, row.id, row.dueAt, row.sealed)
    },
    hastenDelivery: (tenant, { webhookId, id, at }) => {
      hasten.run(at, tenant, webhookId, id)
    },
    dropDelivery: (tenant, { webhookId, id }) => {
      drop.run(tenant, webhookId, id)
    },
    dropDeliveries: (tenant, { webhookId }) => {
      dropAll.run(tenant, webhookId)
    },
  }
}
