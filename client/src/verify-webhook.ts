import { WebhookInvalidError } from './errors.ts'
import { parse } from './exact-json.ts'
import type { Event } from './generated/types.ts'

export type Delivery = {
  /** The secret that the vault showed (`whsec_…`); while it is being replaced, both. */
  readonly secret: string | readonly string[]
  /** Those of the request. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** As it arrived: parsed and written again, it would have another signature. */
  readonly body: string | Uint8Array<ArrayBuffer>
  /** How old, or how far ahead, a delivery may be. Default: five minutes. */
  readonly toleranceMs?: number
  /** Milliseconds since 1970. Default: now. */
  readonly now?: number
}

/** What a delivery says. The same event can arrive twice, with the same id. */
export type DeliveredEvent = { readonly event: Event; readonly delivered_at: string }

/** A delivery has one for each secret in force, so two. */
const signaturesMax = 8

/** Resolves with the event if the vault signed it for you just now (Standard Webhooks), and throws WebhookInvalidError otherwise. */
export const verifyWebhook = async ({
  secret,
  headers,
  body,
  toleranceMs = 300_000,
  now = Date.now(),
}: Delivery): Promise<DeliveredEvent> => {
  const id = headerIn(headers, 'webhook-id')
  const timestamp = headerIn(headers, 'webhook-timestamp')
  const signatures = headerIn(headers, 'webhook-signature')
    .split(' ')
    .filter(text => text.startsWith('v1,'))
    .slice(0, signaturesMax)
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookInvalidError('The webhook-timestamp is no number.')
  if (Math.abs(now - Number(timestamp) * 1_000) > toleranceMs)
    throw new WebhookInvalidError('The webhook-timestamp is too far from now.')
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  for (const text of [secret].flat()) {
    const key = await crypto.subtle.importKey('raw', secretBytes(text), algorithm, false, ['verify'])
    // Compares in constant time.
    for (const signature of signatures)
      if (await crypto.subtle.verify('HMAC', key, fromBase64(signature.slice(3)), signed))
        return parse(new TextDecoder().decode(bytes)) as DeliveredEvent
  }
  throw new WebhookInvalidError('No signature is made with the secret.')
}

const algorithm = { name: 'HMAC', hash: 'SHA-256' }

const headerIn = (headers: Delivery['headers'], name: string): string => {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  const [first] = [value].flat()
  if (!first) throw new WebhookInvalidError(`There is no ${name}.`)
  return first
}

const secretBytes = (secret: string): Uint8Array<ArrayBuffer> => {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''))
  // An empty key would be everybody's.
  if (bytes.length < 16) throw new TypeError('a secret of a webhook begins with whsec_')
  return bytes
}

/** Empty if it is no base64. */
const fromBase64 = (text: string): Uint8Array<ArrayBuffer> => {
  try {
    return Uint8Array.from(atob(text), character => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}

const joined = (head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(head.length + tail.length)
  bytes.set(head)
  bytes.set(tail, head.length)
  return bytes
}
