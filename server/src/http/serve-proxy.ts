import type { Endpoint } from '../contract/endpoint.ts'
import { ownHeaders } from '../contract/headers.ts'
import { type ErrorCode, VaultError, wireCode } from '../domain/errors.ts'
import { describeError } from '../domain/log.ts'
import { findProxy } from '../operations/proxies/find-proxy.ts'
import { AnsweredError, invokeProxy, type ProxyAnswer } from '../operations/use/invoke-proxy.ts'
import { withNewerKeys } from '../operations/vault/tenant-keyring.ts'
import type { Caller, KnownProxy } from '../operations/vault/vault.ts'
import { GoneError } from '../scheduling/scheduler.ts'
import { admission, callerFinder, type FindCaller, refuseKey } from './admission.ts'
import type { Exchange, Serve } from './exchange.ts'
import { logAnswers, type PipelineOptions } from './pipeline.ts'
import { asVaultError, problem } from './problem.ts'
import { actKindOf, refusalRecorder } from './recording.ts'
import { requestTrace } from './request-trace.ts'
import { rawPathOf } from './routes.ts'
import { chargeUnread } from './send-answer.ts'
import { problemSender } from './send-problem.ts'
import { Visit } from './visit.ts'

/**
 * The life of a request to the proxy: that of any other (`pipeline.ts`), except that its path, its query and its body are the
 * destination's, and so is its answer. While the destination is waited for, it holds neither a turn nor room for bodies.
 */
export const serveProxy = (options: PipelineOptions, endpoint: Endpoint): Serve => {
  const { vault, headerPrefix, log } = options
  const own = ownHeaders(headerPrefix)
  const proxies = new WeakMap<Exchange, KnownProxy>()
  const { admit, identify } = admission(options, endpoint, finder(options, proxies))
  const recordRefusal = refusalRecorder(options, actKindOf(endpoint))
  const sendRefusal = refusalSender(options, endpoint)
  const count = options.meters.counting(endpoint.id)
  const tracing = requestTrace(options.tracer, endpoint)

  const invoke = async (
    exchange: Exchange,
    visit: Visit,
    caller: Caller,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<void> => {
    const { method, url, headers, headerPairs } = exchange
    const proxy = proxies.get(exchange)?.proxy
    const query = withoutKey(queryOf(url), own.proxyKey)
    const answer = await invokeProxy(vault, caller, {
      method,
      proxy,
      url: textOf(headers[own.proxyUrl]),
      suffix: rawPathOf(url).slice(endpoint.path.length),
      query,
      headers: headerPairs,
      body: body.length === 0 && headers['content-length'] === undefined ? undefined : body,
      headerPrefix,
      secrets: [textOf(headers[own.apiKey]), keyIn(exchange, own.proxyKey)?.text].filter(
        text => text !== undefined,
      ),
      releaseBody: keeping => visit.memory.keep(keeping),
      signal,
    })
    if (!visit.work.hasTurn) await visit.work.turn()
    sendOn(exchange, visit, caller, answer)
  }

  const sendOn = (
    exchange: Exchange,
    { memory }: Visit,
    caller: Caller,
    { status, headers, body, receipt }: ProxyAnswer,
  ): void => {
    const isWithoutBody = exchange.method === 'HEAD' || status === 204 || status === 304
    const unread = exchange.sendOn(
      status,
      [
        ...headers,
        ['Cache-Control', 'no-store'],
        [own.traceId, exchange.traceId],
        [own.destinationStatus, String(status)],
        ...(caller.application.type === 'public' ? [] : [[own.receipt, receipt] as const]),
        ...(isWithoutBody ? [] : [['Content-Length', String(body.length)] as const]),
      ],
      isWithoutBody ? noBytes : body,
    )
    chargeUnread(exchange, memory, unread)
  }

  const live = async (exchange: Exchange): Promise<void> => {
    const begunAt = performance.now()
    const visit = new Visit(options, exchange, own.apiKey)
    const { work } = visit
    tracing.begin(exchange, visit, begunAt)
    const gone = new AbortController()
    exchange.onGone = () => {
      work.cancel()
      gone.abort(new GoneError())
    }
    try {
      await work.turn()
      let caller = await admit(exchange, visit)
      if (caller === 'answered' || caller === undefined) {
        visit.memory.keep(0)
        return
      }
      let body = exchange.body(bytes => visit.memory.hold(bytes))
      if (body instanceof Promise) {
        body = await body
        await work.turn()
        // C27: the key may have been revoked, or its rules may have changed.
        caller = await identify(exchange, visit)
      }
      try {
        await invoke(exchange, visit, caller, body, gone.signal)
      } catch (error) {
        if (caller.act.isRecorded) throw error
        const again = await withNewerKeys(vault.keyring, caller, error)
        again.act.startsAgain()
        await invoke(exchange, visit, again, body, gone.signal)
      }
    } catch (error) {
      visit.memory.keep(0)
      const hasLeft = error instanceof GoneError
      if (hasLeft) return
      recordRefusal(exchange, visit.caller, error)
      sendRefusal(exchange, error)
    } finally {
      work.end()
      count(exchange, begunAt)
      tracing.end(exchange, visit)
    }
  }
  return logAnswers(log, endpoint.path, exchange => void live(exchange))
}

const noBytes = Buffer.alloc(0)

type SentKey = { readonly text: string; readonly isInQuery: boolean }

const keyIn = ({ headers, url }: Exchange, name: string): SentKey | undefined => {
  const inHeader = textOf(headers[name])
  if (inHeader !== undefined) return { text: inHeader, isInQuery: false }
  const pair = queryOf(url)
    ?.split('&')
    .find(part => part.startsWith(`${name}=`))
  return pair === undefined ? undefined : { text: pair.slice(name.length + 1), isInQuery: true }
}

const textOf = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

/** As it was sent. */
const queryOf = (url: string): string | undefined => {
  const start = url.indexOf('?')
  return start === -1 ? undefined : url.slice(start + 1)
}

const withoutKey = (query: string | undefined, name: string): string | undefined =>
  query
    ?.split('&')
    .filter(part => !part.startsWith(`${name}=`))
    .join('&')

/** Whoever calls a proxy that needs no API key calls as the proxy's own application. Throws 404 for a proxy that there is not. */
const finder = (options: PipelineOptions, proxies: WeakMap<Exchange, KnownProxy>): FindCaller => {
  const { vault, log, headerPrefix } = options
  const { apiKey, proxyKey } = ownHeaders(headerPrefix)
  const findCaller = callerFinder(options)
  return async (exchange, visit) => {
    const sent = keyIn(exchange, proxyKey)
    if (sent === undefined) return findCaller(exchange, visit)
    let known: KnownProxy | undefined
    try {
      known = await findProxy(vault, sent.text)
    } catch (error) {
      refuseKey(log, error, exchange)
    }
    if (known?.lent !== undefined) {
      proxies.set(exchange, known)
      return known.lent
    }
    const caller = await findCaller(exchange, visit)
    if (known !== undefined && known.tenantNumber === caller?.tenantNumber && !sent.isInQuery) {
      proxies.set(exchange, known)
      return caller
    }
    // Who has no key at all may have meant a proxy that needs none.
    const isTold = caller !== undefined || (known === undefined && exchange.headers[apiKey] === undefined)
    if (isTold) throw new VaultError('notFound')
    return undefined
  }
}

/** The proxy's own errors, which must not be taken for the destination's (U15). All others are problems like everywhere. */
const ownErrors: ReadonlySet<ErrorCode> = new Set([
  'destinationInvalid',
  'noDestination',
  'expressionInvalid',
  'tokenNotFound',
  'headerValueInvalid',
  'permissionDenied',
  'ephemeralProxyDisabled',
  'destinationForbidden',
  'destinationUnreachable',
  'tlsFailed',
  'answerInvalid',
  'responseTransformFailed',
  'proxyBusy',
  'unavailable',
  'destinationTimeout',
])

const refusalSender = (options: PipelineOptions, endpoint: Endpoint) => {
  const { headerPrefix, log } = options
  const sendProblem = problemSender(options, endpoint.path)
  const { traceId, proxyError, destinationStatus } = ownHeaders(headerPrefix)
  return (exchange: Exchange, error: unknown): void => {
    const known = asVaultError(error)
    if (!ownErrors.has(known.code)) {
      sendProblem(exchange, error)
      return
    }
    const { status, headers, body } = problem(known, exchange.traceId)
    if (known.code === 'unavailable')
      log.error(
        { trace_id: exchange.traceId, route: endpoint.path, status, ...describeError(error) },
        'request failed',
      )
    const content = `{"proxy_error":${body.trimEnd()}}\n`
    exchange.send(
      status,
      {
        'cache-control': 'no-store',
        [traceId]: exchange.traceId,
        ...headers,
        [proxyError]: wireCode(known.code),
        ...(error instanceof AnsweredError && { [destinationStatus]: error.destinationStatus }),
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(content),
      },
      content,
    )
  }
}
