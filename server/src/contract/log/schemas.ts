import { permissionsByType } from '../../domain/access/permissions.ts'
import { actResults, entityTypes } from '../../domain/acts/act.ts'
import { anyJson, choice } from '../schema.ts'
import { CursorPagination } from '../tokens/schemas.ts'
import { Type } from '../type.ts'

const LoggedToken = Type.Object({
  id: Type.String({ examples: ['customer-8-email'] }),
  type: Type.Optional(
    Type.String({ examples: ['token'], description: 'Absent in records of releases that had no events.' }),
  ),
  containers: Type.Array(Type.String({ examples: ['/general/high/'] })),
  permission: choice([...new Set(Object.values(permissionsByType).flat())]),
  transform: Type.Optional(choice(['reveal', 'mask', 'redact'])),
  rule: Type.Optional(Type.Integer({ description: 'The priority of the access rule that decided.' })),
  deduplicated: Type.Optional(
    Type.Literal(true, {
      examples: [],
      description: 'It stood for the value already, so the write did not change it.',
    }),
  ),
})

/** L2, and L5: some fields once more under the names that clients of compatible services know. */
export const LogEntry = Type.Object({
  id: Type.String({ format: 'uuid' }),
  at: Type.String({ format: 'date-time' }),
  tenant_id: Type.String({ examples: ['019c9f1e-6a00-7000-8000-0d2b6d0c5a10'] }),
  trace_id: Type.String({ examples: ['01a1f4f2-ca77-7678-854e-907200000001'] }),
  actor: Type.Object({
    type: choice(['application', 'operator', 'job', 'anonymous']),
    id: Type.Optional(Type.String({ format: 'uuid' })),
    key_id: Type.Optional(Type.String({ format: 'uuid' })),
  }),
  source: Type.Optional(Type.Object({ ip: Type.String({ examples: ['192.0.2.1'] }) })),
  sequence: Type.String({
    examples: ['0.27'],
    description:
      'The number of the writer, a dot, and the number of the record, which has no gaps in each writer.',
  }),
  operation: Type.String({
    examples: ['createToken'],
    description: "The endpoint's operationId, the command's words or the job's name.",
  }),
  route: Type.Optional(Type.String({ examples: ['/tokens'], description: 'The pattern of the path.' })),
  result: choice(actResults),
  status: Type.Optional(Type.Integer({ examples: [201] })),
  entity_type: choice(entityTypes),
  entity_id: Type.Optional(Type.String({ examples: ['customer-8-email'] })),
  tokens: Type.Optional(Type.Array(LoggedToken)),
  fields: Type.Optional(Type.Array(Type.String(), { examples: [] })),
  query: Type.Optional(
    Type.Object(
      { fields: Type.Array(Type.String()), operators: Type.Array(Type.String()) },
      { examples: [] },
    ),
  ),
  before: Type.Optional(anyJson({ examples: [], description: 'The grants or settings before.' })),
  after: Type.Optional(anyJson({ examples: [], description: 'The grants or settings after.' })),
  count: Type.Optional(
    Type.Integer({ examples: [], description: 'How many requests or rows the record stands for.' }),
  ),
  destination: Type.Optional(
    Type.Object(
      {
        origin: Type.String(),
        proxy_id: Type.Optional(Type.String({ format: 'uuid' })),
        status: Type.Optional(Type.Integer()),
        sent: Type.Optional(Type.Integer()),
        received: Type.Optional(Type.Integer()),
        ms: Type.Optional(Type.Integer()),
      },
      {
        examples: [],
        description:
          'Where values were sent: the origin, the proxy if one was named, and what came of it: status, bytes of both bodies, time.',
      },
    ),
  ),
  replayed: Type.Optional(
    Type.Literal(true, {
      examples: [],
      description:
        'The answer to an earlier request with its idempotency key was repeated, and nothing changed.',
    }),
  ),
  part: Type.Optional(
    Type.Integer({
      examples: [],
      description: 'Which part of the act the record is, if it names too many tokens for one.',
    }),
  ),
  actor_id: Type.Optional(Type.String({ format: 'uuid' })),
  actor_type: Type.String({ examples: ['application'] }),
  message: Type.String({
    examples: ['An application created a token.'],
    description: 'The record in a sentence.',
  }),
  created_at: Type.String({ format: 'date-time' }),
})

export const LogPage = Type.Object({
  pagination: CursorPagination,
  data: Type.Array(LogEntry),
})

export const LogEntityType = Type.Object({
  display_name: Type.String({ examples: ['Token'] }),
  value: choice(entityTypes),
})
