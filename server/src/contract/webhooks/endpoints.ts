import { eventTypes } from '../../domain/events/event-types.ts'
import { declareEndpoints } from '../endpoint.ts'
import { pageParameters } from '../paging.ts'
import { webhookId } from '../path-parameters.ts'
import { choice } from '../schema.ts'
import { Type } from '../type.ts'
import { CreateWebhook, CreateWebhookSecret, WebhookPage, WebhookView } from './schemas.ts'

const logs = { entityType: 'webhook' } as const

const ledger = {
  name: 'Ledger',
  url: 'https://hooks.example.com/strongroom',
  events: ['token.created', 'token.deleted', 'application.*'],
}

export const webhookEndpoints = declareEndpoints({
  listWebhooks: {
    summary: 'List webhooks, newest first',
    tag: 'Webhooks',
    method: 'GET',
    path: '/webhooks',
    permission: 'webhook:read',
    logs,
    query: pageParameters,
    reply: WebhookPage,
    status: 200,
  },

  createWebhook: {
    summary: 'Create a webhook; its secret is shown once',
    tag: 'Webhooks',
    method: 'POST',
    path: '/webhooks',
    permission: 'webhook:create',
    logs,
    changes: true,
    body: CreateWebhook,
    nullIsAbsentExcept: [],
    examples: { ledger },
    reply: WebhookView,
    status: 201,
    location: '/webhooks/:id',
  },

  listEventTypes: {
    summary: 'List the types of events',
    tag: 'Webhooks',
    method: 'GET',
    path: '/webhooks/event-types',
    permission: 'webhook:read',
    logs,
    reply: Type.Array(choice(eventTypes)),
    status: 200,
  },

  getWebhook: {
    summary: 'Read a webhook, without its secrets',
    tag: 'Webhooks',
    method: 'GET',
    path: '/webhooks/:id',
    permission: 'webhook:read',
    logs,
    params: { id: webhookId },
    reply: WebhookView,
    status: 200,
  },

  updateWebhook: {
    summary: 'Replace all of a webhook but its secrets',
    tag: 'Webhooks',
    method: 'PUT',
    path: '/webhooks/:id',
    permission: 'webhook:update',
    logs,
    changes: true,
    params: { id: webhookId },
    body: CreateWebhook,
    nullIsAbsentExcept: [],
    examples: { paused: { ...ledger, status: 'disabled' } },
    reply: WebhookView,
    status: 200,
  },

  deleteWebhook: {
    summary: 'Delete a webhook; nothing more is sent to it',
    tag: 'Webhooks',
    method: 'DELETE',
    path: '/webhooks/:id',
    permission: 'webhook:delete',
    logs,
    changes: true,
    params: { id: webhookId },
    status: 204,
  },

  createWebhookSecret: {
    summary: 'Make a new secret for a webhook; the one before signs as well for a while',
    tag: 'Webhooks',
    method: 'POST',
    path: '/webhooks/:id/secret',
    permission: 'webhook:update',
    logs,
    changes: true,
    params: { id: webhookId },
    bodyIsOptional: true,
    body: CreateWebhookSecret,
    nullIsAbsentExcept: [],
    examples: { atOnce: { grace_hours: 0 } },
    reply: WebhookView,
    status: 201,
  },
})
