import { limits } from '../../domain/limits.ts'
import { destinationCharactersMax } from '../../domain/outbound/destination-url.ts'
import { secretGraceHoursDefault, webhookStatuses } from '../../domain/webhooks/webhook.ts'
import { authorship } from '../applications/schemas.ts'
import { Pagination } from '../paging.ts'
import { body, choice, text, textList } from '../schema.ts'
import { type Static, Type } from '../type.ts'

export const CreateWebhook = body({
  name: text({ min: 1, max: limits.nameCharactersMax, description: 'For people; it need not be unique.' }),
  url: text({
    max: destinationCharactersMax,
    description: 'Where events are sent: https and a DNS name, without user part and fragment.',
  }),
  events: textList({
    items: text(),
    min: 1,
    max: limits.eventsPerWebhook,
    description: 'Types of events by name, or a family of them, such as token.*.',
  }),
  status: Type.Optional(
    choice(webhookStatuses, { description: 'Whether events are sent. Default: enabled.' }),
  ),
})
export type CreateWebhook = Static<typeof CreateWebhook>

export const CreateWebhookSecret = body({
  grace_hours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: limits.secretGraceHoursMax,
      description: `How many hours the secret before signs as well. Default: ${secretGraceHoursDefault}.`,
    }),
  ),
})
export type CreateWebhookSecret = Static<typeof CreateWebhookSecret>

export const WebhookView = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String({ examples: ['Ledger'] }),
  secret: Type.Optional(Type.String({ description: 'Shown once, when it is made.', examples: [] })),
  url: Type.String({ examples: ['https://ledger.example.com/events'] }),
  events: Type.Array(Type.String({ examples: ['token.*'] })),
  status: choice(webhookStatuses),
  disabled_because: Type.Optional(
    choice(['gone', 'failing'], {
      examples: [],
      description:
        'Why the vault disabled it: the receiver answered 410, or nothing but failed for five days.',
    }),
  ),
  ...authorship,
  _extras: Type.Optional(
    Type.Object(
      { secret: Type.String({ description: 'In a replay: where the secret was shown.' }) },
      { examples: [] },
    ),
  ),
})

export const WebhookPage = Type.Object({ pagination: Pagination, data: Type.Array(WebhookView) })
