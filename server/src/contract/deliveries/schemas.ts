import { eventTypes } from '../../domain/events/event-types.ts'
import { deliveryFaults } from '../../domain/webhooks/delivery.ts'
import { eventId } from '../path-parameters.ts'
import { choice } from '../schema.ts'
import { CursorPagination } from '../tokens/schemas.ts'
import { Type } from '../type.ts'

const outcome = {
  status: Type.Optional(
    Type.Integer({ examples: [503], description: "The receiver's answer, if it came that far." }),
  ),
  error: Type.Optional(
    choice(deliveryFaults, {
      examples: ['status'],
      description:
        'What it failed of: a forbidden address, a name that does not resolve, a connection that was not made or broke, TLS, time, or a status other than 2xx.',
    }),
  ),
  ms: Type.Integer({ examples: [81], description: 'How long it took.' }),
}

/** E3. */
export const WebhookTestResult = Type.Object(outcome)

/** E5. */
export const FailedDelivery = Type.Object({
  id: Type.String({ examples: ['019c9f1e-6a02-7000-8000-5b1e87b9c331'] }),
  event_id: Type.String({ examples: [eventId.example] }),
  type: choice(eventTypes),
  attempts: Type.Array(Type.Object({ at: Type.String({ format: 'date-time' }), ...outcome })),
  next_attempt_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Absent after the last attempt.' }),
  ),
})

export const FailedDeliveryPage = Type.Object({
  pagination: CursorPagination,
  data: Type.Array(FailedDelivery),
})
