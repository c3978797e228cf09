import { type Body, type CallOptions, type Connection, jsonIn, visible } from './connection.ts'
import { VaultError } from './errors.ts'

export type ProxyRequest = CallOptions & {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Appended to the destination's URL, such as `/v1/charges?expand=card`. */
  readonly path?: string
  /** Expressions in them, such as `{{ token-id }}`, become values on their way out. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Body
} & (
    | { /** Of a proxy that is set up in the vault. */ readonly proxyKey: string }
    | { /** The destination, where the tenant allows callers to name one. */ readonly url: string }
  )

/** The vault's own limit, and some time for the way. */
const timeoutMs = 130_000

/** With these the vault says that it sent nothing. After anything else the destination may have been asked. */
const nothingWasSent = ['proxy_busy', 'overloaded', 'rate_limited']

/**
 * Sends a request to the destination through the vault, and resolves with what the destination answered, whatever its status. What the
 * vault itself refuses is thrown. Nothing is sent twice: only a request that the vault did not pass on, and says so, is repeated.
 */
export const sendThroughProxy = async (connection: Connection, request: ProxyRequest): Promise<Response> => {
  const { method = 'POST', path = '', body, signal } = request
  if (!isPlainPath(path)) throw new TypeError('path must begin with / and have no dot segments')
  const headers = new Headers(request.headers)
  if ('proxyKey' in request)
    headers.set(connection.header('proxy-key'), visible('proxyKey', request.proxyKey))
  else headers.set(connection.header('proxy-url'), visible('url', request.url))
  // What the destination should answer with is for the caller to say.
  for (const [name, value] of Object.entries(await connection.headers(request.traceId)))
    if (name !== 'accept') headers.set(name, value)
  const prepared = {
    url: connection.url(`/proxy${path}`),
    init: {
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(isStream(body) && { duplex: 'half' as const }),
    },
    adviceIfLost: 'The destination may have been asked: find out there before you send it again.',
  }
  const retries = isStream(body) ? 0 : (request.retries ?? connection.retries)
  const problemOf = (response: Response) => problemIn(response, connection)
  for (let attempt = 0; ; attempt++)
    try {
      const { response } = await connection.attempt(prepared, { timeoutMs, ...request }, undefined, problemOf)
      return response
    } catch (error) {
      if (!(error instanceof VaultError) || attempt >= retries || !nothingWasSent.includes(error.code))
        throw error
      await connection.pause(error, attempt, signal)
    }
}

const problemIn = async (response: Response, connection: Connection): Promise<object | undefined> => {
  const code = response.headers.get(connection.header('proxy-error'))
  if (code === null && response.headers.has(connection.header('proxy-destination-status'))) return undefined
  const body = await jsonIn(response)
  const { proxy_error: problem = body } = body as { proxy_error?: object }
  // The answer to HEAD has no body.
  return code === null ? problem : { code, ...problem }
}

/** `fetch` would follow dot segments to another endpoint of the vault. */
const isPlainPath = (path: string): boolean => {
  const [before = ''] = path.split('?')
  return /^(?:[/?]|$)/.test(path) && !/\\|#|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(before)
}

const isStream = (body: Body | undefined): boolean => body instanceof ReadableStream
