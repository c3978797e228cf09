import { randomBytes } from 'node:crypto'

/** In the form of Standard Webhooks: the key of the signature in base64. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`
