import type { Application } from '../access/application.ts'
import type { Tenant } from '../access/tenant.ts'
import type { JsonObject } from '../json/json.ts'
import { type DestinationPattern, formatDestinationPattern } from '../outbound/destination-pattern.ts'
import type { OutboundProxy } from '../proxies/proxy.ts'
import type { Webhook } from '../webhooks/webhook.ts'

// What records show of a change of grants or settings, before and after. Names and descriptions may say anything, so they are left out.

export const grantsOf = ({ type, permissions, rules }: Application): JsonObject => ({
  type,
  ...(rules.length > 0
    ? {
        rules: rules.map(({ priority, container, transform, permissions: held, destinations }) => ({
          priority,
          container,
          transform,
          permissions: [...held],
          ...(destinations && { destinations: destinations.map(originOf) }),
        })),
      }
    : { permissions: [...permissions] }),
})

/** Where a proxy sends, and for whom. */
export const proxyOf = (proxy: OutboundProxy): JsonObject => ({
  destination: urlOrigin(proxy.destinationUrl),
  require_auth: proxy.requireAuth,
  ...(proxy.applicationId !== undefined && { application: { id: proxy.applicationId } }),
  echo_guard: proxy.echoGuard,
  ...(proxy.methods && { methods: [...proxy.methods] }),
  request_transforms: proxy.requestTransforms.map(typeOf),
  response_transforms: proxy.responseTransforms.map(typeOf),
})

export const webhookOf = (webhook: Webhook): JsonObject => ({
  destination: urlOrigin(webhook.url),
  events: [...webhook.events],
  status: webhook.status,
})

const typeOf = ({ type }: JsonObject): string => String(type)
const urlOrigin = (url: string): string => /^[^/]*\/\/[^/?]*/.exec(url)?.[0].toLowerCase() ?? ''

/** A record names a destination by its origin: paths of some services are secret. */
const originOf = (pattern: DestinationPattern): string => formatDestinationPattern({ ...pattern, path: '' })

export const settingsOf = ({ settings, includedMonthlyActiveTokens }: Tenant): JsonObject => ({
  fingerprint_tokens: settings.fingerprintTokens,
  deduplicate_tokens: settings.deduplicateTokens,
  disable_ephemeral_proxy: !settings.ephemeralProxy,
  included_monthly_active_tokens: includedMonthlyActiveTokens,
})
