import { permissionsByType } from '../../domain/access/permissions.ts'
import { actResults, entityTypes } from '../../domain/acts/act.ts'
import { anyJson, choice } from '../schema.ts'
import { CursorPagination } from '../tokens/schemas.ts'
import { Type } from '../type.ts'

const LoggedToken = Type.Object({
  id: Type.String(),
  containers: Type.Array(Type.String()),
  permission: choice([...new Set(Object.values(permissionsByType).flat())]),
  transform: Type.Optional(choice(['reveal', 'mask', 'redact'])),
  rule: Type.Optional(Type.Integer({ description: 'The priority of the access rule that decided.' })),
})

/** L2, and L5: some fields once more under the names that clients of compatible services know. */
export const LogEntry = Type.Object({
  id: Type.String({ format: 'uuid' }),
  at: Type.String({ format: 'date-time' }),
  tenant_id: Type.String(),
  trace_id: Type.String(),
  actor: Type.Object({
    type: choice(['application', 'operator', 'job', 'anonymous']),
    id: Type.Optional(Type.String({ format: 'uuid' })),
    key_id: Type.Optional(Type.String({ format: 'uuid' })),
  }),
  source: Type.Optional(Type.Object({ ip: Type.String() })),
  sequence: Type.String({
    description:
      'The number of the writer, a dot, and the number of the record, which has no gaps in each writer.',
  }),
  operation: Type.String({
    description: "The endpoint's operationId, the command's words or the job's name.",
  }),
  route: Type.Optional(Type.String({ description: 'The pattern of the path.' })),
  result: choice(actResults),
  status: Type.Optional(Type.Integer()),
  entity_type: choice(entityTypes),
  entity_id: Type.Optional(Type.String()),
  tokens: Type.Optional(Type.Array(LoggedToken)),
  fields: Type.Optional(Type.Array(Type.String())),
  query: Type.Optional(
    Type.Object({ fields: Type.Array(Type.String()), operators: Type.Array(Type.String()) }),
  ),
  before: Type.Optional(anyJson({ description: 'The grants or settings before.' })),
  after: Type.Optional(anyJson({ description: 'The grants or settings after.' })),
  count: Type.Optional(Type.Integer({ description: 'How many requests or rows the record stands for.' })),
  part: Type.Optional(
    Type.Integer({
      description: 'Which part of the act the record is, if it names too many tokens for one.',
    }),
  ),
  actor_id: Type.Optional(Type.String({ format: 'uuid' })),
  actor_type: Type.String(),
  message: Type.String({ description: 'The record in a sentence.' }),
  created_at: Type.String({ format: 'date-time' }),
})

export const LogPage = Type.Object({
  pagination: CursorPagination,
  data: Type.Array(LogEntry),
})

export const LogEntityType = Type.Object({ display_name: Type.String(), value: choice(entityTypes) })
