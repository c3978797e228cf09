import { declareEndpoints } from '../endpoint.ts'
import { deliveryId, webhookId } from '../path-parameters.ts'
import { deliveryPageParameters } from './query.ts'
import { FailedDelivery, FailedDeliveryPage, WebhookTestResult } from './schemas.ts'

export const deliveryEndpoints = declareEndpoints({
  testWebhook: {
    summary: 'Send a test to a webhook, and see how that went',
    tag: 'Events',
    method: 'POST',
    path: '/webhooks/:id/test',
    permission: 'webhook:update',
    logs: { entityType: 'webhook' },
    params: { id: webhookId },
    changes: true,
    reply: WebhookTestResult,
    status: 200,
  },

  listDeliveries: {
    summary: 'List events that could not be delivered at first',
    tag: 'Events',
    method: 'GET',
    path: '/webhooks/:id/deliveries',
    permission: 'webhook:read',
    logs: { entityType: 'webhook' },
    isPage: true,
    params: { id: webhookId },
    query: deliveryPageParameters,
    reply: FailedDeliveryPage,
    status: 200,
  },

  retryDelivery: {
    summary: 'Have a failed event delivered now',
    tag: 'Events',
    method: 'POST',
    path: '/webhooks/:id/deliveries/:deliveryId/retry',
    permission: 'webhook:update',
    logs: { entityType: 'webhook' },
    params: { id: webhookId, deliveryId },
    changes: true,
    reply: FailedDelivery,
    status: 202,
    problems: ['deliveryInFlight', 'webhookDisabled'],
  },
})
