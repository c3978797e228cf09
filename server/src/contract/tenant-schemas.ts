import { type Static, Type } from 'typebox'
import { limits } from '../domain/limits.ts'
import { body, text } from './schema.ts'

/** §2.4: strings that carry a boolean; real booleans are accepted too (C31). */
const setting = Type.Unsafe<'true' | 'false' | boolean>({ enum: ['true', 'false', true, false] })

export const UpdateTenant = body({
  name: text({ min: 1, max: limits.nameCharactersMax }),
  settings: Type.Optional(
    body({
      fingerprint_tokens: Type.Optional(setting),
      deduplicate_tokens: Type.Optional(setting),
    }),
  ),
})
export type UpdateTenant = Static<typeof UpdateTenant>

export const Tenant = Type.Object({
  id: Type.String({ format: 'uuid' }),
  owner_id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  settings: Type.Object({ fingerprint_tokens: Type.String(), deduplicate_tokens: Type.String() }),
  created_by: Type.Optional(Type.String({ format: 'uuid' })),
  created_at: Type.Optional(Type.String({ format: 'date-time' })),
  modified_by: Type.Optional(Type.String({ format: 'uuid' })),
  modified_at: Type.Optional(Type.String({ format: 'date-time' })),
})

/** §2.5 */
export const UsageReport = Type.Object({
  token_report: Type.Object({
    metrics_by_type: Type.Unsafe<Record<string, { count: number; last_created_at?: string }>>({
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: { count: { type: 'integer' }, last_created_at: { type: 'string', format: 'date-time' } },
        required: ['count'],
      },
    }),
    included_monthly_active_tokens: Type.Integer(),
    monthly_active_tokens: Type.Integer(),
  }),
})
