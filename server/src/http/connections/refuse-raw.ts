import type { Duplex } from 'node:stream'
import { ownHeaders } from '../../contract/headers.ts'
import { traceId } from '../exchange.ts'
import { asVaultError, problem, problemType } from '../problem.ts'

/** Answers bytes that never became a request (broken HTTP, headers too large) with a problem body and a trace id. */
export const refuseRaw = (
  error: Error & { code?: string },
  socket: Duplex,
  headerPrefix: string,
  sentTraceId?: string | string[],
): void => {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const known = asVaultError(error, 'invalidHttp')
  const trace = traceId(sentTraceId)
  const { status, title, headers, body } = problem(known, trace)
  socket.end(
    [
      `HTTP/1.1 ${status} ${title}`,
      `Date: ${new Date().toUTCString()}`,
      `Content-Type: ${problemType}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `${ownHeaders(headerPrefix).traceId.toUpperCase()}: ${trace}`,
      'Cache-Control: no-store',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
