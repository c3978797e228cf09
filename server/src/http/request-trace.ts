import type { Endpoint } from '../contract/endpoint.ts'
import { readTraceparent, type Tracer } from '../telemetry/traces.ts'
import type { Exchange } from './exchange.ts'
import type { Visit } from './visit.ts'

type Traced = Pick<Exchange, 'method' | 'headers' | 'traceId' | 'status'>
type Visited = Pick<Visit, 'trace' | 'traceparent'>

export type RequestTrace = {
  begin(exchange: Traced, visit: Visited, begunAt: number): void
  end(exchange: Traced, visit: Visited): void
}

/**
 * Traces requests of an endpoint, or, without one, those that lead nowhere. Attributes have OpenTelemetry's names; none holds what a
 * request brings, except for its trace id, by which its lines in the log are found (C2).
 */
export const requestTrace = (tracer: Tracer | undefined, endpoint?: Endpoint): RequestTrace => {
  const { method, path } = endpoint ?? { method: undefined, path: undefined }
  const name = endpoint === undefined ? 'no such route' : `${method} ${path}`
  // Monitors ask all the time, and nobody wants to know what came of each.
  const own = endpoint?.isProbe === true ? undefined : tracer
  return {
    begin: ({ headers, traceId }, visit, begunAt) => {
      const sent = headers.traceparent === undefined ? undefined : readTraceparent(headers.traceparent)
      const trace = own?.begin(name, sent, begunAt)
      visit.trace = trace
      visit.traceparent = trace === undefined ? sent : trace.traceparent
      if (trace === undefined) return
      if (method !== undefined) trace.attributes['http.request.method'] = method
      if (path !== undefined) trace.attributes['http.route'] = path
      trace.attributes['strongroom.trace_id'] = traceId
    },
    end: ({ status }, { trace }) => {
      if (own === undefined || trace === undefined) return
      if (status !== undefined) trace.attributes['http.response.status_code'] = status
      else trace.attributes['error.type'] = 'client left'
      trace.hasFailed = status !== undefined && status >= 500
      if (trace.hasFailed) trace.attributes['error.type'] = String(status)
      own.end(trace)
    },
  }
}
