import { eventTypes } from '../../domain/events/event-types.ts'
import { eventId, tokenId } from '../path-parameters.ts'
import { choice } from '../schema.ts'
import { Type } from '../type.ts'

const idOnly = (description: string) =>
  Type.Optional(Type.Object({ id: Type.Optional(Type.String()) }, { description, examples: [] }))

/** E1. */
export const Event = Type.Object({
  id: Type.String({
    examples: [eventId.example],
    description:
      'evt_ and the id of its record in the log. Further tokens of one record have -1, -2 and so on.',
  }),
  type: choice(eventTypes),
  timestamp: Type.String({ format: 'date-time' }),
  tenant_id: Type.String({ examples: ['019c9f1e-6a00-7000-8000-0d2b6d0c5a10'] }),
  trace_id: Type.Optional(
    Type.String({
      examples: ['01a1f4f2-ca77-7678-854e-907200000001'],
      description: 'Of the request that it came of; absent where a job or a command did it.',
    }),
  ),
  sequence: Type.String({
    examples: ['0.27'],
    description: 'The place of its record in the log: the writer, a dot, and a number without gaps.',
  }),
  data: Type.Object({
    token: Type.Optional(
      Type.Object(
        {
          id: Type.String({ examples: [tokenId.example] }),
          type: Type.Optional(Type.String({ examples: ['token'] })),
          containers: Type.Array(Type.String({ examples: ['/general/high/'] })),
        },
        { description: 'In events about tokens. The rest is read with GET, under the rules of the reader.' },
      ),
    ),
    application: idOnly('In events about applications.'),
    key: idOnly('In events about API keys.'),
    tenant: idOnly('In events about the tenant.'),
    proxy: idOnly('In events about proxies; without an id if the request named its destination itself.'),
    webhook: idOnly('In events about webhooks.'),
    actor: Type.Object({
      id: Type.Optional(Type.String({ format: 'uuid' })),
      type: choice(['application', 'operator', 'job', 'anonymous']),
    }),
  }),
})

export const EventPage = Type.Object({
  pagination: Type.Object({
    next: Type.String({
      examples: ['AAAAAAAAABs'],
      description: 'The `start` of the next page, at the end as well.',
    }),
  }),
  data: Type.Array(Event),
})
