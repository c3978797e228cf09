import { sketchPrecision } from '../../domain/index-report/term-sketch.ts'
import { limits } from '../../domain/limits.ts'
import { body, choice, text } from '../schema.ts'
import { type Static, Type } from '../type.ts'

const fingerprints =
  'Whether every token is fingerprinted. If not, a token with a fingerprint expression of its own still is.'
const duplicates =
  'Whether a create or change that would make an equal token answers with the one that exists.'

const ephemeralProxies =
  'Whether a request through the proxy must name a configured proxy. If not, whoever may use a token can send it anywhere, and so read it.'

/** §2.4: strings that carry a boolean; real booleans are accepted too (C31). */
const setting = (description: string) =>
  Type.Unsafe<'true' | 'false' | boolean>({ enum: ['true', 'false', true, false], description })

export const UpdateTenant = body({
  name: text({ min: 1, max: limits.nameCharactersMax, description: 'For people; it need not be unique.' }),
  settings: Type.Optional(
    body({
      fingerprint_tokens: Type.Optional(setting(fingerprints)),
      deduplicate_tokens: Type.Optional(setting(duplicates)),
      disable_ephemeral_proxy: Type.Optional(setting(ephemeralProxies)),
    }),
  ),
})
export type UpdateTenant = Static<typeof UpdateTenant>

export const TenantSettings = Type.Object({
  fingerprint_tokens: choice(['true', 'false'], { description: fingerprints }),
  deduplicate_tokens: choice(['true', 'false'], { description: duplicates }),
  disable_ephemeral_proxy: choice(['true', 'false'], { description: ephemeralProxies }),
})

export const Tenant = Type.Object({
  id: Type.String({ format: 'uuid' }),
  owner_id: Type.String({ format: 'uuid' }),
  name: Type.String({ examples: ['Shop'] }),
  settings: TenantSettings,
  created_by: Type.Optional(Type.String({ format: 'uuid' })),
  created_at: Type.Optional(Type.String({ format: 'date-time' })),
  modified_by: Type.Optional(Type.String({ format: 'uuid', examples: [] })),
  modified_at: Type.Optional(Type.String({ format: 'date-time', examples: [] })),
})

/** §2.5 */
export const TypeMetrics = Type.Object({
  count: Type.Integer(),
  last_created_at: Type.Optional(Type.String({ format: 'date-time' })),
})
export const UsageReport = Type.Object({
  token_report: Type.Object({
    metrics_by_type: Type.Unsafe<Record<string, Static<typeof TypeMetrics>>>({
      type: 'object',
      additionalProperties: TypeMetrics,
      examples: [{ card: { count: 2, last_created_at: '2026-03-01T12:00:00.000+00:00' } }],
    }),
    included_monthly_active_tokens: Type.Integer({ examples: [0] }),
    monthly_active_tokens: Type.Integer(),
  }),
})

/** An index with few terms, or with one that many tokens share, lets its values be guessed by counting entries. */
export const IndexReport = Type.Object({
  computed_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description: 'When the last pass over all tokens ended; absent before the first.',
    }),
  ),
  tokens: Type.Integer({ description: 'How many tokens the report is made of.' }),
  complete: Type.Boolean({
    description: `False before the first report, and above ${limits.reportIndexes} search indexes and metadata keys together.`,
  }),
  indexes: Type.Array(
    Type.Object({
      kind: Type.String({ examples: ['metadata'], description: 'search_index or metadata.' }),
      name: Type.String({
        examples: ['customer'],
        description: 'The expression of the search index, or the metadata key.',
      }),
      tokens: Type.Integer({ description: 'How many tokens have a term of it.' }),
      distinct_terms: Type.Integer({
        description: `Exact up to ${sketchPrecision.distinctExactMax}; above, an estimate to about ${sketchPrecision.distinctErrorPercent} %.`,
      }),
      largest_share: Type.Number({
        description: `The share of these tokens with the commonest term. Exact up to ${sketchPrecision.shareExactMax} terms; above, too low by at most 1/${sketchPrecision.shareErrorParts}.`,
      }),
    }),
    { description: 'The most telling first.' },
  ),
})
