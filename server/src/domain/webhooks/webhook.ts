import { type Authorship, viewAuthorship } from '../authorship.ts'
import type { JsonObject } from '../json/json.ts'
import { Secret } from '../secret.ts'
import type { Instant } from '../time/instant.ts'

export const webhookStatuses = ['enabled', 'disabled'] as const

/** Where a tenant's events are sent (E3). */
export type Webhook = {
  readonly id: string
  readonly name: string
  readonly url: string
  /** Types of events by name, or a family: `token.*`. */
  readonly events: readonly string[]
  readonly status: (typeof webhookStatuses)[number]
  /** Why the vault disabled it: the receiver answered 410, or nothing but failed for five days (E4). */
  readonly disabledBecause?: 'gone' | 'failing'
  /** Newest first; at most two. Each signs until it ends. */
  readonly secrets: readonly WebhookSecret[]
} & Authorship

export type WebhookSecret = {
  readonly value: Secret<string>
  /** When it ends; the newest has no end. */
  readonly until?: Instant
}

export const secretGraceHoursDefault = 24
const hourMs = 3_600_000

export const liveSecrets = ({ secrets }: Pick<Webhook, 'secrets'>, now: Instant): readonly WebhookSecret[] =>
  secrets.filter(({ until }) => until === undefined || until > now)

/** The new secret, and the newest before it for a while: two at most. */
export const renewSecret = (
  webhook: Pick<Webhook, 'secrets'>,
  text: string,
  { now, graceHours }: { readonly now: Instant; readonly graceHours: number },
): readonly WebhookSecret[] => {
  const renewed = { value: new Secret(text) }
  const [newest] = liveSecrets(webhook, now)
  return newest === undefined || graceHours === 0
    ? [renewed]
    : [renewed, { value: newest.value, until: now + graceHours * hourMs }]
}

/** C33: a secret appears only in the first answer; a replay says so. */
export const withoutSecret = ({ secret: _secret, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  _extras: { secret: 'shown once, in the first answer to this request' },
})

/** A webhook as answers show it, without its secrets. */
export const viewWebhook = (webhook: Webhook): JsonObject => ({
  id: webhook.id,
  name: webhook.name,
  url: webhook.url,
  events: [...webhook.events],
  status: webhook.status,
  ...(webhook.disabledBecause !== undefined && { disabled_because: webhook.disabledBecause }),
  ...(webhook.disabledBecause && { disabled_because: webhook.disabledBecause }),
  ...viewAuthorship(webhook),
})
