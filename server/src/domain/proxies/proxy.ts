import { type Authorship, viewAuthorship } from '../authorship.ts'
import type { JsonObject } from '../json/json.ts'
import type { Secret } from '../secret.ts'

export type ProxyMethod = (typeof proxyMethods)[number]
export const proxyMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** A destination that a tenant has set up, and how requests to it and its answers are changed (U18). */
export type OutboundProxy = {
  readonly id: string
  readonly name: string
  readonly destinationUrl: string
  /** If not, a request needs no API key, and the proxy's own application is the caller. */
  readonly requireAuth: boolean
  readonly applicationId?: string
  /** Write-only: expressions of its own request transforms may use the values, and nobody is shown them. */
  readonly configuration: Readonly<Record<string, Secret<string>>>
  /** Applied in order; each is one flat object with a `type` (U19). */
  readonly requestTransforms: readonly JsonObject[]
  readonly responseTransforms: readonly JsonObject[]
  /** How long the first byte of an answer may take. */
  readonly timeoutSeconds?: number
  readonly echoGuard: boolean
  /** The methods that it takes; without them, all. */
  readonly methods?: readonly ProxyMethod[]
} & Authorship

/** Stands for a value that is written and never shown. Sent back, it leaves the value as it is. */
export const hiddenValue = '***'

/** A proxy as answers show it, without its key. */
export const viewProxy = (proxy: OutboundProxy): JsonObject => ({
  id: proxy.id,
  name: proxy.name,
  destination_url: proxy.destinationUrl,
  require_auth: proxy.requireAuth,
  ...(proxy.applicationId !== undefined && { application: { id: proxy.applicationId } }),
  configuration: Object.fromEntries(Object.keys(proxy.configuration).map(name => [name, hiddenValue])),
  request_transforms: [...proxy.requestTransforms],
  response_transforms: [...proxy.responseTransforms],
  ...(proxy.timeoutSeconds !== undefined && { timeout: proxy.timeoutSeconds }),
  echo_guard: proxy.echoGuard,
  ...(proxy.methods && { methods: [...proxy.methods] }),
  ...viewAuthorship(proxy),
})
