import type { Log } from '../domain/log.ts'
import type { Serve } from './exchange.ts'

/**
 * Logs each answer when it is handed over, at the level `debug`, even if nobody is there any more to get it. The pattern of its
 * route, never the URL, since an id or a filter may be anything (C2).
 */
export const logAnswers = (log: Log, route: string | undefined, serve: Serve): Serve => {
  if (!log.isDebug) return serve
  return exchange => {
    const begun = performance.now()
    const { method, traceId } = exchange
    const send = exchange.send.bind(exchange)
    exchange.send = (status, ...rest) => {
      const unread = send(status, ...rest)
      const ms = Math.round((performance.now() - begun) * 10) / 10
      log.debug({ trace_id: traceId, method, route, status, ms }, 'answered')
      return unread
    }
    serve(exchange)
  }
}
