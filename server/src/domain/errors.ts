import type { JsonObject } from './json/json.ts'
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
  deliveryInFlight: {
    status: 409,
    title: 'Conflict',
    detail: 'This event is being delivered right now, and nothing more is sent.',
    isTransient: true,
  },
  webhookDisabled: {
    status: 409,
    title: 'Conflict',
    detail: 'The webhook is disabled; enable it, and what has failed is delivered again.',
  },
  lastManagementKey: {
    status: 409,
    title: 'Conflict',
    detail: 'This is the last management key of the tenant; create another one first.',
  },
  cursorTooOld: {
    status: 410,
    title: 'Gone',
    detail:
      'Events from this cursor on are older than what is kept; the member oldest is the cursor to go on from.',
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
  destinationInvalid: {
    status: 400,
    title: 'Bad Request',
    detail: 'This is no URL that the vault sends requests to.',
  },
  noDestination: {
    status: 400,
    title: 'Bad Request',
    detail: 'Name a proxy by its key, or the URL of a destination.',
  },
  expressionInvalid: {
    status: 400,
    title: 'Bad Request',
    detail: 'An expression of the request is wrong; the member errors says where.',
  },
  tokenNotFound: {
    status: 400,
    title: 'Bad Request',
    detail: 'A token that the request names does not exist, or this key may not use it.',
  },
  headerValueInvalid: {
    status: 400,
    title: 'Bad Request',
    detail: 'With its values, a header would hold characters that headers must not have.',
  },
  permissionDenied: {
    status: 403,
    title: 'Forbidden',
    detail: 'This needs the permission token:use.',
  },
  ephemeralProxyDisabled: {
    status: 403,
    title: 'Forbidden',
    detail: 'This tenant takes no destinations from callers: name a proxy by its key.',
  },
  destinationForbidden: {
    status: 403,
    title: 'Forbidden',
    detail: 'The rules of the application do not let these tokens go to this destination.',
  },
  destinationUnreachable: {
    status: 502,
    title: 'Bad Gateway',
    detail: 'The destination could not be reached.',
  },
  tlsFailed: {
    status: 502,
    title: 'Bad Gateway',
    detail: 'The destination could not prove who it is, so it was sent nothing.',
  },
  answerInvalid: {
    status: 502,
    title: 'Bad Gateway',
    detail: 'The destination got the request and answered what the vault cannot pass on.',
  },
  responseTransformFailed: {
    status: 502,
    title: 'Bad Gateway',
    detail: 'The destination answered, and a transform of the proxy failed, so its answer is withheld.',
  },
  proxyBusy: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'Too many requests to destinations are under way; nothing was sent.',
    isTransient: true,
  },
  destinationTimeout: {
    status: 504,
    title: 'Gateway Timeout',
    detail: 'The destination did not answer in time; the member sent says whether it got the request.',
  },
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
  /** Further members of the problem. Nothing in them comes from the caller. */
  readonly members: JsonObject

  constructor(
    code: ErrorCode,
    more: {
      detail?: string
      issues?: readonly Issue[]
      headers?: Record<string, string>
      members?: JsonObject
    } = {},
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
    this.members = more.members ?? {}
    this.headers = { ...(entry.isTransient && shortWait), ...more.headers }
  }
}

export const invalid = (...issues: Issue[]): VaultError => new VaultError('invalidRequest', { issues })

/** Throws the issues that were collected, if there are any. */
export const requireNone = (issues: readonly Issue[]): void => {
  if (issues.length > 0) throw invalid(...issues)
}
