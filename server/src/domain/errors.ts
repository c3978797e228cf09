import { hasOwnForm } from './own-id.ts'
import { pace } from './pace.ts'
import { printable } from './printable.ts'

export type CatalogueEntry = {
  readonly status: number
  readonly title: string
  readonly detail?: string
  /** The same request may well succeed in a moment, so the answer says in Retry-After when to try again. */
  readonly isTransient?: true
}

/**
 * The catalogue of everything that can go wrong, as the caller sees it (C2). The texts are constant: no
 * submitted value can reach an answer or a log through them.
 */
export const catalogue = {
  validation: { status: 400, title: 'One or more validation errors occurred.' },
  unauthorized: { status: 401, title: 'Unauthorized', detail: 'A valid API key is required.' },
  forbidden: { status: 403, title: 'Forbidden', detail: 'The application may not do this.' },
  notFound: { status: 404, title: 'Not Found', detail: 'Not found, or not visible to this key.' },
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
  tooManyRequests: {
    status: 429,
    title: 'Too Many Requests',
    detail: 'The key is over its rate limit.',
    isTransient: true,
  },
  bodyTooLarge: { status: 413, title: 'Content Too Large', detail: 'The body is over the limit.' },
  unsupportedMediaType: {
    status: 415,
    title: 'Unsupported Media Type',
    detail: 'Wrong Content-Type or Content-Encoding.',
  },
  headersTooLarge: {
    status: 431,
    title: 'Request Header Fields Too Large',
    detail: 'The URL and headers are over the limit.',
  },
  badRequest: { status: 400, title: 'Bad Request', detail: 'The request is not valid HTTP.' },
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
    super(more.detail ?? entry.detail ?? entry.title)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'VaultError'
    this.code = code
    this.ownDetail = more.detail
    this.issues = more.issues ?? []
    this.headers = { ...(entry.isTransient && shortWait), ...more.headers }
  }
}

export const invalid = (...issues: Issue[]): VaultError => new VaultError('validation', { issues })

/** Which stored row an error is about; of a kind that a tenant has one of, without an id. */
export type RowName = { readonly kind: string; readonly id?: string; readonly tenantId?: string }

/**
 * A stored row that does not open: it was changed, moved or cut outside the vault. The error names the row, and the log
 * names it by `rowLogName`. The caller sees a plain 500, or 401 if their key depends on that row.
 */
export class TamperedError extends Error {
  readonly row: RowName

  constructor(row: RowName) {
    super(
      `${nameOf(row, printable)} is corrupt: its stored row was changed, moved or truncated outside the vault`,
    )
    this.name = 'TamperedError'
    this.row = row
  }
}

/** An id that a caller chose came from a body, so it stays out of the log (C2); ids of the vault's own form may be named. */
export const rowLogName = (row: RowName): string => {
  const name = nameOf(row, id => (hasOwnForm(id) ? id : '(an id that is not ours)'))
  return row.tenantId === undefined ? name : `${name} of tenant ${row.tenantId}`
}

const nameOf = ({ kind, id }: RowName, show: (id: string) => string): string =>
  id === undefined ? kind : `${kind} ${show(id)}`

/** The code of an error from the runtime, a driver or the framework, such as `ENOENT` or `40001`; '' if it has none. */
export const foreignCode = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
