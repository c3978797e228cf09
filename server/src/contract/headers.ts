import { limits } from '../domain/limits.ts'

// The headers that callers may send, without their prefix: OpenAPI shows them, `http/` checks requests by them.

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
  description: `Comes back in the answer and in the log. The vault makes one up where none is sent, and in place of one that does not match or has ${digitRun} digits in a row.`,
  schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{8,64}$' },
  /** Not part of the pattern, which would need a lookahead that not every client's language has. */
  refused: `\\d{${digitRun}}`,
} as const
