import { limits } from '../domain/limits.ts'
import { destinationCharactersMax } from '../domain/outbound/destination-url.ts'

// The headers that carry the operator's prefix, declared without it. OpenAPI shows them, and `http/` checks requests by them.

/** C4: the operator's prefix and a header's name, as the documentation writes them. */
export const prefixed = (headerPrefix: string, name: string): string =>
  `${headerPrefix}-${name}`.toUpperCase()

export const apiKeyHeader = { name: 'api-key' } as const

export const idempotencyKeyHeader = {
  name: 'idempotency-key',
  description: 'A retry with the same key gets the answer of the first request and changes nothing.',
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: limits.idempotencyKeyCharactersMax,
    // Visible ASCII.
    pattern: '^[!-~]+$',
  },
} as const

/** C4: a card number that is sent as a trace id must not reach a header or a log. */
const digitRun = 12

export const traceIdHeader = {
  name: 'trace-id',
  description: `Returned in the answer and logged. The vault makes its own if none is sent, or if the one sent is not 8 to 64 letters, digits, dots, underscores and dashes, or has ${digitRun} digits in a row.`,
  schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{8,64}$' },
  /** Not part of the pattern, where it would need a lookahead that not every client's language has. */
  refused: `\\d{${digitRun}}`,
} as const

export const receiptHeader = {
  name: 'audit',
  description:
    'The id of the record of what was done, which was durable before the answer left. Whoever keeps it can tell later that the log was cut. Not sent to public applications.',
  schema: { type: 'string', format: 'uuid' },
} as const

export const missingHeader = {
  name: 'missing',
  description:
    'How many strings became null because a token that they name is not there. Present if `missing=null` asked for that.',
  schema: { type: 'integer', minimum: 0 },
} as const

export const proxyKeyHeader = {
  name: 'proxy-key',
  description: 'The key of the proxy that the request goes through.',
  schema: { type: 'string' },
} as const

export const proxyUrlHeader = {
  name: 'proxy-url',
  description: 'Where the request goes, if no proxy is named and the tenant allows it: an https URL.',
  schema: { type: 'string', maxLength: destinationCharactersMax },
} as const

export const proxyErrorHeader = {
  name: 'proxy-error',
  description:
    "The code of an error that is the proxy's own. Without it, status and body are the destination's.",
  schema: { type: 'string' },
} as const

export const destinationStatusHeader = {
  name: 'proxy-destination-status',
  description: 'The status that the destination answered with, if it did.',
  schema: { type: 'integer' },
} as const

/** What answers carry besides the trace id. */
export const answerHeaders = {
  Location: {
    required: true,
    description: 'The path of what was made, or of what was asked for.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'Idempotent-Replayed': {
    description: 'Present if the answer is that of an earlier request with the same idempotency key.',
    schema: { type: 'string', const: 'true' },
  },
  'WWW-Authenticate': {
    required: true,
    description: 'Names the header that carries the API key.',
    schema: { type: 'string' },
  },
} as const

/** The vault's own headers, in lower case as Node reads them. */
export type OwnHeaders = {
  readonly apiKey: string
  readonly traceId: string
  readonly idempotencyKey: string
  readonly receipt: string
  readonly missing: string
  readonly proxyKey: string
  readonly proxyUrl: string
  readonly proxyError: string
  readonly destinationStatus: string
}

export const ownHeaders = (headerPrefix: string): OwnHeaders => ({
  apiKey: `${headerPrefix}-${apiKeyHeader.name}`,
  traceId: `${headerPrefix}-${traceIdHeader.name}`,
  idempotencyKey: `${headerPrefix}-${idempotencyKeyHeader.name}`,
  receipt: `${headerPrefix}-${receiptHeader.name}`,
  missing: `${headerPrefix}-${missingHeader.name}`,
  proxyKey: `${headerPrefix}-${proxyKeyHeader.name}`,
  proxyUrl: `${headerPrefix}-${proxyUrlHeader.name}`,
  proxyError: `${headerPrefix}-${proxyErrorHeader.name}`,
  destinationStatus: `${headerPrefix}-${destinationStatusHeader.name}`,
})
