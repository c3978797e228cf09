import { channel } from 'node:diagnostics_channel'
import { ownHeaders } from '../contract/headers.ts'
import { VaultError } from '../domain/errors.ts'
import { describeError, type Log } from '../domain/log.ts'
import type { Exchange } from './exchange.ts'
import { asVaultError, problem, problemType } from './problem.ts'
import type { RequestMeters } from './request-meters.ts'

/** For observers in this process: a test, or a tool that traces requests. */
const failures = channel('strongroom.request.failed')

/** Logs the number of refused requests from time to time. A line for each would add to the load. */
export const refusalLog = (log: Log, now = () => performance.now()): (() => void) => {
  let refused = 0
  let reportedAtMs = Number.NEGATIVE_INFINITY
  return () => {
    refused++
    if (now() - reportedAtMs < refusalLogIntervalMs) return
    log.error({ refused }, 'overloaded')
    refused = 0
    reportedAtMs = now()
  }
}

const refusalLogIntervalMs = 10_000

export type SendProblem = (exchange: Exchange, error: unknown) => void

/** Sends any error as a problem, and logs our own faults: with the pattern of the route, never the URL (C2). */
export const problemSender = (
  {
    log,
    headerPrefix,
    noteRefusal,
    meters,
  }: {
    readonly log: Log
    readonly headerPrefix: string
    readonly noteRefusal: () => void
    readonly meters?: Pick<RequestMeters, 'shed' | 'rateLimited'>
  },
  route?: string,
): SendProblem => {
  const { apiKey, traceId } = ownHeaders(headerPrefix)
  const keyHeader = apiKey.toUpperCase()
  // Every 401 passes here, because a key can also become invalid while its request runs.
  const unauthorized = new VaultError('unauthorized', {
    detail: `Send a valid API key in the header ${keyHeader}.`,
    headers: { 'www-authenticate': `ApiKey header="${keyHeader}"` },
  })
  return (exchange, error) => {
    failures.publish({ error })
    const known = asVaultError(error)
    if (known.code === 'overloaded') {
      meters?.shed.add()
      noteRefusal()
    } else if (known.code === 'rateLimited') meters?.rateLimited.add()
    const { status, headers, body } = problem(
      known.code === 'unauthorized' ? unauthorized : known,
      exchange.traceId,
    )
    const report = (cause: unknown): void =>
      log.error({ trace_id: exchange.traceId, route, status, ...describeError(cause) }, 'request failed')
    if (status >= 500 && known.code !== 'overloaded') report(error)
    try {
      exchange.send(
        status,
        {
          'cache-control': 'no-store',
          [traceId]: exchange.traceId,
          ...headers,
          ...exchange.corsHeaders,
          'content-type': problemType,
          'content-length': Buffer.byteLength(body),
        },
        body,
      )
    } catch (failure) {
      // No answer can be sent any more.
      report(failure)
      exchange.abandon()
    }
  }
}
