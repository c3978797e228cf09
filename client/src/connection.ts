import { advice } from './advice.ts'
import { ConnectionError, KeyTextLostError, TimedOutError, VaultError } from './errors.ts'
import { parse, randomHex, stringify } from './exact-json.ts'
import { errorClasses } from './generated/errors.ts'
import { type Route, routes } from './generated/routes.ts'
import type { Operations, Problem } from './generated/types.ts'

export type VaultOptions = {
  /** Where the vault is, such as `https://vault.example.com`; with a path if it is below one. */
  readonly baseUrl: string
  /** Asked for with each request if it is a function, so that keys can be rotated. */
  readonly apiKey?: string | (() => string | Promise<string>)
  /** As the vault's setting of this name has it. Default: `svc`. */
  readonly headerPrefix?: string
  /** Default: that of the runtime. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** How often a request is repeated at most. Default: 4. */
  readonly retries?: number
  /** How long an attempt may take. Default: 30 seconds. */
  readonly timeoutMs?: number
  /** A longer `Retry-After` is not waited for, but thrown. Default: 60 seconds. */
  readonly retryAfterMaxMs?: number
  /** Waits between attempts; for tests that have a clock of their own. */
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

export type CallOptions = {
  /** Aborts the call, which throws the reason. */
  readonly signal?: AbortSignal | undefined
  readonly retries?: number | undefined
  readonly timeoutMs?: number | undefined
  /** To find the request in the vault's log: 8 to 64 letters, digits, dots, underscores and dashes. */
  readonly traceId?: string | undefined
}

export type WriteOptions = CallOptions & {
  /**
   * The vault does what comes with one key once, for 24 hours. By default each call makes its own, which its retries share. A program
   * that must not write twice even if it is restarted makes one itself, and stores it before the call.
   */
  readonly idempotencyKey?: string | undefined
}

type Input<Id extends keyof Operations> = Omit<Operations[Id], 'reply'>
type AnyInput = {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** Not `BodyInit`, which only the types of browsers have. */
export type Body = NonNullable<RequestInit['body']>

/** A request that is ready to be sent, any number of times. */
export type Prepared = {
  readonly url: string
  readonly init: RequestInit
  readonly idempotencyKey?: string | undefined
  /** What to do if no answer arrives. */
  readonly adviceIfLost: string
}

const backoffMs = 200
const backoffMaxMs = 5_000

/** Sends requests, and repeats those that change nothing twice. Its fields are private, so that no log shows the key. */
export class Connection {
  readonly #options: VaultOptions
  readonly #base: string

  constructor(options: VaultOptions) {
    this.#options = options
    this.#base = options.baseUrl.replace(/\/+$/, '')
    // `new URL` and `fetch` would quote what they refuse.
    if (!URL.canParse(this.#base))
      throw new TypeError('baseUrl must be a URL such as https://vault.example.com')
  }

  get retries(): number {
    return this.#options.retries ?? 4
  }

  header(name: string): string {
    return `${this.#options.headerPrefix ?? 'svc'}-${name}`
  }

  /** The answer of an operation, as JSON. */
  async send<Id extends keyof Operations>(
    id: Id,
    input: Input<Id>,
    options: WriteOptions = {},
  ): Promise<Operations[Id]['reply']> {
    const route = routes[id]
    const prepared = await this.#prepare(route, input, options)
    const retries = route.once ? 0 : (options.retries ?? this.retries)
    let mayHaveHappened = false
    for (let attempt = 0; ; attempt++) {
      try {
        const { response, answer } = await this.attempt(prepared, options, async response =>
          response.status === 204 ? undefined : parse(await response.text()),
        )
        requireKeyText(answer, prepared, response)
        return answer as Operations[Id]['reply']
      } catch (error) {
        if (!(error instanceof VaultError)) throw error
        // It was there when the first request was sent, so that one deleted it.
        if (route.method === 'DELETE' && mayHaveHappened && error.code === 'not_found')
          return undefined as Operations[Id]['reply']
        if (attempt >= retries || !isPassing(error)) throw error
        mayHaveHappened ||= error.status === undefined || error.status >= 500
        await this.pause(error, attempt, options.signal)
      }
    }
  }

  /** Waits before another attempt, or throws the error if the vault asks for too long a wait. */
  async pause(error: VaultError, attempt: number, signal: AbortSignal | undefined): Promise<void> {
    const { wait = sleep, retryAfterMaxMs = 60_000 } = this.#options
    const asked = error.retryAfterMs ?? 0
    if (asked > retryAfterMaxMs) throw error
    const ms = Math.max(asked, Math.min(backoffMs * 2 ** attempt, backoffMaxMs))
    // Never earlier than asked, and not all at the same moment.
    await wait(ms * (1 + Math.random() / 2), signal)
    signal?.throwIfAborted()
  }

  /** One operation whose answer is read as it arrives. Nothing is repeated. */
  async open<Id extends keyof Operations>(
    id: Id,
    input: Input<Id>,
    options: CallOptions = {},
  ): Promise<Response> {
    const prepared = await this.#prepare(routes[id], input, options)
    return (await this.attempt(prepared, options, undefined)).response
  }

  async #prepare(
    { method, path, bodyType = 'application/json', takesKey }: Route,
    { params = {}, query = {}, body }: AnyInput,
    { idempotencyKey, traceId }: WriteOptions,
  ): Promise<Prepared> {
    const filled = path.replace(/:(\w+)/g, (_, name: string) => segment(params[name]))
    const text = stringify(body)
    const key = takesKey ? visible('idempotencyKey', idempotencyKey ?? randomHex()) : undefined
    const headers = await this.headers(traceId)
    if (text !== undefined) headers['content-type'] = bodyType
    if (key !== undefined) headers[this.header('idempotency-key')] = key
    return {
      url: this.url(`${filled}${queryText(query)}`),
      init: { method, headers, ...(text !== undefined && { body: text }) },
      idempotencyKey: key,
      adviceIfLost: takesKey
        ? 'It may have happened. Try again with the same idempotency key.'
        : 'Check that the vault can be reached, and try again.',
    }
  }

  url(path: string): string {
    return this.#base + path
  }

  async headers(traceId: string | undefined): Promise<Record<string, string>> {
    const { apiKey } = this.#options
    const key = typeof apiKey === 'function' ? await apiKey() : apiKey
    return {
      accept: 'application/json',
      ...(key !== undefined && { [this.header('api-key')]: visible('apiKey', key) }),
      ...(traceId !== undefined && { [this.header('trace-id')]: visible('traceId', traceId) }),
    }
  }

  /** Sends once. `read` belongs to the attempt: an answer that breaks off is none. Without it, the answer is read by somebody else. */
  async attempt<T>(
    { url, init, idempotencyKey, adviceIfLost }: Prepared,
    { signal, timeoutMs = this.#options.timeoutMs ?? 30_000 }: CallOptions,
    read: ((response: Response) => Promise<T>) | undefined,
    problemOf: (response: Response) => Promise<object | undefined> = problemIn,
  ): Promise<{ response: Response; answer: T | undefined }> {
    signal?.throwIfAborted()
    const controller = new AbortController()
    const abort = (): void => controller.abort(signal?.reason)
    signal?.addEventListener('abort', abort)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      controller.abort()
    }, timeoutMs)
    try {
      const { fetch = globalThis.fetch } = this.#options
      // A redirect would take the key to wherever it leads.
      const response = await fetch(url, { ...init, redirect: 'manual', signal: controller.signal })
      const problem = await problemOf(response)
      if (problem !== undefined) throw this.#problemError(response, problem, idempotencyKey)
      return { response, answer: await read?.(response) }
    } catch (error) {
      if (error instanceof VaultError) throw error
      if (signal?.aborted) throw signal.reason
      const details = { advice: adviceIfLost, idempotencyKey }
      throw isLate
        ? new TimedOutError({ ...details, code: 'timed_out', message: `No answer within ${timeoutMs} ms.` })
        : new ConnectionError({
            ...details,
            code: 'connection',
            message: 'No answer: the connection failed.',
          })
    } finally {
      clearTimeout(timer)
      // Until an answer that somebody else reads has been read, the signal can end it.
      if (read !== undefined) signal?.removeEventListener('abort', abort)
    }
  }

  #problemError(
    { status, headers }: Response,
    body: unknown,
    idempotencyKey: string | undefined,
  ): VaultError {
    const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<Problem>
    const code = problem.code ?? (status < 400 ? 'redirected' : 'answer_unknown')
    const { [code as Problem['code']]: Class = VaultError } = errorClasses
    return new Class({
      status,
      code,
      message: problem.detail ?? `${status} from something that is not the vault.`,
      advice: advice[code as Problem['code']] ?? 'Check baseUrl, and what is in front of the vault.',
      errors: problem.errors,
      traceId: problem.trace_id ?? headers.get(this.header('trace-id')) ?? undefined,
      retryAfterMs: retryAfter(headers.get('retry-after')),
      idempotencyKey,
      oldest: problem.oldest,
    })
  }
}

/** What is not a success is a problem, even if something in front of the vault answered. */
const problemIn = async (response: Response): Promise<object | undefined> => {
  // Browsers show a redirect as status 0.
  if (response.ok) return undefined
  return jsonIn(response)
}

/** Empty if there is none. */
export const jsonIn = async (response: Response): Promise<object> => {
  const text = await response.text()
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** An empty one would name the list above, and `..` something else: what was meant to delete a key would delete its application. */
const segment = (id: string | undefined): string => {
  if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError('an id must not be empty, . or ..')
  return encodeURIComponent(id)
}

/** Arrays are repeated, and the members of an object named `metadata.<key>`. */
const queryText = (query: Readonly<Record<string, unknown>>): string => {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(([key, inner]) => [`${name}.${key}`, inner])
      : [value].flat().map(inner => [name, inner]),
  )
  const given = pairs.filter(([, value]) => value !== undefined && value !== null)
  const text = new URLSearchParams(given.map(([name, value]) => [String(name), String(value)]))
  return given.length === 0 ? '' : `?${text}`
}

/** Whether the same request may well succeed in a moment. */
const isPassing = ({ status, code }: VaultError): boolean =>
  status === undefined ||
  [408, 429, 502, 503, 504].includes(status) ||
  code === 'request_in_flight' ||
  code === 'write_contention'

/** `fetch` would quote what cannot be a header, and `name` may be a secret. */
export const visible = (name: string, text: string): string => {
  if (!/^[!-~]+$/.test(text)) throw new TypeError(`${name} must be visible ASCII`)
  return text
}

/** Seconds, or a date. */
const retryAfter = (text: string | null): number | undefined => {
  if (text === null) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(ms, 0)
}

/** A replay tells that the key was shown in the first answer. */
const requireKeyText = (answer: unknown, { idempotencyKey }: Prepared, { status }: Response): void => {
  const { id, _extras } = (answer ?? {}) as { id?: string; _extras?: { key?: string; secret?: string } }
  if (id !== undefined && (_extras?.key ?? _extras?.secret) !== undefined)
    throw new KeyTextLostError(id, { idempotencyKey, status })
}

const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
