import type { LogRecord } from '../acts/block.ts'
import { getOwn, isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import type { EventType } from './event-types.ts'

/** Something that happened in a tenant, for programs (E1). */
export type VaultEvent = JsonObject & {
  /** `evt_` and the id of the record that it was made of; of further tokens of the record with `-1`, `-2`. */
  readonly id: string
  readonly type: EventType
  readonly timestamp: string
  readonly tenant_id: string
  readonly sequence: string
  readonly data: JsonObject
}

type Told = {
  readonly type: EventType
  /** The member of `data` that it is about. */
  readonly as: 'token' | 'application' | 'key' | 'tenant' | 'proxy' | 'webhook'
}

const tokenCreated: Told = { type: 'token.created', as: 'token' }
const applicationCreated: Told = { type: 'application.created', as: 'application' }
const applicationUpdated: Told = { type: 'application.updated', as: 'application' }
const keyCreated: Told = { type: 'application.key.created', as: 'key' }
const keyDeleted: Told = { type: 'application.key.deleted', as: 'key' }
const tenantUpdated: Told = { type: 'tenant.updated', as: 'tenant' }

/**
 * Which operations, commands and jobs are told, by the name that their records have. Records outlive releases, so a name stays here
 * when its operation goes. A test holds this complete against the endpoints.
 */
export const toldOperations: Readonly<Record<string, Told>> = {
  createToken: tokenCreated,
  tokenize: tokenCreated,
  updateToken: { type: 'token.updated', as: 'token' },
  deleteToken: { type: 'token.deleted', as: 'token' },
  'sweep-expired': { type: 'token.expired', as: 'token' },

  createApplication: applicationCreated,
  'app create': applicationCreated,
  updateApplication: applicationUpdated,
  'app grant': applicationUpdated,
  deleteApplication: { type: 'application.deleted', as: 'application' },
  createApiKey: keyCreated,
  'key create': keyCreated,
  deleteApiKey: keyDeleted,
  'key revoke': keyDeleted,

  updateTenant: tenantUpdated,
  'tenant update': tenantUpdated,
  'tenant rekey': { type: 'tenant.rekeyed', as: 'tenant' },

  createProxy: { type: 'proxy.created', as: 'proxy' },
  updateProxy: { type: 'proxy.updated', as: 'proxy' },
  patchProxy: { type: 'proxy.updated', as: 'proxy' },
  createProxyKey: { type: 'proxy.updated', as: 'proxy' },
  deleteProxy: { type: 'proxy.deleted', as: 'proxy' },

  createWebhook: { type: 'webhook.created', as: 'webhook' },
  updateWebhook: { type: 'webhook.updated', as: 'webhook' },
  createWebhookSecret: { type: 'webhook.updated', as: 'webhook' },
  deleteWebhook: { type: 'webhook.deleted', as: 'webhook' },
  'disable-webhook': { type: 'webhook.disabled', as: 'webhook' },
}

/** The record that ends a proxied request. What it sent was recorded before, so it is told once. */
const proxyDone = 'proxy.done'

/** What a permission to see a token leads to, whichever operation showed it. */
const shownBy: Readonly<Record<string, EventType>> = { 'token:read': 'token.read', 'token:use': 'token.used' }

/** The events that a record is, in order: none if it changed and showed nothing, one for each of its tokens. */
export const eventsOf = (record: LogRecord): VaultEvent[] => {
  if (record.operation === proxyDone) return proxiedEvents(record)
  if (record.result !== 'allowed' || record.replayed === true) return []
  const told = getOwn(toldOperations, record.operation)
  if (told !== undefined && told.as !== 'token')
    return [eventOf(record, 0, told.type, { [told.as]: idOnly(record.entity_id) })]
  return tokensOf(record).flatMap((token, index) => {
    const type = told === undefined ? shownBy[String(token.permission)] : told.type
    // A token that stood for the value already was neither created nor changed.
    return type === undefined || token.deduplicated === true
      ? []
      : [eventOf(record, index, type, { token: aboutToken(token) })]
  })
}

/** Null unless the text has the form of an event's id. */
export const parseEventId = (text: string): { readonly recordId: string } | null => {
  const [, recordId] =
    /^evt_([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})(?:-[1-9]\d{0,3})?$/.exec(
      text,
    ) ?? []
  return recordId === undefined ? null : { recordId }
}

const eventOf = (record: LogRecord, index: number, type: EventType, about: JsonObject): VaultEvent => {
  const { id, at, tenant_id, trace_id, sequence, actor } = record
  const isOfRequest = actor.type !== 'job' && actor.type !== 'operator'
  return {
    id: `evt_${id}${index === 0 ? '' : `-${index}`}`,
    type,
    timestamp: at,
    tenant_id: String(tenant_id),
    ...(isOfRequest && { trace_id }),
    sequence,
    data: { ...about, actor: { ...idOnly(actor.id), type: actor.type } },
  }
}

/** The end of a proxied request, whatever came of it, and the tokens that were made of its answer. */
const proxiedEvents = (record: LogRecord): VaultEvent[] => {
  const { destination, part = 1, result } = record
  const proxyId = isJsonObject(destination) ? getOwn(destination, 'proxy_id') : undefined
  const invoked = eventOf(record, 0, 'proxy.invoked', { proxy: idOnly(proxyId) })
  const made = result === 'allowed' ? tokensOf(record) : []
  return [
    ...(part === 1 ? [invoked] : []),
    ...made.flatMap((token, index) =>
      token.permission !== 'token:create' || token.deduplicated === true
        ? []
        : [eventOf(record, index + 1, 'token.created', { token: aboutToken(token) })],
    ),
  ]
}

const tokensOf = ({ tokens }: LogRecord): JsonObject[] =>
  Array.isArray(tokens) ? tokens.filter(isJsonObject) : []

/** The rest of a token is a GET away, under the rules of whoever asks. */
const aboutToken = ({ id, type, containers }: JsonObject): JsonObject => ({
  ...idOnly(id),
  // Records from before there were events do not have it.
  ...(type !== undefined && { type }),
  ...(containers !== undefined && { containers }),
})

const idOnly = (id: Json | undefined): JsonObject => (id === undefined ? {} : { id })

/** The containers of the token that it is about, if it is about one. */
export const containersOf = ({ data: { token } }: VaultEvent): readonly string[] | undefined => {
  if (!isJsonObject(token)) return undefined
  const containers = getOwn(token, 'containers')
  return Array.isArray(containers) ? containers.map(String) : []
}
