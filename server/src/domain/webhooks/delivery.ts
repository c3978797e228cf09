import type { VaultEvent } from '../events/event.ts'
import type { JsonObject } from '../json/json.ts'
import { formatInstant, type Instant } from '../time/instant.ts'

/** What a delivery failed of (E3). `dns`: also a name that does not answer; `connect`: also a connection that breaks. */
export type DeliveryFault = (typeof deliveryFaults)[number]
export const deliveryFaults = ['address', 'dns', 'connect', 'tls', 'timeout', 'status'] as const

/** One attempt at a delivery. A status that is not 2xx is a fault, too. */
export type Attempt = {
  readonly at: Instant
  readonly ms: number
  readonly status?: number
  readonly error?: DeliveryFault
}

/** An event that could not be delivered at first, as it is kept. */
export type FailedDelivery = {
  readonly event: VaultEvent
  readonly attempts: readonly Attempt[]
  /** Until then it is in flight, if the node lives. */
  readonly busyUntil?: Instant
}

const prefix = 'dlv_'

/** The id of a failed delivery follows from its event, of which a webhook has one. */
export const deliveryIdOf = (eventId: string): string => `${prefix}${eventId.slice('evt_'.length)}`
export const eventIdOf = (deliveryId: string): string | undefined =>
  deliveryId.startsWith(prefix) ? `evt_${deliveryId.slice(prefix.length)}` : undefined

export const viewAttempt = ({ at, status, error, ms }: Attempt): JsonObject => ({
  at: formatInstant(at),
  ...(status !== undefined && { status }),
  ...(error !== undefined && { error }),
  ms,
})

/** A failed delivery as answers show it (E5). */
export const viewDelivery = ({ event, attempts }: FailedDelivery, dueAt: Instant | null): JsonObject => ({
  id: deliveryIdOf(event.id),
  event_id: event.id,
  type: event.type,
  attempts: attempts.map(viewAttempt),
  ...(dueAt !== null && { next_attempt_at: formatInstant(dueAt) }),
})
