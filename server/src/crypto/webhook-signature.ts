import { createHmac } from 'node:crypto'
import type { Secret } from '../domain/secret.ts'

const secretPrefix = 'whsec_'

/** What a receiver checks (Standard Webhooks): one signature for each secret, so that secrets can be changed without a gap. */
export const signWebhook = (
  secrets: readonly Secret<string>[],
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): string =>
  secrets
    .map(secret => {
      const key = Buffer.from(secret.expose('signing a delivery').slice(secretPrefix.length), 'base64')
      return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
    })
    .join(' ')
