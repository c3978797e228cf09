import { limits } from './limits.ts'
import { pace } from './pace.ts'

export type CatalogueEntry = {
  readonly status: number
  readonly title: string
  /** What it means and, where that is not plain, what to do. It says more than the title. */
  readonly detail: string
  /** The same request may well succeed in a moment, so the answer says in Retry-After when to try again. */
  readonly isTransient?: true
}

/**
 * The catalogue of everything that can go wrong, as the caller sees it (C2). The texts are constant: no submitted value can
 * reach an answer or a log through them. `wireCode` makes the public code of a key, so a key is as stable as the interface.
 */
export const catalogue = {
  invalidRequest: {
    status: 400,
    title: 'One or more validation errors occurred.',
    detail: 'The member errors says what is wrong, place by place.',
  },
  invalidHttp: { status: 400, title: 'Bad Request', detail: 'The request is not valid HTTP.' },
  unauthorized: { status: 401, title: 'Unauthorized', detail: 'A valid API key is required.' },
  forbidden: { status: 403, title: 'Forbidden', detail: 'The application of this key may not do this.' },
  notFound: {
    status: 404,
    title: 'Not Found',
    detail: 'There is no such thing, or this key may not see it.',
  },
  noSuchRoute: { status: 404, title: 'Not Found', detail: 'There is no such path.' },
  methodNotAllowed: {
    status: 405,
    title: 'Method Not Allowed',
    detail: 'The Allow header names the methods.',
  },
  idTaken: { status: 409, title: 'Conflict', detail: 'A token with this id exists.' },
  writeContention: {
    status: 409,
    title: 'Conflict',
    detail: 'Concurrent writes clashed; try again.',
    isTransient: true,
  },
  requestInFlight: {
    status: 409,
    title: 'Conflict',
    detail: 'A request with this idempotency key is still being processed.',
    isTransient: true,
  },
  lastManagementKey: {
    status: 409,
    title: 'Conflict',
    detail: 'This is the last management key of the tenant; create another one first.',
  },
  idempotencyMismatch: {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'This idempotency key was used with another body.',
  },
  rateLimited: {
    status: 429,
    title: 'Too Many Requests',
    detail: 'The API key is over its rate limit; try again after the seconds in Retry-After.',
    isTransient: true,
  },
  bodyTooLarge: {
    status: 413,
    title: 'Content Too Large',
    detail: `The body is over the limit of ${limits.bodyBytes} bytes.`,
  },
  unsupportedMediaType: {
    status: 415,
    title: 'Unsupported Media Type',
    detail: 'Wrong Content-Type or Content-Encoding.',
  },
  headersTooLarge: {
    status: 431,
    title: 'Request Header Fields Too Large',
    detail: `The URL and headers together are over the limit of ${limits.headBytes} bytes.`,
  },
  requestTimeout: { status: 408, title: 'Request Timeout', detail: 'The request did not arrive in time.' },
  internal: {
    status: 500,
    title: 'Internal Server Error',
    detail: 'The vault failed; look up the trace id in its log.',
  },
  overloaded: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'The vault is overloaded, and nothing was done; try again later.',
    isTransient: true,
  },
  unavailable: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'Storage or the key service does not answer; nothing is half-done.',
    isTransient: true,
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue

export const statusOf = (code: ErrorCode): number => catalogue[code].status

/** What clients branch on (C2): `idTaken` is `id_taken` to them. */
export const wireCode = (code: ErrorCode): string =>
  code.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** One message at one place of the caller's body; the place is a dotted path such as `[2].data.number`. */
export type Issue = { path: string; message: string }

const shortWait = { 'retry-after': String(pace.retryAfterSeconds) }

export class VaultError extends Error {
  readonly code: ErrorCode
  /** Replaces the catalogue's sentence where that says too little. */
  readonly ownDetail: string | undefined
  readonly issues: readonly Issue[]
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ErrorCode,
    more: { detail?: string; issues?: readonly Issue[]; headers?: Record<string, string> } = {},
  ) {
    const entry: CatalogueEntry = catalogue[code]
    // This is an answer, not a bug. A stack would keep alive what its frames worked on, such as the parser of a query.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(more.detail ?? entry.detail)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'VaultError'
    this.code = code
    this.ownDetail = more.detail
    this.issues = more.issues ?? []
    this.headers = { ...(entry.isTransient && shortWait), ...more.headers }
  }
}

export const invalid = (...issues: Issue[]): VaultError => new VaultError('invalidRequest', { issues })

/** Throws the issues that were collected, if there are any. */
export const requireNone = (issues: readonly Issue[]): void => {
  if (issues.length > 0) throw invalid(...issues)
}
