import { signWebhook } from '../../crypto/webhook-signature.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { readDestinationUrl } from '../../domain/outbound/destination-url.ts'
import { pace } from '../../domain/pace.ts'
import { formatInstant } from '../../domain/time/instant.ts'
import type { Attempt, DeliveryFault } from '../../domain/webhooks/delivery.ts'
import { readRetryAfter } from '../../domain/webhooks/schedule.ts'
import { liveSecrets, type Webhook } from '../../domain/webhooks/webhook.ts'
import type { Headers } from '../../outbound/call.ts'
import type { OutboundCall } from '../../outbound/outbound.ts'
import { OutboundError, type OutboundFailure } from '../../outbound/outbound-error.ts'
import type { Vault } from '../vault/vault.ts'

export type Sent = Attempt & { readonly retryAfterMs: number | undefined }

/** E4: 15 s in all. What an answer says beyond its head is not looked at. */
const limitsNow = (): OutboundCall['limits'] => ({
  totalMs: pace.deliveryMaxMs,
  dnsMs: 3_000,
  connectMs: 5_000,
  firstByteMs: pace.deliveryMaxMs,
  betweenBytesMs: pace.deliveryMaxMs,
  answerBytes: 65_536,
  wireBytes: 65_536,
})

/** What is no HTTP breaks a connection as well as any reset. */
const faultOf: Readonly<Record<Exclude<OutboundFailure, 'busy'>, DeliveryFault>> = {
  address: 'address',
  dns: 'dns',
  connect: 'connect',
  tls: 'tls',
  timeout: 'timeout',
  answer: 'connect',
}

/**
 * One attempt at telling an event to a webhook, as Standard Webhooks has it (E4). Undefined if it was broken off, or if too much is under
 * way: then nothing was attempted.
 */
export const sendEvent = async (
  { clock, outbound, destinationPorts }: Pick<Vault, 'clock' | 'outbound' | 'destinationPorts'>,
  { tenantNumber: tenant }: { readonly tenantNumber: number },
  webhook: Webhook,
  event: JsonObject & { readonly id: string },
  signal?: AbortSignal,
): Promise<Sent | undefined> => {
  const at = clock()
  // The operator may have taken its port back since it was saved.
  const { url } = readDestinationUrl(webhook.url, destinationPorts)
  if (url === undefined) return { at, ms: 0, error: 'address', retryAfterMs: undefined }
  const text = JSON.stringify({ event, delivered_at: formatInstant(at) })
  const body = Buffer.from(text)
  const seconds = Math.floor(at / 1_000)
  const secrets = liveSecrets(webhook, at).map(({ value }) => value)
  const begun = performance.now()
  const msSince = (): number => Math.round(performance.now() - begun)
  try {
    const { status, headers } = await outbound.send({
      tenant,
      scope: { kind: 'webhook', id: webhook.id },
      url,
      method: 'POST',
      headers: [
        ['Host', url.port === 443 ? url.host : `${url.host}:${url.port}`],
        ['Content-Type', 'application/json'],
        ['Content-Length', String(body.length)],
        ['Accept-Encoding', 'identity'],
        ['User-Agent', 'Strongroom'],
        ['webhook-id', event.id],
        ['webhook-timestamp', String(seconds)],
        ['webhook-signature', signWebhook(secrets, { id: event.id, seconds, body: text })],
      ],
      body,
      limits: limitsNow(),
      ...(signal && { signal }),
    })
    return { at, ms: msSince(), ...verdict(status), retryAfterMs: retryAfterIn(headers, clock()) }
  } catch (error) {
    if (signal?.aborted) return undefined
    if (!(error instanceof OutboundError)) throw error
    const { failure, status } = error
    if (failure === 'busy') return undefined
    const ms = msSince()
    // Its head came, which is all that counts: the rest was too much, or broke off.
    if (status !== undefined && failure !== 'timeout')
      return { at, ms, ...verdict(status), retryAfterMs: undefined }
    return {
      at,
      ms,
      ...(status !== undefined && { status }),
      error: faultOf[failure],
      retryAfterMs: undefined,
    }
  }
}

/** 2xx is delivered; a redirect is not followed. */
const verdict = (status: number): Pick<Attempt, 'status' | 'error'> =>
  status >= 200 && status < 300 ? { status } : { status, error: 'status' }

const retryAfterIn = (headers: Headers, now: number): number | undefined =>
  readRetryAfter(headers.find(([name]) => name.toLowerCase() === 'retry-after')?.[1], now)
