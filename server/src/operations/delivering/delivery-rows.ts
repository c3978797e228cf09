import { openLogState, sealLogState } from '../../crypto/cursor.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { FailedDelivery } from '../../domain/webhooks/delivery.ts'
import type { DeliveryRow, WithoutTenant } from '../../store/rows.ts'
import { type EventPosition, positionFrom, writersOf } from '../events/event-position.ts'
import type { LogOwner } from '../log/log-owner.ts'
import type { Vault } from '../vault/vault.ts'

// What is kept of deliveries is sealed under the key of all logs: it is made of their records, and holds nothing else.

type Sealing = Pick<Vault, 'vaultKeys'>

/** How far a webhook has come. */
export type Progress = {
  readonly position: EventPosition
  /** Since when nothing but failure has come back. */
  readonly failingSince?: Instant | undefined
}

/** The row that says how far a webhook has come. */
export const progressId = ''

const boundTo = (webhookId: string, id: string): string => `delivery ${webhookId} ${id}`

const rowOf = (
  { vaultKeys }: Sealing,
  { keys: { tenantId } }: LogOwner,
  { webhookId, id, dueAt }: Pick<DeliveryRow, 'webhookId' | 'id' | 'dueAt'>,
  state: unknown,
): WithoutTenant<DeliveryRow> => ({
  webhookId,
  id,
  dueAt,
  sealed: sealLogState(vaultKeys, { tenantId, boundTo: boundTo(webhookId, id) }, state),
})

const opened = (
  { vaultKeys }: Sealing,
  { keys: { tenantId } }: LogOwner,
  { webhookId, id, sealed }: Pick<DeliveryRow, 'webhookId' | 'id' | 'sealed'>,
): unknown => {
  const state = openLogState(vaultKeys, { tenantId, boundTo: boundTo(webhookId, id) }, sealed)
  if (state === undefined) throw new TamperedError({ kind: 'delivery', id: `${webhookId} ${id}` })
  return state
}

type StoredProgress = { readonly writers: ReturnType<typeof writersOf>; readonly failingSince?: Instant }

export const progressRow = (
  vault: Sealing,
  owner: LogOwner,
  webhookId: string,
  { position, failingSince }: Progress,
): WithoutTenant<DeliveryRow> =>
  rowOf(vault, owner, { webhookId, id: progressId, dueAt: null }, {
    writers: writersOf(position),
    ...(failingSince !== undefined && { failingSince }),
  } satisfies StoredProgress)

export const openProgress = (
  vault: Sealing,
  owner: LogOwner,
  row: Pick<DeliveryRow, 'webhookId' | 'id' | 'sealed'>,
): Progress => {
  const { writers, ...rest } = opened(vault, owner, row) as StoredProgress
  return { position: positionFrom(writers), ...rest }
}

export const deliveryRow = (
  vault: Sealing,
  owner: LogOwner,
  webhookId: string,
  delivery: FailedDelivery,
  dueAt: Instant | undefined,
): WithoutTenant<DeliveryRow> =>
  rowOf(vault, owner, { webhookId, id: delivery.event.id, dueAt: dueAt ?? null }, delivery)

export const openDelivery = (
  vault: Sealing,
  owner: LogOwner,
  row: Pick<DeliveryRow, 'webhookId' | 'id' | 'sealed'>,
): FailedDelivery => opened(vault, owner, row) as FailedDelivery
